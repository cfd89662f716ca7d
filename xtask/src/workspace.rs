//! Where the repository's files are, and how its commands are run.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

/// Every file of the repository, relative to its root, sorted: tracked or about to be.
pub(crate) fn files() -> Result<Vec<PathBuf>> {
    let list = output(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root()),
    )?;
    let mut files: Vec<PathBuf> =
        list.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect();
    // A file that was deleted but not yet committed is still listed.
    files.retain(|file| root().join(file).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

pub(crate) fn read(file: impl AsRef<Path>) -> Result<String> {
    let path = root().join(file);
    std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(folder))
}

/// The program, built from the tree as it is, in the profile `dev` or `release`.
pub(crate) fn program(profile: &str) -> Result<PathBuf> {
    run(&mut cargo(&["build", "--quiet", "--package", "rooflens", "--profile", profile]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target_dir()?.join(folder).join(format!("rooflens{}", std::env::consts::EXE_SUFFIX)))
}

/// What cargo knows of the workspace, without its dependencies' own dependencies.
pub(crate) fn metadata() -> Result<serde_json::Value> {
    let text = output(&mut cargo(&["metadata", "--format-version=1", "--no-deps", "--offline"]))?;
    Ok(serde_json::from_str(&text)?)
}

pub(crate) fn output(command: &mut Command) -> Result<String> {
    let done = command.output().with_context(|| format!("cannot run {}", shown(command)))?;
    if !done.status.success() {
        bail!("{} ended with {}\n{}", shown(command), done.status, String::from_utf8_lossy(&done.stderr));
    }
    String::from_utf8(done.stdout)
        .with_context(|| format!("{} printed bytes that are not text", shown(command)))
}

/// Runs a command to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {}", shown(command)))?;
    ensure!(status.success(), "{} ended with {status}", shown(command));
    Ok(())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
