//! What keeps edits of sources out of commits: a pre-commit hook, the check that it runs, and lines of `.gitignore`
//! and `.gitattributes` below `third_party`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::write_whole;
use super::kinds::differences;
use super::lock::{LOCK_FILE, Lock, LockedSource, SourceKind};
use super::{Externals, Repository};
use crate::plan::quoted;
use crate::project::error::{ProjectError, Result};
use crate::project::git::{Git, literal, records};
use crate::project::marked_block::{Position, with_block};

const LABEL: &str = "rooflens externals";
/// What the hook runs in the project's root. The root is explicit, since a folder around it may look like a project,
/// too.
const COMMAND: &[&str] = &["rooflens", "externals", "status", "--staged", "--project", "."];
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "zsh", "ksh"];
/// Modes of the index: a submodule, and nothing.
const SUBMODULE_MODE: &str = "160000";
const NO_MODE: &str = "000000";

/// What was done with the hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GuardReport {
    /// The hook's file.
    pub hook: PathBuf,
    /// What was done with it.
    pub action: HookAction,
}

/// What was done with a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAction {
    /// It was created.
    Installed,
    /// Our lines were added to the user's hook.
    Extended,
    /// Our lines were replaced.
    Updated,
    /// Our lines were there.
    Unchanged,
}

/// A staged change of a reference source that the staged lock does not explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedEdit {
    /// The file, from the project's root.
    pub path: String,
    /// The source it belongs to.
    pub(crate) source: Option<String>,
    /// What is wrong with it.
    pub reason: StagedReason,
}

/// Why a staged change is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StagedReason {
    /// It is not the content that the lock pins.
    Edited,
    /// The lock that would be committed has no source there.
    Unlisted,
    /// The source is a separate clone or a link, which is not tracked.
    NotTracked,
}

impl Externals {
    pub(super) fn write_settings(&self, lock: &Lock, dry_run: bool) -> Result<Vec<String>> {
        let named = |kind| {
            lock.sources
                .values()
                .filter(move |source| source.kind == kind)
                .map(|source| literal(&source.name))
        };
        let mut ignored = vec![
            "# Clones and links of their own, which the lock brings back, and what is being built."
                .to_owned(),
            "/.*.partial*".to_owned(),
            "/*/.*.partial*".to_owned(),
        ];
        ignored.extend(named(SourceKind::Sparse).map(|name| format!("/github/{name}/")));
        // A pattern that ends in a slash matches no link.
        ignored.extend(named(SourceKind::Link).map(|name| format!("/github/{name}")));
        // A changed line end would be an edit.
        let attributes = match named(SourceKind::Hub).next() {
            Some(_) => {
                vec!["# Copies stay as they are, byte for byte.".to_owned(), "/hf/** -text".to_owned()]
            }
            None => Vec::new(),
        };
        let mut written = Vec::new();
        for (name, lines) in [("third_party/.gitignore", ignored), ("third_party/.gitattributes", attributes)]
        {
            let path = self.path(name);
            let old = match fs::read_to_string(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                read => read.map_err(ProjectError::io(&path))?,
            };
            let new = with_block(&old, LABEL, &lines, Position::End);
            if new != old {
                if !dry_run {
                    write_whole(&path, &new)?;
                }
                written.push(name.to_owned());
            }
        }
        Ok(written)
    }

    /// Lists the staged changes below `third_party/github` and `third_party/hf` that the staged lock does not explain,
    /// by path. Within a hook of git, the index of that commit counts (`GIT_INDEX_FILE`).
    pub fn staged_edits(&self) -> Result<Vec<StagedEdit>> {
        let Some(repository) = &self.repository else { return Ok(Vec::new()) };
        // Git names the index from the top of the repository, where it starts its hooks.
        let index = std::env::var_os("GIT_INDEX_FILE").map(|index| repository.folder.join(index));
        let git = repository.git().with_index(index.clone());
        // The lock that would be committed: the work tree may have another.
        let lock = match git.ask(&["cat-file", "blob", &format!(":{}", repository.path(LOCK_FILE))])? {
            Some(text) => Lock::parse(&text)?,
            None => Lock::default(),
        };
        let mut differing = BTreeMap::new();
        let mut edits = Vec::new();
        for change in staged_changes(&git, repository)? {
            let owner = lock.owner(&change.path);
            if let Some(source) = owner.filter(|it| matches!(it.kind, SourceKind::Subtree | SourceKind::Hub))
                && !differing.contains_key(&source.name)
            {
                let path = repository.path(&source.place());
                let tree = repository.index_tree(&path, index.as_deref())?;
                let files = tree.and_then(|tree| differences(&git, &source.tree, &tree));
                let files = files.map(|files| files.into_iter().collect::<BTreeSet<_>>());
                differing.insert(source.name.clone(), files);
            }
            let files = owner.and_then(|source| differing.get(&source.name)?.as_ref());
            if let Some(reason) = refusal(&change, owner, files) {
                let source = owner.map(|source| source.name.clone());
                edits.push(StagedEdit { path: change.path, source, reason });
            }
        }
        Ok(edits)
    }

