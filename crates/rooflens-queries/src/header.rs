//! The header of a query: its documentation in a fixed form.
//!
//! ```text
//! -- title: One line
//! -- about: A paragraph; lines that begin with two more spaces
//! --   continue the one before.
//! -- parameter: NAME TYPE [>= NUMBER] [= DEFAULT] | meaning
//! -- column: NAME UNIT | meaning
//! -- reads: TABLE, TABLE
//! -- needs: what runs must have, said where there are no rows
//! -- judge: two-samples value=COLUMN side=COLUMN share=COLUMN by=COLUMN,COLUMN
//! ```
//!
//! A parameter without ` = ` is required; nothing after it is the empty text. The first line that is no such
//! comment begins the SQL.

use serde::Serialize;

use crate::error::QueryError;
use crate::parameter::{ParameterKind, QueryParameter};

/// A column of a query's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct QueryColumn {
    /// Its name.
    pub name: String,
    /// Its unit, as ns, share or text.
    pub unit: String,
    /// What it means.
    pub meaning: String,
}

/// What has to be computed from the rows of an answer, because SQL cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueryJudge {
    /// Each group of rows holds two samples, `base` and `other`, of which the ratio is asked, with its interval and
    /// a p-value that is corrected for the number of groups.
    TwoSamples {
        /// Column with the values.
        value: String,
        /// Column that says which sample a row belongs to: `base` or `other`.
        side: String,
        /// Column with the share of device time that the row stands for.
        share: String,
        /// Columns that name a group.
        by: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Header {
    pub(crate) title: String,
    pub(crate) about: String,
    pub(crate) parameters: Vec<QueryParameter>,
    pub(crate) columns: Vec<QueryColumn>,
    pub(crate) tables: Vec<String>,
    pub(crate) needs: Option<String>,
    pub(crate) judge: Option<QueryJudge>,
}

pub(crate) fn split<'a>(query: &str, text: &'a str) -> Result<(Header, &'a str), QueryError> {
    let malformed = |problem: String| QueryError::Malformed { query: query.to_owned(), problem };
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut length = 0;
    for line in text.split_inclusive('\n') {
        let Some(comment) = line.strip_prefix("--") else { break };
        length += line.len();
        if let Some(more) = comment.strip_prefix("   ") {
            let (_, entry) =
                entries.last_mut().ok_or_else(|| malformed("it begins with a continued line".to_owned()))?;
            entry.push(' ');
            entry.push_str(more.trim());
        } else {
            let (key, entry) = comment
                .trim()
                .split_once(':')
                .ok_or_else(|| malformed(format!("`{}` in its header has no key", comment.trim())))?;
            entries.push((key.to_owned(), entry.trim().to_owned()));
        }
    }
    let mut header = Header::default();
    for (key, entry) in entries {
        let wrong =
            || malformed(format!("its header has `{key}: {entry}`, which breaks the form of `{key}`"));
        match key.as_str() {
            "title" => header.title = entry,
            "about" => header.about = entry,
            "parameter" => header.parameters.push(parameter(&entry).ok_or_else(wrong)?),
            "column" => header.columns.push(column(&entry).ok_or_else(wrong)?),
            "reads" => header.tables = words(&entry),
            "needs" => header.needs = Some(entry),
            "judge" => header.judge = Some(judge(&entry).ok_or_else(wrong)?),
            _ => return Err(malformed(format!("its header has the unknown key `{key}`"))),
        }
    }
    let missing = [
        ("title", header.title.is_empty()),
        ("about", header.about.is_empty()),
        ("column", header.columns.is_empty()),
        ("reads", header.tables.is_empty()),
    ];
    if let Some((key, _)) = missing.iter().find(|(_, is_missing)| *is_missing) {
        return Err(malformed(format!("its header has no `{key}`")));
    }
    Ok((header, text[length..].trim_end()))
}

fn words(list: &str) -> Vec<String> {
    list.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
}

