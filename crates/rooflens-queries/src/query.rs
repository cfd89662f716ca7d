//! The named queries, in one list.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::dialect::Dialect;
use crate::error::{QueryError, UnknownQuery};
use crate::expand;
use crate::header::{self, Header, QueryColumn, QueryJudge};
use crate::parameter::QueryParameter;

/// Name and text of every query, in the order in which they are listed.
const SOURCES: &[(&str, &str)] = &[
    ("top-kernels", include_str!("../queries/top-kernels.sql")),
    ("kernel-latency", include_str!("../queries/kernel-latency.sql")),
    ("decode-mbu", include_str!("../queries/decode-mbu.sql")),
    ("launches-per-token", include_str!("../queries/launches-per-token.sql")),
    ("regressions", include_str!("../queries/regressions.sql")),
    ("changes-since", include_str!("../queries/changes-since.sql")),
    ("slow-ranks", include_str!("../queries/slow-ranks.sql")),
    ("throttled-runs", include_str!("../queries/throttled-runs.sql")),
    ("slo-attainment", include_str!("../queries/slo-attainment.sql")),
    ("cost-per-million-tokens", include_str!("../queries/cost-per-million-tokens.sql")),
];

/// A query that was not read is left out here; a test reads each of them.
static QUERIES: LazyLock<Vec<NamedQuery>> =
    LazyLock::new(|| SOURCES.iter().filter_map(|(name, text)| NamedQuery::read(name, text).ok()).collect());

/// Every named query.
#[must_use]
pub fn all() -> &'static [NamedQuery] {
    &QUERIES
}

/// The query of this name.
pub fn find(name: &str) -> Result<&'static NamedQuery, UnknownQuery> {
    all().iter().find(|query| query.name == name).ok_or_else(|| UnknownQuery {
        name: name.to_owned(),
        nearest: nearest(name, all().iter().map(NamedQuery::name)),
    })
}

/// Names that look like one, the most alike first; all of them if none does.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Vec<String> {
    let mut alike: Vec<(f64, &str)> = known
        .clone()
        .map(|one| (strsim::jaro_winkler(name, one), one))
        .filter(|(likeness, one)| *likeness > 0.8 || (name.len() > 2 && one.contains(name)))
        .collect();
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    match alike.is_empty() {
        true => known.map(str::to_owned).collect(),
        false => alike.into_iter().map(|(_, one)| one.to_owned()).collect(),
    }
}

/// A query with a name, documentation and parameters, in SQL that every dialect can be made from.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedQuery {
    name: String,
    header: Header,
    body: String,
}

impl NamedQuery {
    /// Reads the text of a query: a header in the form that `header` describes, then SQL.
    pub fn read(name: &str, text: &str) -> Result<NamedQuery, QueryError> {
        let (header, body) = header::split(name, text)?;
        let query = NamedQuery { name: name.to_owned(), header, body: body.to_owned() };
        let used = expand::parameters(body).map_err(|problem| query.malformed(problem))?;
        if let Some(unused) = query.header.parameters.iter().find(|one| !used.contains(&one.name)) {
            return Err(query.malformed(format!("its SQL never uses `:{}`", unused.name)));
        }
        if let Some(unknown) = used.iter().find(|name| query.parameter(name).is_none()) {
            return Err(query.malformed(format!("it uses `:{unknown}`, which its header does not have")));
        }
        Ok(query)
    }

    /// What runs must have to be in its answer, where that is not evident.
    #[must_use]
    pub fn needs(&self) -> Option<&str> {
        self.header.needs.as_deref()
    }

    /// Its name, in kebab-case.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it shows, in a few words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.header.title
    }

    /// What it answers, in a paragraph.
    #[must_use]
    pub fn doc(&self) -> &str {
        &self.header.about
    }

    /// Its parameters.
    #[must_use]
    pub fn parameters(&self) -> &[QueryParameter] {
        &self.header.parameters
    }

    /// The columns of its answer.
    #[must_use]
    pub fn columns(&self) -> &[QueryColumn] {
        &self.header.columns
    }

    /// The tables that it reads.
    #[must_use]
    pub fn tables(&self) -> &[String] {
        &self.header.tables
    }

    /// What has to be computed from its rows.
    #[must_use]
    pub fn judge(&self) -> Option<&QueryJudge> {
        self.header.judge.as_ref()
    }

    /// The query in the SQL of an engine, with these values for parameters and defaults for the others.
    pub fn render(&self, dialect: Dialect, values: &BTreeMap<String, String>) -> Result<String, QueryError> {
        if let Some(unknown) = values.keys().find(|name| self.parameter(name).is_none()) {
            return Err(QueryError::UnknownParameter {
                query: self.name.clone(),
                parameter: unknown.clone(),
                allowed: self.header.parameters.iter().map(|one| one.name.clone()).collect(),
            });
        }
        let mut literals = BTreeMap::new();
        for parameter in &self.header.parameters {
            let value = values.get(&parameter.name).or(parameter.default.as_ref());
            let value = value.ok_or_else(|| QueryError::MissingParameter {
                query: self.name.clone(),
                parameter: parameter.name.clone(),
                kind: parameter.kind,
                meaning: parameter.meaning.clone(),
            })?;
            let literal = parameter.literal(dialect, value).map_err(|expected| QueryError::IllTyped {
                query: self.name.clone(),
                parameter: parameter.name.clone(),
                value: value.clone(),
                expected,
            })?;
            literals.insert(parameter.name.as_str(), literal);
        }
        let value = |name: &str| literals.get(name).map(String::as_str);
        let sql = expand::expand(&self.body, dialect, &value).map_err(|problem| self.malformed(problem))?;
        Ok(format!("{sql}\n{}", dialect.ending()))
    }

    fn parameter(&self, name: &str) -> Option<&QueryParameter> {
        self.header.parameters.iter().find(|one| one.name == name)
    }

    fn malformed(&self, problem: String) -> QueryError {
        QueryError::Malformed { query: self.name.clone(), problem }
    }
}

#[cfg(test)]
mod tests;
