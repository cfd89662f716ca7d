//! Why a device could not be measured.

use std::path::PathBuf;

use rooflens_collect::execute::StepOutcome;

use super::{ErrorKind, Hint};
use crate::observer::SharedObserver;

/// Exit code of the measuring program: torch or the device is not there.
const MISSING: i32 = 3;

/// Why a device could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// Something is not installed, or not there.
    #[error("{fact}")]
    Missing {
        /// What the program said.
        fact: String,
        /// What helps.
        hint: String,
    },
    /// It failed.
    #[error("the measurement {verdict}")]
    Failed {
        /// How.
        verdict: String,
        /// What helps.
        hint: Option<String>,
    },
    /// Its answer is none.
    #[error("the measurement ended, but {why}")]
    Unreadable {
        /// Why.
        why: String,
    },
    /// The file is there.
    #[error("{path} already exists: nothing was measured")]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl MeasureError {
    /// Of a program that did not end well. The end of what it printed is told first.
    pub(crate) fn of(outcome: &StepOutcome, observer: &SharedObserver) -> Self {
        let said =
            |start: &str| outcome.tail.iter().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
        if outcome.exit_code == Some(MISSING)
            && let Some(fact) = said("error: ")
        {
            let other = "or an interpreter that has it: --python PATH";
            let hint = said("hint: ").map_or_else(|| other.to_owned(), |hint| format!("{hint}; {other}"));
            return MeasureError::Missing { fact, hint };
        }
        for line in &outcome.tail {
            observer.info(&format!("  | {line}"));
        }
        MeasureError::Failed { verdict: outcome.verdict(), hint: said("hint: ") }
    }

    /// Whose turn it is to change something.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            MeasureError::Missing { .. } => ErrorKind::Environment,
            MeasureError::Failed { .. } | MeasureError::Unreadable { .. } => ErrorKind::Workload,
            MeasureError::Exists { .. } => ErrorKind::Usage,
        }
    }

    /// What helps.
    pub fn hint(&self) -> Hint {
        Hint::words(match self {
            MeasureError::Missing { hint, .. } => hint.clone(),
            MeasureError::Failed { hint: Some(hint), .. } => hint.clone(),
            MeasureError::Failed { hint: None, .. } => {
                "try another device and less time: --device cpu --seconds 2".to_owned()
            }
            MeasureError::Unreadable { .. } => {
                "rooflens doctor shows the interpreter and its torch".to_owned()
            }
            MeasureError::Exists { .. } => "--force overwrites it; --name NAME writes another".to_owned(),
        })
    }
}
