//! The README's commands are tests: they run as they stand there.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::{markdown, workspace};

/// Runs every block opened by ` ```sh `, in order, in one shell.
pub fn run() -> Result<()> {
    let text = workspace::read("README.md")?;
    let blocks = markdown::split(&text).0.into_iter().filter(|block| block.language == "sh");
    let commands: String = blocks.map(|block| block.text).collect();
    ensure!(!commands.is_empty(), "README.md has no commands");
    // What is installed goes to a folder of its own, found first.
    let installed = workspace::target_dir()?.join("readme");
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
