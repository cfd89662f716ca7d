//! What can go wrong. The message states the fact and its cause, the kind says whose turn it is, and the hint is
//! what helps, as data: whoever talks to people puts it in words.

mod bench;
mod compare;
mod cost;
mod place;

use std::fmt;
use std::path::Path;

use rooflens_collect::project::{FaultClass, ProjectError};
use rooflens_collect::{ExecuteError, PlanError};
use rooflens_compose::ComposeError;
use rooflens_ingest::IngestError;
use rooflens_schema::SchemaError;

pub use self::bench::BenchError;
pub use self::compare::CompareError;
pub use self::cost::CostError;
use crate::shell::word;

/// The kind of a failure: whose turn it is to change something. A command line gives each kind an exit code, a
/// library an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The request or the configuration is wrong.
    Usage,
    /// A tool, a permission or disk space is missing.
    Environment,
    /// The profiled or measured workload failed.
    Workload,
    /// The input is missing or cannot be read.
    Data,
    /// The observer asked to stop before there was a result.
    Interrupted,
}

impl ErrorKind {
    /// Its word in JSON and in other languages.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorKind::Usage => "usage",
            ErrorKind::Environment => "environment",
            ErrorKind::Workload => "workload",
            ErrorKind::Data => "data",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

/// What helps: words, a command to paste, or both. A command line shows both on one line; a library may leave the
/// command out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hint {
    /// Empty where the command says it all.
    pub(crate) words: String,
    /// A command of the shell that helps.
    pub command: Option<String>,
}

impl Hint {
    /// Words alone.
    pub fn words(words: impl Into<String>) -> Self {
        Hint { words: words.into(), command: None }
    }

    /// A command alone.
    pub fn command(command: impl Into<String>) -> Self {
        Hint { words: String::new(), command: Some(command.into()) }
    }

    /// Words that lead to a command; they end with their own punctuation.
    pub fn leading(words: impl Into<String>, command: impl Into<String>) -> Self {
        Hint { words: words.into(), command: Some(command.into()) }
    }

    /// The command that installs Rooflens with a feature that this build was made without.
    pub fn feature(name: &str) -> Self {
        Hint::leading(
            "from a clone of the repository, install Rooflens with this feature:",
            format!("cargo install --locked --path crates/rooflens --features {name}"),
        )
    }

    /// Names that may have been meant; where there are none, something else.
    pub(crate) fn near(near: &[String], otherwise: impl FnOnce() -> Hint) -> Self {
        match near {
            [] => otherwise(),
            near => Hint::words(format!("did you mean {}?", near.join(", "))),
        }
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.command {
            None => f.write_str(&self.words),
            Some(command) if self.words.is_empty() => f.write_str(command),
            Some(command) => write!(f, "{} {command}", self.words),
        }
    }
}

/// A failure: what happened, whose turn it is to change something, and what helps.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<Hint>,
    cause: Cause,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Unreadable,
    RunExists,
    NoStore,
    Other,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), hint: None, cause: Cause::Other }
    }

    /// The request or the configuration is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Usage, message)
    }

    /// A tool, a permission or disk space is missing.
    pub fn environment(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Environment, message)
    }

    /// The input is missing or cannot be read.
    pub fn data(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Data, message)
    }

    pub(crate) fn workload(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Workload, message)
    }

    pub(crate) fn interrupted() -> Self {
        Error::stopped("stopped before any record was read")
    }

    pub(crate) fn stopped(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Interrupted, message)
    }

    /// The same with what helps.
    #[must_use]
    pub fn hinted(mut self, hint: impl Into<Option<Hint>>) -> Self {
        self.hint = hint.into();
        self
    }

    /// The same with words that help.
    #[must_use]
    pub fn words(self, words: impl Into<String>) -> Self {
        self.hinted(Hint::words(words))
    }

    /// The same with a command that helps.
    #[must_use]
    pub fn command(self, command: impl Into<String>) -> Self {
        self.hinted(Hint::command(command))
    }

    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }

    pub(crate) fn is(&self, cause: Cause) -> bool {
        self.cause == cause
    }

    /// Whose turn it is to change something.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What helps.
    pub fn hint(&self) -> Option<Hint> {
        self.hint.clone()
    }
}

impl Error {
    pub(crate) fn unreadable(error: IngestError) -> Self {
        let hint = match &error {
            IngestError::Io { path, .. } => Hint::command(format!("ls -l {}", word(path))),
            IngestError::Unknown { source_name, beginning } if is_model_config(beginning) => Hint::leading(
                "of the config of a model:",
                format!("rooflens cost {}", word(Path::new(source_name))),
            ),
            IngestError::Empty { .. } | IngestError::Unknown { .. } | IngestError::EmptyFolder { .. } => {
                Hint::command("rooflens list formats")
            }
            IngestError::NoRecords { .. } => Hint::leading(
                "was the profiler stopped and its trace exported?",
                "rooflens explain no_records",
            ),
            IngestError::SeveralRanks { .. } => Hint::words(
                "rooflens analyze DIR, the folder of the traces or the run directory that it was exported from",
            ),
        };
        Error::data(error.to_string()).hinted(hint).because(Cause::Unreadable)
    }