fn parameter(entry: &str) -> Option<QueryParameter> {
    let (form, meaning) = entry.split_once('|')?;
    let (form, default) = match form.trim_end().split_once(" = ") {
        Some((form, default)) => (form, Some(default.trim().to_owned())),
        None => match form.trim_end().strip_suffix(" =") {
            Some(form) => (form, Some(String::new())),
            None => (form, None),
        },
    };
    let (form, at_least) = match form.split_once(">=") {
        Some((form, least)) => (form, Some(least.trim().parse().ok()?)),
        None => (form, None),
    };
    let (name, kind) = form.trim().split_once(' ')?;
    let kind = ParameterKind::ALL.into_iter().find(|known| known.name() == kind.trim())?;
    Some(QueryParameter {
        name: name.to_owned(),
        kind,
        at_least,
        default,
        meaning: meaning.trim().to_owned(),
    })
}

fn column(entry: &str) -> Option<QueryColumn> {
    let (form, meaning) = entry.split_once('|')?;
    let (name, unit) = form.trim().split_once(' ')?;
    Some(QueryColumn {
        name: name.to_owned(),
        unit: unit.trim().to_owned(),
        meaning: meaning.trim().to_owned(),
    })
}

fn judge(entry: &str) -> Option<QueryJudge> {
    let settings = entry.strip_prefix("two-samples ")?;
    let of = |key: &str| {
        settings
            .split_whitespace()
            .find_map(|setting| setting.strip_prefix(key)?.strip_prefix('=').map(str::to_owned))
    };
    Some(QueryJudge::TwoSamples {
        value: of("value")?,
        side: of("side")?,
        share: of("share")?,
        by: words(&of("by")?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "-- title: A title\n-- about: One line\n--   and another.\n\
        -- parameter: since day = 0001-01-01 | First day.\n-- parameter: limit integer >= 1 = 50 | Rows.\n\
        -- parameter: model text = | Model.\n-- parameter: base text | Base | or other.\n\
        -- column: total_ns ns | Time.\n-- reads: a, b\n\
        -- judge: two-samples value=v side=s share=h by=x,y\nSELECT 1\n-- title: not a header\n";

    #[test]
    fn a_header_is_read() {
        let (header, body) = split("q", TEXT).unwrap();
        assert_eq!(header.title, "A title");
        assert_eq!(header.about, "One line and another.");
        let parameters: Vec<_> = header
            .parameters
            .iter()
            .map(|one| {
                (one.name.as_str(), one.kind, one.at_least, one.default.as_deref(), one.meaning.as_str())
            })
            .collect();
        assert_eq!(
            parameters,
            [
                ("since", ParameterKind::Day, None, Some("0001-01-01"), "First day."),
                ("limit", ParameterKind::Integer, Some(1.0), Some("50"), "Rows."),
                ("model", ParameterKind::Text, None, Some(""), "Model."),
                ("base", ParameterKind::Text, None, None, "Base | or other."),
            ]
        );
        assert_eq!(header.columns[0].unit, "ns");
        assert_eq!(header.tables, ["a", "b"]);
        let Some(QueryJudge::TwoSamples { by, side, .. }) = header.judge else { panic!("no judge") };
        assert_eq!((by, side.as_str()), (vec!["x".to_owned(), "y".to_owned()], "s"));
        assert_eq!(body, "SELECT 1\n-- title: not a header");
    }

    #[test]
    fn a_broken_header_says_what_is_wrong() {
        let cases = [
            ("--   continued\n", "continued line"),
            ("-- titel: x\n", "unknown key `titel`"),
            ("-- nothing\n", "no key"),
            ("-- parameter: a colour | x\n", "breaks the form of `parameter`"),
            ("-- parameter: a text\n", "breaks the form of `parameter`"),
            ("-- judge: three-samples by=x\n", "breaks the form of `judge`"),
            ("-- title: x\nSELECT 1", "no `about`"),
        ];
        for (text, expected) in cases {
            let error = split("q", text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
