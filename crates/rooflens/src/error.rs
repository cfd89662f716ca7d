//! What can go wrong on the command line: what the library says, and what only a command line can meet.

use rooflens_collect::project::{FaultClass, ProjectError};
use rooflens_core::error::{CompareError, CostError, Error, Hint};
use rooflens_core::exit::Exit;
use rooflens_core::text::counted;

#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The library could not answer.
    #[error(transparent)]
    Core(#[from] Error),
    /// Standard output could not be written.
    #[error("cannot write to standard output: {source}")]
    Stdout { source: std::io::Error },
    /// What only a command line can meet.
    #[error("{fact}")]
    Own { fact: String, hint: Option<Hint>, exit: Exit },
}

impl CliError {
    /// Something else has to be typed.
    pub(crate) fn usage(fact: impl Into<String>, hint: Hint) -> Self {
        CliError::Own { fact: fact.into(), hint: Some(hint), exit: Exit::Usage }
    }

    /// Something is wrong with this machine.
    pub(crate) fn environment(fact: impl Into<String>, hint: Hint) -> Self {
        CliError::Own { fact: fact.into(), hint: Some(hint), exit: Exit::Environment }
    }

    /// Somebody has to agree, and nobody can be asked.
    pub(crate) fn needs_yes(changes: usize) -> Self {
        let changes = counted(changes, "change");
        CliError::usage(
            format!("{changes} would be made, and standard input is not a terminal to ask for confirmation"),
            Hint::words("--dry-run shows them; --yes makes them without asking"),
        )
    }

    /// Runs are to be chosen, but not from one folder.
    pub(crate) fn not_one_folder() -> Self {
        CliError::usage(
            "--where, --by, --since and --until choose from one folder of runs, or from a store",
            Hint::command("rooflens runs DIR --where …"),
        )
    }

    /// This build leaves out what a feature brings.
    #[cfg(not(feature = "full"))]
    pub(crate) fn left_out(what: &str, feature: &str) -> Self {
        CliError::environment(format!("this build has no {what}"), Hint::feature(feature))
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            CliError::Core(error) => error.kind().into(),
            CliError::Stdout { .. } => Exit::Environment,
            CliError::Own { exit, .. } => *exit,
        }
    }

    pub(crate) fn hint(&self) -> Option<Hint> {
        match self {
            CliError::Core(error) => error.hint(),
            CliError::Stdout { .. } => Some(Hint::words("df -h . shows the free space")),
            CliError::Own { hint, .. } => hint.clone(),
        }
    }
}

impl From<CostError> for CliError {
    fn from(error: CostError) -> Self {
        CliError::Core(error.into())
    }
}

impl From<CompareError> for CliError {
    fn from(error: CompareError) -> Self {
        CliError::Core(error.into())
    }
}

impl From<ProjectError> for CliError {
    fn from(error: ProjectError) -> Self {
        CliError::Core(Error::project(error))
    }
}

pub(crate) fn exit_of(class: FaultClass) -> Exit {
    rooflens_core::error::kind_of_project(class).into()
}
