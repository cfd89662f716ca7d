//! What a commit would change of the reference sources without the lock's leave.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::SourceName;
use super::lock::{LOCK_FILE, Lock, LockedSource};
use super::project::Externals;
use super::repository::Repository;
use super::{ExternalsError, SCHEMA_VERSION, SourceKind};
use crate::git::{Git, records};

/// The staged changes that the lock does not explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StagedReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The changes, by path; a commit is refused where there are any.
    pub edits: Vec<StagedEdit>,
}

/// A staged change of a reference source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedEdit {
    /// The file, from the project's root.
    pub path: String,
    /// The source it belongs to.
    pub source: Option<SourceName>,
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

/// A change of the index against the last commit.
struct Change {
    path: String,
    mode: String,
    id: String,
}

const LINK_MODE: &str = "160000";
const NO_MODE: &str = "000000";

impl Externals {
    /// Lists the staged changes below `third_party/github` and `third_party/hf` that the staged lock
    /// does not explain. Within a hook of git, the index of that commit counts (`GIT_INDEX_FILE`).
    ///
    /// # Errors
    /// When the project is in no repository, or the staged lock cannot be read.
    pub fn staged_edits(&self) -> Result<StagedReport, ExternalsError> {
        let mut edits = Vec::new();
        if let Some(repository) = &self.repository {
            let staged = Staged::of(self, repository);
            let lock = staged.lock()?;
            let mut pinned = BTreeMap::new();
            for change in staged.changes()? {
                let owner = lock.owner(&change.path);
                if let Some(source) = owner.filter(|source| holds_files(source)) {
                    let name = &source.pin.name;
                    if !pinned.contains_key(name) {
                        pinned.insert(name.clone(), staged.differing(source)?);
                    }
                }
                let differing = owner.and_then(|source| pinned.get(&source.pin.name));
                if let Some(reason) = refusal(&change, owner, differing) {
                    let source = owner.map(|source| source.pin.name.clone());
                    edits.push(StagedEdit { path: change.path, source, reason });
                }
            }
        }
        Ok(StagedReport { schema_version: SCHEMA_VERSION, edits })
    }
}

fn holds_files(source: &LockedSource) -> bool {
    matches!(source.pin.kind, SourceKind::Subtree | SourceKind::Hub)
}

/// The files of a source that are not as pinned.
enum Differing {
    /// These, within the source.
    Files(BTreeSet<String>),
    /// Some; the pinned tree is not at hand to tell which.
    Some,
}

/// Judges a change. Pure.
fn refusal(
    change: &Change,
    owner: Option<&LockedSource>,
    differing: Option<&Differing>,
) -> Option<StagedReason> {
    let Some(source) = owner else {
        // A source that left the lock takes its files with it.
        return (change.mode != NO_MODE).then_some(StagedReason::Unlisted);
    };
    let place = source.pin.place();
    let is_explained = match source.pin.kind {
        SourceKind::Sparse | SourceKind::Link => {
            return (change.mode != NO_MODE).then_some(StagedReason::NotTracked);
        }
        SourceKind::Submodule => {
            change.path == place && change.mode == LINK_MODE && change.id == source.pin.commit.as_str()
        }
        SourceKind::Subtree | SourceKind::Hub => match differing {
            Some(Differing::Files(files)) => {
                change.path.strip_prefix(&format!("{place}/")).is_some_and(|file| !files.contains(file))
            }
            Some(Differing::Some) | None => false,
        },
    };
    (!is_explained).then_some(StagedReason::Edited)
}

/// The index that would be committed.
struct Staged<'a> {
    root: &'a Path,
    repository: &'a Repository,
    index: Option<PathBuf>,
    git: Git,
}

impl<'a> Staged<'a> {
    fn of(project: &'a Externals, repository: &'a Repository) -> Self {
        // Git names it from the top of the repository, where it starts its hooks.
        let top = repository.top_folder(&project.root);
        let index = std::env::var_os("GIT_INDEX_FILE").map(|index| top.join(index));
        let git = repository.git(&project.root).with_index(index.clone());
        Self { root: &project.root, repository, index, git }
    }

    /// The lock that would be committed: that of the work tree may say something else.
    fn lock(&self) -> Result<Lock, ExternalsError> {
        let object = format!(":{}", self.repository.path(LOCK_FILE));
        match self.git.ask(&["cat-file", "blob", &object])? {
            Some(text) => Lock::parse(&text),
            None => Ok(Lock::default()),
        }
    }

    fn changes(&self) -> Result<Vec<Change>, ExternalsError> {
        let head = match self.git.ask(&["rev-parse", "--verify", "--quiet", "HEAD"])? {
            Some(head) => head,
            None => self.git.line(&["hash-object", "-t", "tree", "--stdin"])?,
        };
        let mut compare =
            vec!["diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", &head, "--"];
        let shelves = ["third_party/github", "third_party/hf"].map(|shelf| self.repository.path(shelf));
        compare.extend(shelves.iter().map(String::as_str));
        let answer = self.git.run(&compare)?;
        let mut records = records(&answer);
        let mut changes = Vec::new();
        while let (Some(head), Some(path)) = (records.next(), records.next()) {
            let words: Vec<&str> = head.split(' ').collect();
            let (&[old_mode, mode, _, id, ..], Some(path)) =
                (words.as_slice(), path.strip_prefix(&self.repository.prefix))
            else {
                continue;
            };
            // A README on the shelf is no source.
            let is_beside = path.matches('/').count() == 2
                && ![old_mode.trim_start_matches(':'), mode].contains(&LINK_MODE);
            if !is_beside {
                changes.push(Change { path: path.to_owned(), mode: mode.to_owned(), id: id.to_owned() });
            }
        }
        Ok(changes)
    }

    /// Compares what is staged of a source with the pinned tree.
    fn differing(&self, source: &LockedSource) -> Result<Differing, ExternalsError> {
        let path = self.repository.path(&source.pin.place());
        let Some(tree) = self.repository.index_tree(self.root, &path, self.index.as_deref())? else {
            return Ok(Differing::Some);
        };
        if tree == source.tree.as_str() {
            return Ok(Differing::Files(BTreeSet::new()));
        }
        let compare = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", source.tree.as_str(), &tree];
        Ok(match self.git.run(&compare) {
            Ok(answer) => Differing::Files(records(&answer).collect()),
            Err(_) => Differing::Some,
        })
    }
}
