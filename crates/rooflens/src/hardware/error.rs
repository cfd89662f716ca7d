//! Why a device could not be measured.

use std::path::PathBuf;

use rooflens_collect::execute::Outcome;

use crate::console::Console;
use crate::exit::Exit;

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
    #[error("{path} is there already: nothing was measured")]
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl MeasureError {
    /// Of a program that did not end well. The end of what it printed is told first.
    pub fn of(outcome: &Outcome, console: &Console) -> Self {
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
            console.say(&format!("  | {line}"));
        }
        MeasureError::Failed { verdict: outcome.verdict(), hint: said("hint: ") }
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match self {
            MeasureError::Missing { .. } => Exit::Environment,
            MeasureError::Failed { .. } | MeasureError::Unreadable { .. } => Exit::Workload,
            MeasureError::Exists { .. } => Exit::Usage,
        }
    }

    /// What helps.
    pub fn hint(&self) -> String {
        match self {
            MeasureError::Missing { hint, .. } => hint.clone(),
            MeasureError::Failed { hint: Some(hint), .. } => hint.clone(),
            MeasureError::Failed { hint: None, .. } => {
                "less to do, on another device: --device cpu --seconds 2".to_owned()
            }
            MeasureError::Unreadable { .. } => {
                "rooflens doctor shows the interpreter and its torch".to_owned()
            }
            MeasureError::Exists { .. } => "--force replaces it; --name NAME writes another".to_owned(),
        }
    }
}
