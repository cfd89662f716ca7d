//! Why a store, or a question to one, failed.

use rooflens_queries::{QueryError, UnknownQuery};
use rooflens_store::StoreError;

use super::{ErrorKind, Hint};

/// Why a store, or a question to one, failed.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The store itself.
    #[error(transparent)]
    Store(StoreError),
    /// No query has this name.
    #[error("{0}")]
    UnknownQuery(UnknownQuery),
    /// The query cannot be asked like this.
    #[error(transparent)]
    Query(QueryError),
    /// A value that means nothing.
    #[error("{0}")]
    Value(String),
    /// What was asked for is not there; the message says what is.
    #[error("{0}")]
    Choice(String),
    /// The engine is a program of its own, and it is not here.
    #[error("{program} is not installed")]
    NoEngine {
        /// Its name.
        program: &'static str,
    },
    /// The engine does not understand the question.
    #[error("{fact}")]
    Sql {
        /// What it says.
        fact: String,
        /// What helps.
        hint: Option<String>,
    },
    /// The engine failed.
    #[error("{fact}")]
    Engine {
        /// What happened.
        fact: String,
        /// What helps.
        hint: Option<String>,
    },
    /// The store, as the engine found it.
    #[error("{fact}")]
    Unreadable {
        /// What happened.
        fact: String,
        /// What helps.
        hint: Option<String>,
    },
    /// The engine was told to stop.
    #[error("the query was stopped")]
    Stopped,
}

impl FleetError {
    /// What an engine says went wrong.
    pub fn answer(kind: &str, message: &str, hint: Option<String>) -> Self {
        let fact = message.to_owned();
        match kind {
            "sql" => FleetError::Sql { fact, hint },
            "store" => FleetError::Unreadable { fact, hint },
            "stopped" => FleetError::Stopped,
            _ => FleetError::Engine { fact, hint },
        }
    }

    /// Whose turn it is to change something.
    pub(crate) fn kind(&self) -> ErrorKind {
        match self {
            FleetError::Store(
                StoreError::Access { .. }
                | StoreError::NoClouds { .. }
                | StoreError::Scratch { .. }
                | StoreError::Raced { .. },
            ) => ErrorKind::Environment,
            FleetError::Store(StoreError::Value { .. } | StoreError::Address { .. }) => ErrorKind::Usage,
            FleetError::Store(StoreError::Stopped) => ErrorKind::Interrupted,
            FleetError::Store(_) | FleetError::Unreadable { .. } => ErrorKind::Data,
            FleetError::UnknownQuery(_)
            | FleetError::Query(_)
            | FleetError::Value(_)
            | FleetError::Choice(_)
            | FleetError::Sql { .. } => ErrorKind::Usage,
            FleetError::NoEngine { .. } | FleetError::Engine { .. } => ErrorKind::Environment,
            FleetError::Stopped => ErrorKind::Interrupted,
        }
    }

    /// What helps against it.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            FleetError::Store(StoreError::NoClouds { .. }) => Some(Hint::feature("clouds")),
            FleetError::Store(StoreError::Absent { url }) => Some(Hint::leading(
                "the first run that is added makes one:",
                format!("rooflens store add RUN --store {url}"),
            )),
            FleetError::Store(StoreError::NotAddable { path, .. }) if path.exists() => {
                let path = crate::shell::word(path);
                Some(Hint::leading(
                    "of a trace, write the run directory first:",
                    format!("rooflens analyze {path} -o runs/one"),
                ))
            }
            FleetError::Store(StoreError::NoSuchRun { .. }) => Some(Hint::command("rooflens runs STORE")),
            FleetError::Store(StoreError::Differs { run }) => Some(Hint::leading(
                "it was added with other values of --set, or analyzed with other options; to correct a value:",
                format!("rooflens store set {run} label=… --store STORE"),
            )),
            FleetError::Store(StoreError::Elsewhere { run, .. }) => Some(Hint::leading(
                "to file it under another day, remove it first:",
                format!("rooflens store rm {run} --store STORE"),
            )),
            FleetError::Store(StoreError::Removed { .. }) => Some(Hint::words(
                "a run that was removed, or dropped by `rooflens store retain`, cannot be added again",
            )),
            FleetError::Store(StoreError::Manifest { .. } | StoreError::Table { .. }) => {
                Some(Hint::command("rooflens store verify --store STORE"))
            }
            FleetError::Store(StoreError::Access { why, .. }) if why == "access was denied" => {
                Some(Hint::words(
                    "credentials come from where the provider's own tools take them, as AWS_PROFILE or AWS_ACCESS_KEY_ID",
                ))
            }
            FleetError::Store(_) | FleetError::Stopped | FleetError::Choice(_) => None,
            FleetError::UnknownQuery(_) | FleetError::Query(_) => {
                Some(Hint::command("rooflens query --list"))
            }
            FleetError::Value(_) => Some(Hint::command("rooflens query --help")),
            FleetError::NoEngine { program } => Some(Hint::leading(
                "the engine is a program of its own; from a clone of the repository:",
                format!(
                    "cargo install --locked --path engines/{program}; without it, DuckDB reads the same files: \
                     rooflens export duckdb --views --store STORE"
                ),
            )),
            FleetError::Sql { hint, .. }
            | FleetError::Engine { hint, .. }
            | FleetError::Unreadable { hint, .. } => hint.clone().map(Hint::words),
        }
    }
}