    pub(crate) fn unreadable_run(error: SchemaError) -> Self {
        let hint = match &error {
            SchemaError::NotARun { path, .. } if path.is_file() => Hint::leading(
                "of a trace, write the run directory first:",
                format!("rooflens analyze {} -o RUN", word(path)),
            ),
            SchemaError::NoTrace { path } => Hint::leading(
                "what was measured is in its report/metrics.json, and is compared by:",
                format!("rooflens compare OTHER {}", word(path)),
            ),
            _ => Hint::leading("import the trace again:", "rooflens import TRACE -o RUN"),
        };
        Error::data(error.to_string()).hinted(hint)
    }

    /// Tables could not be written.
    pub fn unwritable_tables(error: SchemaError) -> Self {
        Error::environment(error.to_string()).words(DISK)
    }

    /// A file could not be written.
    pub fn unwritable(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        let path = path.as_ref();
        let error = Error::environment(format!("cannot write {}: {source}", path.display()));
        match path.parent().filter(|folder| *folder != Path::new("") && !folder.exists()) {
            Some(folder) => error.command(format!("mkdir -p {}", word(folder))),
            None => error.words(DISK),
        }
    }

    pub(crate) fn not_a_folder(path: &Path) -> Self {
        Error::usage(format!("{} is not a folder", path.display()))
            .words(format!("choose a folder: -o {}", word(&path.with_extension("run"))))
    }

    pub(crate) fn not_ours(path: &Path) -> Self {
        Error::usage(format!("{} is not empty and not a Rooflens run: nothing was written", path.display()))
            .words(format!("choose a new or empty folder: -o {}", word(&path.join("rooflens-run"))))
    }

    pub(crate) fn no_floor(reason: impl fmt::Display) -> Self {
        Error::usage(format!("no lower bound can be computed: {reason}"))
            .words("rooflens list hardware names the devices")
    }

    /// There is no folder of configs.
    pub fn no_config_folder(path: &Path) -> Self {
        Error::usage(format!("there is no config folder {}", path.display())).words(
            "rooflens init NEW_PROJECT creates one; another folder: --config-dir DIR; one model without a project: \
             rooflens run --model NAME_OR_FOLDER",
        )
    }

    /// The config cannot be composed.
    pub fn compose(error: ComposeError) -> Self {
        Error::usage(place::described(&error)).hinted(error.hint().map(Hint::words))
    }

    pub(crate) fn plan(error: PlanError) -> Self {
        Error::usage(place::planned(&error)).words(error.hint())
    }

    /// An operation on a project failed.
    pub fn project(error: ProjectError) -> Self {
        let message = place::placed(&error.to_string(), error.place.as_deref());
        Error::new(kind_of_project(error.class), message).hinted(error.hint.map(Hint::words))
    }

    /// The engine is a separate program, and it is not installed.
    pub fn no_engine(program: &str) -> Self {
        Error::environment(format!("{program} is not installed")).hinted(Hint::leading(
            "the engine is a program of its own; from a clone of the repository:",
            format!(
                "cargo install --locked --path engines/{program}; without it, DuckDB reads the same files: \
                 rooflens export duckdb --views --store STORE"
            ),
        ))
    }
}

const DISK: &str = "rooflens doctor checks whether this folder is writable; df -h . shows the free space";

fn is_model_config(beginning: &str) -> bool {
    ["architectures", "_name_or_path", "model_type", "attention_"].iter().any(|key| beginning.contains(key))
}

/// The kind of a failure with a project.
pub fn kind_of_project(class: FaultClass) -> ErrorKind {
    match class {
        FaultClass::Usage => ErrorKind::Usage,
        FaultClass::Environment => ErrorKind::Environment,
        FaultClass::Data => ErrorKind::Data,
        FaultClass::Interrupted => ErrorKind::Interrupted,
    }
}

impl From<ExecuteError> for Error {
    fn from(error: ExecuteError) -> Self {
        Error::environment(error.to_string()).words(error.hint())
    }
}

impl From<CostError> for Error {
    fn from(error: CostError) -> Self {
        Error::new(error.kind(), error.to_string()).hinted(error.hint())
    }
}

impl From<CompareError> for Error {
    fn from(error: CompareError) -> Self {
        Error::new(error.kind(), error.to_string()).hinted(error.hint())
    }
}

impl From<BenchError> for Error {
    fn from(error: BenchError) -> Self {
        Error::new(error.kind(), error.to_string()).hinted(error.hint())
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_command_are_one_line() {
        assert_eq!(Hint::words("add --yes").to_string(), "add --yes");
        assert_eq!(Hint::command("ls -l").to_string(), "ls -l");
        let both = Hint::leading("did you mean a.json?", "rooflens analyze a.json");
        assert_eq!(both.to_string(), "did you mean a.json? rooflens analyze a.json");
    }
}
