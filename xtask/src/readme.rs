//! The README's commands are tests: they run as they stand there.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::{markdown, workspace};

/// Which program the commands use.
#[derive(clap::Args)]
pub struct Arguments {
    /// Program to use instead of the one that the README installs, which is not built then
    #[arg(long, value_name = "FILE")]
    rooflens: Option<PathBuf>,
}

/// How the README installs the program from a clone.
const INSTALL: &str = "cargo install --path crates/rooflens --locked\n";

/// Runs every block opened by ` ```sh `, in order, in one shell.
pub fn run(arguments: &Arguments) -> Result<()> {
    let text = workspace::read("README.md")?;
    let blocks = markdown::split(&text).0.into_iter().filter(|block| block.language == "sh");
    let commands: String = blocks.map(|block| block.text).collect();
    ensure!(!commands.is_empty(), "README.md has no commands");
    // What is installed goes to a folder of its own, found first.
    let installed = workspace::target_dir()?.join("readme");
    let commands = match &arguments.rooflens {
        None => commands,
        Some(program) => {
            ensure!(commands.contains(INSTALL), "README.md does not have the command {INSTALL}");
            let to = installed.join("bin/rooflens");
            commands.replace(INSTALL, &format!("install -D '{}' '{}'\n", program.display(), to.display()))
        }
    };
    let path = std::env::var("PATH").unwrap_or_default();
    let script = format!("set -euxo pipefail\n{commands}");
    workspace::run(
        Command::new("bash")
            .args(["-c", &script])
            .current_dir(workspace::root())
            .env("CARGO_INSTALL_ROOT", &installed)
            .env("PATH", format!("{}:{path}", installed.join("bin").display()))
            .stdin(std::process::Stdio::null()),
    )
}
