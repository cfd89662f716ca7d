//! What can go wrong before and while steps are taken: the fact, the place, and what helps.

use std::path::PathBuf;

use rooflens_compose::ProblemPlace;
use rooflens_compose::value::{Origin, ValueSource};

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}")]
pub struct SettingsError {
    /// What is wrong.
    pub(crate) problem: Box<SettingsProblem>,
    /// Where it is written.
    pub place: Option<Box<ProblemPlace>>,
    /// The nearest name to one that is none.
    pub(crate) suggestion: Option<String>,
}

/// What is wrong with a setting.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[rustfmt::skip] // One problem, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum SettingsProblem {
    /// Nobody reads it.
    #[error("unknown setting {key}")]
    Unknown { key: String },
    /// It must be given.
    #[error("the config has no {key}")]
    Missing { key: String },
    /// It is `???`.
    #[error("{key} must be set")]
    Open { key: String },
    /// It has another kind of value.
    #[error("{key} is {is}, not {wanted}")]
    Wrong { key: String, is: String, wanted: &'static str },
    /// It is none of the known words.
    #[error("{key} is '{is}', which is not known")]
    NotOneOf { key: String, is: String, known: Vec<&'static str> },
    /// It and another exclude each other.
    #[error("{key} and {other} cannot both be set")]
    Conflict { key: String, other: String },
    /// It cannot be handed to a process.
    #[error("{key} cannot be passed on: {why}")]
    NotPlain { key: String, why: &'static str },
    /// It has something that cannot be taken as it is.
    #[error("{key} has '{is}': {why}")]
    Refused { key: String, is: String, why: String },
}

impl SettingsError {
    pub(crate) fn new(problem: SettingsProblem) -> Self {
        Self { problem: Box::new(problem), place: None, suggestion: None }
    }

    pub(crate) fn at(problem: SettingsProblem, origin: &Origin) -> Self {
        let place = match &origin.source {
            ValueSource::BuiltIn => None,
            ValueSource::File(_) => Some(ProblemPlace { origin: origin.clone(), excerpt: String::new() }),
            ValueSource::CommandLine(argument) => {
                Some(ProblemPlace { origin: origin.clone(), excerpt: argument.to_string() })
            }
        };
        Self { place: place.map(Box::new), ..Self::new(problem) }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        if let Some(suggestion) = &self.suggestion {
            return format!("did you mean '{suggestion}'?");
        }
        match &*self.problem {
            SettingsProblem::Unknown { key } => {
                format!("your own keys must begin with an underscore; to remove it: ~{key}")
            }
            SettingsProblem::Missing { key } => format!("add it: +{key}=…"),
            SettingsProblem::Open { key }
            | SettingsProblem::Wrong { key, .. }
            | SettingsProblem::NotPlain { key, .. }
            | SettingsProblem::Refused { key, .. } => format!("set it: {key}=…"),
            SettingsProblem::Conflict { key, other } => format!("keep one: {key}=null or {other}=null"),
            SettingsProblem::NotOneOf { known, .. } => format!("one of: {}", known.join(", ")),
        }
    }
}

/// A config that no plan can be made of.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A setting is wrong.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No stage is on.
    #[error("no stage is on: there is nothing to run")]
    NothingToDo,
}

impl PlanError {
    /// Where it is written.
    #[must_use]
    pub fn place(&self) -> Option<&ProblemPlace> {
        match self {
            PlanError::Settings(error) => error.place.as_deref(),
            PlanError::NothingToDo => None,
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            PlanError::Settings(error) => error.hint(),
            PlanError::NothingToDo => "profiling=minimal enables the usual ones".to_owned(),
        }
    }
}

/// A step that could not be taken at all. What a workload does wrong is an outcome, not an error.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// The program is not there.
    #[error("there is no program '{program}'")]
    NoProgram {
        /// As the config has it.
        program: String,
        /// Programs that may do instead.
        instead: Vec<String>,
    },
    /// The Python environment, or the tool that keeps it, is not there.
    #[error("{what}")]
    NoEnvironment {
        /// What is not there.
        what: String,
        /// The command that installs or makes it.
        hint: String,
    },
    /// The program cannot be started.
    #[error("cannot start {program}: {source}")]
    Unstartable {
        /// The program.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {path}: {source}")]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl ExecuteError {
    pub(crate) fn unwritable(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        ExecuteError::Unwritable { path: path.into(), source }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            ExecuteError::NoProgram { program, .. } if program.ends_with("nsys") => {
                "install Nsight Systems, or name it: pipeline.nsys.program=PATH; rooflens doctor shows what \
                 is installed"
                    .to_owned()
            }
            ExecuteError::NoProgram { program, .. } if program.ends_with("ncu") => {
                "install Nsight Compute, or name it: pipeline.ncu.program=PATH, --ncu PATH; rooflens doctor \
                 shows what is installed"
                    .to_owned()
            }
            ExecuteError::NoProgram { instead, .. } => match instead.first() {
                Some(first) => format!("runtime.python={first}"),
                None => "name the interpreter that has torch: runtime.python=PATH".to_owned(),
            },
            ExecuteError::NoEnvironment { hint, .. } => hint.clone(),
            ExecuteError::Unstartable { program, .. } => format!("ls -l {program}"),
            ExecuteError::Unwritable { .. } => {
                "rooflens doctor checks whether this folder is writable; df -h . shows the free space"
                    .to_owned()
            }
        }
    }
}
