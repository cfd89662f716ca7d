//! A command of the user's that makes files from others: it talks on the terminal as if typed there.

use std::io;
use std::path::Path;
use std::process::Command;

/// Runs a command in a folder, without a shell, and waits for its end. What it prints goes to standard error: standard
/// output is the answer of whoever started it. An error is a sentence.
pub fn transform(argv: &[String], folder: &Path, env: &[(&str, &Path)]) -> Result<(), String> {
    let [program, arguments @ ..] = argv else { return Err("there is no command to start".to_owned()) };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).envs(env.iter().copied()).stdout(io::stderr());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("'{program}' ended with {status}")),
        Err(error) => Err(format!("'{program}' cannot be started: {error}")),
    }
}
