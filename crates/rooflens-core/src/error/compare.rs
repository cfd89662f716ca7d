//! What can go wrong in a comparison or a trend.

use std::path::PathBuf;

use rooflens_analyze::compare::headline::{self, HeadlineMetric};

use super::{ErrorKind, Hint};
use crate::shell::word;

/// A failure.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// Nothing to compare with.
    #[error("a comparison needs at least two inputs")]
    OneInput,
    /// A gate that cannot be read.
    #[error("not a gate: {text:?}")]
    Gate {
        /// The gate.
        text: String,
    },
    /// A number that there is not.
    #[error("there is no metric {name:?}")]
    Metric {
        /// The name.
        name: String,
        /// Names like it.
        near: Vec<String>,
    },
    /// A gate over what was not measured.
    #[error("{gate} cannot be evaluated: {why}")]
    NotJudged {
        /// The gate.
        gate: String,
        /// Why.
        why: String,
        /// Whether more rounds would help: both sides have it, with too few.
        too_few: bool,
    },
    /// An export of nothing.
    #[error("{path} has no metric to export")]
    NothingToExport {
        /// The run or trace.
        path: PathBuf,
    },
    /// An export that there is not.
    #[error("there is no export {name:?}")]
    Export {
        /// The name.
        name: String,
    },
    /// A file of values that cannot be read.
    #[error("cannot read {path}: {why}")]
    Values {
        /// The file or run.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// A column that there is not.
    #[error("{path} has no column {name:?}")]
    Column {
        /// The file.
        path: PathBuf,
        /// The column.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
}

impl CompareError {
    /// For a name that is no metric.
    pub(crate) fn metric(name: &str) -> Self {
        let names: Vec<&str> = headline::ALL.iter().map(HeadlineMetric::name).collect();
        let near = rooflens_compose::near(name, names);
        CompareError::Metric { name: name.to_owned(), near }
    }

    /// Whose turn it is to change something.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            CompareError::OneInput
            | CompareError::Gate { .. }
            | CompareError::Metric { .. }
            | CompareError::Export { .. }
            | CompareError::Column { .. } => ErrorKind::Usage,
            CompareError::NotJudged { .. }
            | CompareError::NothingToExport { .. }
            | CompareError::Values { .. } => ErrorKind::Data,
        }
    }

    /// What helps.
    pub fn hint(&self) -> Hint {
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
