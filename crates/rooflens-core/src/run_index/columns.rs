//! What a run can be chosen and sorted by: columns of `runs`, its folder and tags, and its metrics.

use std::cmp::Ordering;

use rooflens_analyze::compare::headline;
use rooflens_store::ColumnValue;

use super::IndexedRun;
use super::numbers::further_metrics;
use crate::error::RunsError;

/// Columns that are not in the table `runs`.
const OWN: &[&str] = &["folder", "sweep", "tenant", "day", "problem", "source"];
/// The column of tags; a run may have several.
pub(crate) const TAG: &str = "tag";

/// What lists and pages call columns that have another name in the table.
const ALSO: [(&str, &str); 4] = [
    ("device", "hardware"),
    ("engine", "runtime"),
    ("version", "runtime_version"),
    ("build", "runtime_build"),
];

/// A column of a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunColumn {
    name: String,
    kind: RunColumnKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunColumnKind {
    Text,
    Number,
    Tag,
    Metric,
}

impl RunColumn {
    /// The column of a name. Metrics may be given without their unit, as `tpot_p50`.
    pub fn parse(name: &str) -> Result<Self, RunsError> {
        let name = ALSO.iter().find(|(also, _)| *also == name).map_or(name, |(_, column)| column);
        let column = |name: &str, kind| Ok(RunColumn { name: name.to_owned(), kind });
        let table = rooflens_store::tables::table("runs");
        let stored = table.and_then(|table| table.columns.get(table.position(name)?));
        if name == TAG || name == "tags" {
            return column(TAG, RunColumnKind::Tag);
        }
        if let Some(stored) = stored {
            let is_text = matches!(stored.value, ColumnValue::Text);
            return column(name, if is_text { RunColumnKind::Text } else { RunColumnKind::Number });
        }
        if OWN.contains(&name) {
            return column(name, RunColumnKind::Text);
        }
        if let Some(metric) = headline::find(name) {
            return column(metric.key, RunColumnKind::Metric);
        }
        let is_one = |known: &&String| *known == name || known.strip_suffix("_ns") == Some(name);
        if let Some(known) = further_metrics().iter().find(is_one) {
            return column(known, RunColumnKind::Metric);
        }
        let names = Self::names();
        let near = rooflens_compose::near(name, names.iter().map(String::as_str));
        Err(RunsError::Column { name: name.to_owned(), near, names })
    }

    /// The names of all columns.
    pub(crate) fn names() -> Vec<String> {
        let table = rooflens_store::tables::table("runs");
        let stored = table.into_iter().flat_map(|table| &table.columns).map(|column| column.name.to_owned());
        let own = OWN.iter().chain([&TAG]).map(|name| (*name).to_owned());
        let metrics = headline::ALL.iter().map(|metric| metric.key.to_owned());
        stored.chain(own).chain(metrics).chain(further_metrics()).collect()
    }

    /// Its name, as keys of documents have it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its values are numbers.
    pub fn is_number(&self) -> bool {
        matches!(self.kind, RunColumnKind::Number | RunColumnKind::Metric)
    }

    /// Whether it is the column of tags.
    pub fn is_tag(&self) -> bool {
        self.kind == RunColumnKind::Tag
    }

    /// Whether its values are days: these can be compared as text.
    pub(super) fn is_day(&self) -> bool {
        self.name == "day"
    }

    /// Its values as text: several of tags; none where it is null.
    pub fn words(&self, run: &IndexedRun) -> Vec<String> {
        let words = match self.kind {
            RunColumnKind::Tag => run.tags.clone(),
            RunColumnKind::Metric => {
                run.metric(&self.name).map(|value| value.to_string()).into_iter().collect()
            }
            RunColumnKind::Text | RunColumnKind::Number => vec![run.text(&self.name)],
        };
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    /// Its value as a number; nothing where it is null or no number.
    pub(crate) fn number(&self, run: &IndexedRun) -> Option<f64> {
        match self.kind {
            RunColumnKind::Metric => run.metric(&self.name),
            RunColumnKind::Number => run.row.get(&self.name)?.as_f64(),
            RunColumnKind::Text | RunColumnKind::Tag => None,
        }
    }
}

/// How to sort a list of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOrder {
    column: RunColumn,
    is_descending: bool,
}

impl RunOrder {
    /// Reads `COLUMN`, `COLUMN:asc` or `COLUMN:desc`.
    pub fn parse(text: &str) -> Result<Self, RunsError> {
        let (name, is_descending) = match text.rsplit_once(':') {
            None => (text, false),
            Some((name, "asc")) => (name, false),
            Some((name, "desc")) => (name, true),
            Some((_, other)) => {
                let why = format!("it goes asc or desc, not {other:?}");
                return Err(RunsError::Order { text: text.to_owned(), why });
            }
        };
        Ok(RunOrder { column: RunColumn::parse(name)?, is_descending })
    }

    /// What is sorted by.
    pub fn column(&self) -> &RunColumn {
        &self.column
    }

    /// Sorts runs; those without a value come last either way, and what is equal stays in its order.
    pub fn sort(&self, runs: &mut [IndexedRun]) {
        runs.sort_by(|a, b| match self.column.is_number() {
            true => self.order(self.column.number(a), self.column.number(b), |a, b| a.total_cmp(b)),
            false => {
                let word = |run| Some(self.column.words(run).join(" ")).filter(|word| !word.is_empty());
                self.order(word(a), word(b), |a, b| a.cmp(b))
            }
        });
    }

    fn order<T>(&self, a: Option<T>, b: Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
        match (a, b) {
            (Some(a), Some(b)) if self.is_descending => order(&b, &a),
            (Some(a), Some(b)) => order(&a, &b),
            (a, b) => a.is_none().cmp(&b.is_none()),
        }
    }
}
