//! Why a folder of runs cannot be listed, or a run of it not be changed.

use std::path::{Path, PathBuf};

use super::{ErrorKind, Hint};
use crate::shell::word;

/// Why a folder of runs cannot be listed, or a run of it not be changed.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    /// There is no such folder.
    #[error("there is no folder {path}")]
    NoFolder {
        /// As it was given.
        path: PathBuf,
    },
    /// It is a file.
    #[error("{path} is a file, not a folder of runs")]
    File {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Nothing in it is a run.
    #[error("there is no run directory in {path}")]
    NoRuns {
        /// The folder.
        path: PathBuf,
    },
    /// What should be changed is a link.
    #[error("{path} is a symbolic link: links are not followed")]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// What should be changed is elsewhere.
    #[error("{path} is not in {folder}")]
    Outside {
        /// What was named.
        path: PathBuf,
        /// The folder of runs.
        folder: PathBuf,
    },
    /// What should be changed is no run.
    #[error("{path} is not a run directory: nothing was changed")]
    NotARun {
        /// What was named.
        path: PathBuf,
    },
    /// The folder of runs itself.
    #[error("{path} is the folder of runs itself: nothing was changed")]
    Whole {
        /// The folder.
        path: PathBuf,
    },
    /// No run has this name.
    #[error("no run in {folder} is called {name:?}")]
    NoSuchRun {
        /// As it was given.
        name: String,
        /// The folder of runs.
        folder: PathBuf,
        /// Runs that may have been meant.
        near: Vec<String>,
    },
    /// Several runs have this name.
    #[error("{name:?} is ambiguous, these runs match: {}", found.join(", "))]
    Ambiguous {
        /// As it was given.
        name: String,
        /// Runs that match.
        found: Vec<String>,
    },
    /// A word that is no tag.
    #[error("{word:?} cannot be a tag")]
    Tag {
        /// The word.
        word: String,
    },
    /// A run of a store has one label, and it has another.
    #[error("run {run} has the label {label:?} already, and a run of a store has only one")]
    OtherLabel {
        /// The run.
        run: String,
        /// Its label.
        label: String,
    },
    /// A condition that cannot be read.
    #[error("{text:?} is not a condition: {why}")]
    Condition {
        /// As it was given.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// An order that there is not.
    #[error("{text:?} is not an order: {why}")]
    Order {
        /// As it was given.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A column that there is not.
    #[error("runs have no column {name:?}")]
    Column {
        /// As it was given.
        name: String,
        /// Columns that may have been meant.
        near: Vec<String>,
        /// All columns.
        names: Vec<String>,
    },
    /// No run is meant; the message says what there is.
    #[error("{0}")]
    NothingMeant(String),
    /// Not two groups of runs to compare.
    #[error("{0}")]
    NotTwo(String),
}

impl RunsError {
    /// Whose turn it is to change something.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            RunsError::NoFolder { .. } | RunsError::File { .. } | RunsError::NoRuns { .. } => ErrorKind::Data,
            RunsError::Unreadable { .. } => ErrorKind::Environment,
            _ => ErrorKind::Usage,
        }
    }

    /// What helps.
    pub fn hint(&self) -> Option<Hint> {
        let in_folder = |folder: &Path| format!("rooflens runs {}", word(folder));
        Some(match self {
            RunsError::NoFolder { .. } | RunsError::NoRuns { .. } => {
                Hint::leading("of a trace, write a run directory:", "rooflens analyze TRACE -o runs/one")
            }
            RunsError::File { path } => Hint::command(format!("rooflens analyze {}", word(path))),
            RunsError::Unreadable { path, .. } => Hint::command(format!("ls -ld {}", word(path))),
            RunsError::Link { .. } => Hint::words("name the run by its own folder"),
            RunsError::Outside { path, .. } => {
                let parent = path.parent().unwrap_or(path);
                Hint::words(format!("name the folder that it is in with --in {}", word(parent)))
            }
            RunsError::Whole { .. } => {
                Hint::words("name a run in it; to delete this one, name the folder above with --in ..")
            }
            RunsError::NotARun { path } => Hint::leading(
                "the runs in it:",
                in_folder(path.parent().filter(|_| !path.is_dir()).unwrap_or(path)),
            ),
            RunsError::NoSuchRun { near, .. } if !near.is_empty() => {
                Hint::words(format!("did you mean {}?", near.join(", ")))
            }
            RunsError::NoSuchRun { folder, .. } => Hint::command(in_folder(folder)),
            RunsError::Ambiguous { .. } => Hint::words("give more characters, or the folder of the run"),
            RunsError::Tag { .. } => {
                Hint::words("write up to 64 letters, digits and . _ - : / + @, as in release-3")
            }
            RunsError::OtherLabel { run, label } => Hint::leading(
                "remove the other first:",
                format!("rooflens runs untag {run} {} --store STORE", word(Path::new(label))),
            ),
            RunsError::Condition { .. } => Hint::words(
                "as in --where model=Qwen/Qwen3-8B, --where model~qwen, --where tag=baseline or \
                 --where 'tpot_p50_ns<20ms'",
            ),
            RunsError::Column { near, .. } if !near.is_empty() => {
                Hint::words(format!("did you mean {}?", near.join(", ")))
            }
            RunsError::Column { names, .. } => Hint::words(format!("columns: {}", names.join(", "))),
            RunsError::Order { .. } => Hint::words("as in --sort tpot_p50_ns or --sort tpot_p50_ns:desc"),
            RunsError::NothingMeant(_) => return None,
            RunsError::NotTwo(_) => Hint::words(
                "rooflens compare RUNS_DIR --where … --by tag compares two groups, without --by the last two runs",
            ),
        })
    }
}