    /// Installs or updates the pre-commit hook. A hook of the user's is extended, never replaced.
    pub fn guard(&self) -> Result<GuardReport> {
        let repository = self.repository_for(SourceKind::Submodule)?;
        let command = COMMAND.join(" ");
        // Git starts hooks at the top of the repository.
        let line = match repository.prefix.as_str() {
            "" => format!("{command} || exit 1"),
            prefix => format!("(cd {} && {command}) || exit 1", quoted(&format!("./{prefix}"))),
        };
        let folder = self.hooks_folder(repository, &line)?;
        fs::create_dir_all(&folder).map_err(ProjectError::io(&folder))?;
        let hook = folder.join("pre-commit");
        let old = read_hook(&hook, &line)?;
        let label = match repository.prefix.as_str() {
            "" => LABEL.to_owned(),
            prefix => format!("{LABEL} of {prefix}"),
        };
        let why = "# Refuses commits that change reference sources. Written by `rooflens externals guard`.";
        let lines = [why.to_owned(), line];
        // First of all: many hooks end with `exec`, after which nothing runs.
        let new = with_block(old.as_deref().unwrap_or("#!/bin/sh\n"), &label, &lines, Position::Top);
        let action = match &old {
            None => HookAction::Installed,
            Some(old) if *old == new => HookAction::Unchanged,
            Some(old) if old.contains(&format!(">>> {label} >>>")) => HookAction::Updated,
            Some(_) => HookAction::Extended,
        };
        if action != HookAction::Unchanged {
            use std::os::unix::fs::PermissionsExt as _;
            let permissions = fs::metadata(&hook).ok().map(|metadata| metadata.permissions());
            let permissions = permissions.unwrap_or_else(|| fs::Permissions::from_mode(0o755));
            write_whole(&hook, &new)?;
            fs::set_permissions(&hook, permissions).map_err(ProjectError::io(&hook))?;
        }
        Ok(GuardReport { hook, action })
    }

    /// The folder of this repository's hooks. A folder outside of it applies to other repositories, too.
    fn hooks_folder(&self, repository: &Repository, line: &str) -> Result<PathBuf> {
        let top = &repository.folder;
        let git = repository.git().with_user_hooks();
        let path = |name: &[&str]| -> Result<PathBuf> {
            let question = [&["rev-parse", "--path-format=absolute"], name].concat();
            Ok(PathBuf::from(git.line(&question)?))
        };
        let hooks = path(&["--git-path", "hooks"])?;
        let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let common = real(&path(&["--git-common-dir"])?);
        let found = real(&hooks);
        match found.starts_with(common) || found.starts_with(real(top)) {
            true => Ok(hooks),
            false => Err(foreign_hook(&hooks, "core.hooksPath leads out of the repository", line)),
        }
    }
}

fn foreign_hook(hook: &Path, problem: &str, line: &str) -> ProjectError {
    ProjectError::usage(format!("{} cannot be extended: {problem}", hook.display()))
        .hint(format!("call this from it: {line}"))
}

fn read_hook(hook: &Path, line: &str) -> Result<Option<String>> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = match fs::symlink_metadata(hook) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        found => found.map_err(ProjectError::io(hook))?,
    };
    if !metadata.is_file() {
        return Err(foreign_hook(hook, "it is a symbolic link or not a file", line));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        // To run ours, we would have to switch on what the user switched off.
        return Err(foreign_hook(hook, "it is not executable, so git does not run it", line));
    }
    let text = String::from_utf8(fs::read(hook).map_err(ProjectError::io(hook))?).unwrap_or_default();
    let interpreter = text.lines().next().and_then(|line| line.strip_prefix("#!")).unwrap_or_default();
    let mut words = interpreter.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let shell = match words.next() {
        Some("env") => words.find(|word| !word.starts_with('-')),
        first => first,
    };
    match shell.is_some_and(|shell| SHELLS.contains(&shell)) {
        true => Ok(Some(text)),
        false => Err(foreign_hook(hook, "it is not a shell script", line)),
    }
}

struct Change {
    path: String,
    mode: String,
    id: String,
}

fn staged_changes(git: &Git, repository: &Repository) -> Result<Vec<Change>> {
    let head = match git.commit("HEAD")? {
        Some(head) => head,
        None => git.line(&["hash-object", "-t", "tree", "--stdin"])?,
    };
    let shelves = ["third_party/github", "third_party/hf"].map(|shelf| repository.path(shelf));
    let options = ["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev"];
    let answer = git.run(&[&options[..], &[&head, "--", &shelves[0], &shelves[1]]].concat())?;
    let mut records = records(&answer);
    let mut changes = Vec::new();
    while let (Some(head), Some(path)) = (records.next(), records.next()) {
        let words: Vec<&str> = head.split(' ').collect();
        let (&[old_mode, mode, _, id, ..], Some(path)) =
            (words.as_slice(), path.strip_prefix(&repository.prefix))
        else {
            continue;
        };
        // A file on the shelf itself, such as a README, belongs to no source.
        let is_beside = path.matches('/').count() == 2
            && ![old_mode.trim_start_matches(':'), mode].contains(&SUBMODULE_MODE);
        if !is_beside {
            changes.push(Change { path: path.to_owned(), mode: mode.to_owned(), id: id.to_owned() });
        }
    }
    Ok(changes)
}

/// Judges a change. `differing` are the source's files that are not as pinned, if git can list them.
fn refusal(
    change: &Change,
    owner: Option<&LockedSource>,
    differing: Option<&BTreeSet<String>>,
) -> Option<StagedReason> {
    let is_added = change.mode != NO_MODE;
    // A source that left the lock takes its files with it.
    let Some(source) = owner else { return is_added.then_some(StagedReason::Unlisted) };
    let place = source.place();
    let is_explained = match source.kind {
        SourceKind::Sparse | SourceKind::Link => return is_added.then_some(StagedReason::NotTracked),
        SourceKind::Submodule => {
            change.path == place && change.mode == SUBMODULE_MODE && change.id == source.commit
        }
        SourceKind::Subtree | SourceKind::Hub => {
            let file = change.path.strip_prefix(&format!("{place}/"));
            differing.is_some_and(|files| file.is_some_and(|file| !files.contains(file)))
        }
    };
    (!is_explained).then_some(StagedReason::Edited)
}
