//! A command of the user's that makes files from others: it talks on the terminal as if typed there.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum TransformError {
    /// There is no command.
    #[error("there is no command to start")]
    NoCommand,
    /// It cannot be started.
    #[error("'{program}' cannot be started: {source}")]
    NotStarted {
        /// The program.
        program: String,
        /// The system's answer.
        source: io::Error,
    },
    /// It did not end well.
    #[error("'{program}' ended with {status}")]
    Failed {
        /// The program.
        program: String,
        /// How.
        status: ExitStatus,
    },
}

/// Runs a command in a folder, without a shell, and waits for its end. What it prints goes to standard
/// error: standard output is the answer of whoever started it.
///
/// # Errors
/// When it cannot be started or does not end with 0.
pub fn transform(argv: &[String], folder: &Path, env: &[(&str, &Path)]) -> Result<(), TransformError> {
    let [program, arguments @ ..] = argv else { return Err(TransformError::NoCommand) };
    let not_started = |source| TransformError::NotStarted { program: program.clone(), source };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).envs(env.iter().copied()).stdout(io::stderr());
    let status = command.status().map_err(not_started)?;
    if status.success() { Ok(()) } else { Err(TransformError::Failed { program: program.clone(), status }) }
}
