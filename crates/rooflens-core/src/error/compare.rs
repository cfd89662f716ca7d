//! What can go wrong in a comparison or a trend.

use std::path::PathBuf;

use rooflens_analyze::compare::headline::{self, HeadlineMetric};

use super::{ErrorKind, Hint};
use crate::shell::word;

/// A failure.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each variant says what it is")]
pub enum CompareError {
    #[error("a comparison needs at least two inputs")]
    OneInput,
    #[error("not a gate: {text:?}")]
    Gate { text: String },
    #[error("there is no metric {name:?}")]
    Metric { name: String, near: Vec<String> },
    #[error("{gate} cannot be evaluated: {why}")]
    NotJudged { gate: String, why: String, too_few: bool },
    #[error("{path} has no metric to export")]
    NothingToExport { path: PathBuf },
    #[error("there is no export {name:?}")]
    Export { name: String },
    #[error("cannot read {path}: {why}")]
    Values { path: PathBuf, why: String },
    #[error("{path} has no column {name:?}")]
    Column { path: PathBuf, name: String, columns: Vec<String> },
}

impl CompareError {
    pub(crate) fn metric(name: &str) -> Self {
        let names: Vec<&str> = headline::ALL.iter().map(HeadlineMetric::name).collect();
        let near = rooflens_compose::near(name, names);
        CompareError::Metric { name: name.to_owned(), near }
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            CompareError::NotJudged { .. }
            | CompareError::NothingToExport { .. }
            | CompareError::Values { .. } => ErrorKind::Data,
            _ => ErrorKind::Usage,
        }
    }

    pub(crate) fn hint(&self) -> Hint {
        Hint::words(match self {
            CompareError::OneInput => "rooflens compare BEFORE AFTER".to_owned(),
            CompareError::Gate { .. } => "as in --fail-on 'tpot_p50>+3%' or 'ttft_p99>250ms'".to_owned(),
            CompareError::Metric { near, .. } if !near.is_empty() => {
                format!("did you mean {}?", near.join(", "))
            }
            CompareError::Metric { .. } => {
                let names: Vec<&str> = headline::ALL.iter().map(HeadlineMetric::name).collect();
                format!("there are {}", names.join(", "))
            }
            CompareError::NotJudged { too_few: true, .. } => {
                "measure more rounds, at least 4 per side: rooflens run repeats=6".to_owned()
            }
            CompareError::NotJudged { .. } | CompareError::NothingToExport { .. } => {
                "metrics such as tpot_p50 come from runs of rooflens run; a trace has none".to_owned()
            }
            CompareError::Export { .. } => "available: github-action-benchmark, bencher".to_owned(),
            CompareError::Values { path, .. } if path.is_file() => {
                format!("for a column of a CSV file: rooflens trend --csv {} --key NAME", word(path))
            }
            CompareError::Values { .. } => {
                "give a CSV file with a header line and a column of numbers, or runs of rooflens \
                 run"
                .to_owned()
            }
            CompareError::Column { columns, .. } => format!("it has {}", columns.join(", ")),
        })
    }
}
