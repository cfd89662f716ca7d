//! A pre-commit hook that keeps edits of reference sources out of commits.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lock::write_whole;
use super::project::Externals;
use super::repository::Repository;
use super::settings::LABEL;
use super::step::word;
use super::{ExternalsError, SCHEMA_VERSION, SourceKind};
use crate::git::Git;
use crate::marked_block::{Position, with_block};

/// What the hook runs in the project's root, unless told otherwise. The root is said, since a folder
/// around it may look like a project too.
const COMMAND: &[&str] = &["rooflens", "externals", "status", "--staged", "--project", "."];
/// Shells that read our line as it is meant.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh"];

/// What was done with the hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GuardReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The hook.
    pub hook: PathBuf,
    /// What was done.
    pub action: HookAction,
}

/// What was done with a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    /// There was none.
    Installed,
    /// Our lines were added to the user's hook.
    Extended,
    /// Our lines were there, but others.
    Updated,
    /// Our lines were there.
    Unchanged,
}

impl Externals {
    /// Installs or updates the pre-commit hook. A hook of the user's is extended, never replaced.
    ///
    /// # Errors
    /// When the project is in no repository, or the hook there cannot be extended.
    pub fn guard(&self) -> Result<GuardReport, ExternalsError> {
        self.guard_with(COMMAND)
    }

    /// The same, with another command, which must fail where a commit is to be refused.
    ///
    /// # Errors
    /// As [`Externals::guard`].
    pub fn guard_with(&self, command: &[&str]) -> Result<GuardReport, ExternalsError> {
        let repository = self.repository_for(SourceKind::Submodule)?;
        let line = line(repository, command);
        let folder = self.hooks_folder(repository, &line)?;
        fs::create_dir_all(&folder).map_err(ExternalsError::io(&folder))?;
        let hook = folder.join("pre-commit");
        let old = read(&hook, &line)?;
        let label = match repository.prefix.as_str() {
            "" => LABEL.to_owned(),
            prefix => format!("{LABEL} of {prefix}"),
        };
        let why = "# Refuses commits that change reference sources. Written by `rooflens externals guard`.";
        let lines = [why.to_owned(), line];
        // First of all: many a hook ends with `exec`, after which nothing runs.
        let new = with_block(old.as_deref().unwrap_or("#!/bin/sh\n"), &label, &lines, Position::Top);
        let action = match &old {
            None => HookAction::Installed,
            Some(old) if *old == new => HookAction::Unchanged,
            Some(old) if old.contains(&format!(">>> {label} >>>")) => HookAction::Updated,
            Some(_) => HookAction::Extended,
        };
        if action != HookAction::Unchanged {
            let permissions = fs::metadata(&hook).ok().map(|metadata| metadata.permissions());
            write_whole(&hook, &new)?;
            set_executable(&hook, permissions)?;
        }
        Ok(GuardReport { schema_version: SCHEMA_VERSION, hook, action })
    }

    /// The folder of this repository's hooks. One outside of it holds for other repositories too,
    /// which are none of our business.
    fn hooks_folder(&self, repository: &Repository, line: &str) -> Result<PathBuf, ExternalsError> {
        let top = repository.top_folder(&self.root);
        let git = Git::at(&top).with_user_hooks();
        let path = |name: &[&str]| -> Result<PathBuf, ExternalsError> {
            let mut question = vec!["rev-parse", "--path-format=absolute"];
            question.extend(name);
            Ok(PathBuf::from(git.line(&question)?))
        };
        let hooks = path(&["--git-path", "hooks"])?;
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let common = real(&path(&["--git-common-dir"])?);
        let found = real(&hooks);
        if found.starts_with(common) || found.starts_with(real(&top)) {
            return Ok(hooks);
        }
        let problem = "core.hooksPath leads out of the repository";
        Err(ExternalsError::ForeignHook { hook: hooks, problem, line: line.to_owned() })
    }
}

/// The line of the hook. Git starts hooks at the top of the repository.
fn line(repository: &Repository, command: &[&str]) -> String {
    let command = command.iter().map(|part| word(part)).collect::<Vec<_>>().join(" ");
    match repository.prefix.as_str() {
        "" => format!("{command} || exit 1"),
        prefix => format!("(cd {} && {command}) || exit 1", word(&format!("./{prefix}"))),
    }
}

/// The hook that is there, if our line can be put in it.
fn read(hook: &Path, line: &str) -> Result<Option<String>, ExternalsError> {
    let foreign =
        |problem| ExternalsError::ForeignHook { hook: hook.to_owned(), problem, line: line.to_owned() };
    let metadata = match fs::symlink_metadata(hook) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(ExternalsError::io(hook))?,
    };
    if !metadata.is_file() {
        return Err(foreign("it is a symbolic link or not a file"));
    }
    if !is_executable(&metadata) {
        // Ours would have to make it executable, and so switch on what the user switched off.
        return Err(foreign("it is not executable, so git does not run it"));
    }
    let bytes = fs::read(hook).map_err(ExternalsError::io(hook))?;
    let text = String::from_utf8(bytes).map_err(|_| foreign("it is not text"))?;
    if is_shell(&text) { Ok(Some(text)) } else { Err(foreign("it is not a shell script")) }
}

fn is_shell(text: &str) -> bool {
    let Some(interpreter) = text.lines().next().and_then(|line| line.strip_prefix("#!")) else {
        return false;
    };
    let mut words = interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    match words.next() {
        Some("env") => words.find(|word| !word.starts_with('-')).is_some_and(|shell| SHELLS.contains(&shell)),
        Some(shell) => SHELLS.contains(&shell),
        None => false,
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(unix)]
fn set_executable(hook: &Path, old: Option<fs::Permissions>) -> Result<(), ExternalsError> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = old.unwrap_or_else(|| fs::Permissions::from_mode(0o755));
    fs::set_permissions(hook, permissions).map_err(ExternalsError::io(hook))
}

#[cfg(not(unix))]
fn set_executable(_: &Path, _: Option<fs::Permissions>) -> Result<(), ExternalsError> {
    Ok(())
}
