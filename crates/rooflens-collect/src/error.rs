//! What can go wrong before and while steps are taken: the fact, the place, and what helps.

use std::path::PathBuf;

use rooflens_compose::ProblemPlace;
use rooflens_compose::value::{Origin, ValueSource};

/// A config that no plan can be made of.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct PlanError {
    message: String,
    hint: String,
    /// Where it is written.
    pub place: Option<Box<ProblemPlace>>,
}

impl PlanError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), place: None }
    }

    /// An error of a setting that another value helps.
    pub(crate) fn of_key(key: &str, fact: impl std::fmt::Display) -> Self {
        Self::new(format!("{key} {fact}"), format!("set it: {key}=…"))
    }

    /// A setting that is left open with `???`.
    pub(crate) fn open(key: &str) -> Self {
        Self::of_key(key, "must be set")
    }

    pub(crate) fn missing(key: &str) -> Self {
        Self::new(format!("the config has no {key}"), format!("add it: +{key}=…"))
    }

    pub(crate) fn not_one_of(key: &str, is: &str, known: &[&str]) -> Self {
        Self::new(format!("{key} is '{is}', which is not known"), format!("one of: {}", known.join(", ")))
    }

    pub(crate) fn at(mut self, origin: &Origin) -> Self {
        let excerpt = match &origin.source {
            ValueSource::BuiltIn => return self,
            ValueSource::File(_) => String::new(),
            ValueSource::CommandLine(argument) => argument.to_string(),
        };
        self.place = Some(Box::new(ProblemPlace { origin: origin.clone(), excerpt }));
        self
    }

    /// With the nearest name to an unknown one as the hint, if one is near.
    pub(crate) fn meant(mut self, name: Option<String>) -> Self {
        if let Some(name) = name {
            self.hint = format!("did you mean '{name}'?");
        }
        self
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        self.hint.clone()
    }
}

/// A step that could not be taken at all. What a workload does wrong is an outcome, not an error.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExecuteError {
    message: String,
    hint: String,
}

impl ExecuteError {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }

    /// `instead` are programs that may do instead.
    pub(crate) fn no_program(program: &str, instead: &[&str]) -> Self {
        let hint = match instead.first() {
            _ if program.ends_with("nsys") => {
                "install Nsight Systems, or name it: pipeline.nsys.program=PATH; rooflens doctor shows what \
                 is installed"
                    .to_owned()
            }
            _ if program.ends_with("ncu") => {
                "install Nsight Compute, or name it: pipeline.ncu.program=PATH, --ncu PATH; rooflens doctor \
                 shows what is installed"
                    .to_owned()
            }
            Some(first) => format!("runtime.python={first}"),
            None => "name the interpreter that has torch: runtime.python=PATH".to_owned(),
        };
        Self::new(format!("there is no program '{program}'"), hint)
    }

    pub(crate) fn unstartable(program: &str, source: &std::io::Error) -> Self {
        Self::new(format!("cannot start {program}: {source}"), format!("ls -l {program}"))
    }

    /// A file or folder cannot be written.
    pub fn unwritable(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        let hint = "rooflens doctor checks whether this folder is writable; df -h . shows the free space";
        Self::new(format!("cannot write {}: {source}", path.into().display()), hint)
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        self.hint.clone()
    }
}
