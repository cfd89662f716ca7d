//! The error of this crate: what happened, who can fix it, and what to do.

use std::fmt::Display;
use std::io;
use std::path::Path;

use rooflens_compose::value::{Origin, ValueSource};
use rooflens_compose::yaml::YamlError;
use rooflens_compose::{ProblemPlace, near};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const MAX_EXCERPT_CHARS: usize = 160;

/// Who can fix an error; the exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FaultClass {
    /// The user: an argument, a file that they wrote or the state of the project.
    Usage,
    /// The machine: a missing tool, a permission, or a server that cannot be reached.
    Environment,
    /// The data is not what it should be.
    Data,
    /// The user stopped the command.
    Interrupted,
}

/// A failed operation on a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{message}")]
pub struct ProjectError {
    /// Who can fix it.
    pub class: FaultClass,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The line of a file that caused it.
    #[serde(skip)]
    pub place: Option<Box<ProblemPlace>>,
}

pub type Result<T> = std::result::Result<T, ProjectError>;

impl ProjectError {
    fn new(class: FaultClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), hint: None, place: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Usage, message)
    }

    /// An error that the environment caused.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Environment, message)
    }

    pub(crate) fn data(message: impl Into<String>) -> Self {
        Self::new(FaultClass::Data, message)
    }

    pub(crate) fn stopped() -> Self {
        Self::new(FaultClass::Interrupted, "stopped")
    }

    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| {
            Self::environment(format!("{}: {error}", path.display()))
                .hint("check that the file exists and that you can read and write there")
        }
    }

    pub(crate) fn unreadable(path: &Path, error: impl Display) -> Self {
        Self::data(format!("'{}' cannot be read: {error}", path.display()))
    }

    pub(crate) fn unwritable(path: &Path, error: impl Display) -> Self {
        Self::environment(format!("'{}' cannot be written: {error}", path.display()))
    }

    pub(crate) fn changed(path: &Path) -> Self {
        Self::environment(format!("'{}' has changed since the plan was made", path.display()))
            .hint("run the command again")
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn suggest<'a>(self, wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match near(wanted, known).first() {
            Some(meant) => self.hint(format!("did you mean '{meant}'?")),
            None => self,
        }
    }

    pub(crate) fn at(mut self, origin: &Origin, text: &str) -> Self {
        let line = usize::try_from(origin.line).unwrap_or(usize::MAX).saturating_sub(1);
        let excerpt = text.lines().nth(line).unwrap_or("").chars().take(MAX_EXCERPT_CHARS).collect();
        self.place = Some(Box::new(ProblemPlace { origin: origin.clone(), excerpt }));
        self
    }

    pub(crate) fn yaml(error: &YamlError, text: &str) -> Self {
        let source = ValueSource::File(error.file.clone());
        let origin = Origin { source, line: error.line, column: error.column };
        Self::usage(error.problem.to_string()).at(&origin, text)
    }
}

/// "; there are a, b", or nothing without names.
pub(crate) fn list_of(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; there are {}", names.join(", ")) }
}
