//! What a plan is made of. A step is plain data, so that a plan can be printed, compared and tested.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::ObjectId;

/// One action. Paths start at the project's root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum SyncStep {
    /// Runs git in a folder.
    Git {
        /// The folder.
        folder: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The protocols it may use; none where it stays on this machine.
        #[serde(skip_serializing_if = "Option::is_none")]
        protocols: Option<Cow<'static, str>>,
    },
    /// Copies the objects of a tree from one repository into another.
    CopyTree {
        /// The repository that has them.
        from: String,
        /// The one that gets them.
        into: String,
        /// The tree.
        tree: ObjectId,
    },
    /// Makes sure that a commit has the tree that the lock says.
    CheckCommit {
        /// The repository.
        folder: String,
        /// The commit.
        commit: ObjectId,
        /// The tree it must have.
        tree: ObjectId,
    },
    /// Makes sure that a folder's files are the tree that the lock says.
    CheckFiles {
        /// The folder.
        folder: String,
        /// The tree it must be.
        tree: ObjectId,
        /// Where to note what was found, for telling edits later.
        note: String,
        /// The commit they are from.
        commit: ObjectId,
    },
    /// Makes a folder, and those above it.
    MakeFolder {
        /// The folder.
        path: String,
    },
    /// Makes an empty file that says that its neighbour is being changed.
    MarkUnfinished {
        /// The file.
        path: String,
    },
    /// Removes a file or a folder with all in it.
    Remove {
        /// What to remove.
        path: String,
    },
    /// Removes the objects that git keeps of a submodule that was not fetched to its end.
    RemoveStore {
        /// Its folder.
        path: PathBuf,
    },
    /// Copies a file.
    CopyFile {
        /// From the hub's cache.
        from: PathBuf,
        /// Into the project.
        to: String,
    },
    /// Puts a folder in the place of another.
    Replace {
        /// What was built.
        built: String,
        /// Its place.
        place: String,
    },
    /// Makes a symbolic link.
    Link {
        /// The link.
        place: String,
        /// What it leads to.
        to: PathBuf,
    },
    /// Takes the right to write from the files of a folder.
    MarkReadOnly {
        /// The folder.
        path: String,
    },
}

impl SyncStep {
    /// Git, on this machine only.
    pub(super) fn git(folder: &str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        SyncStep::Git { folder: folder.to_owned(), arguments, protocols: None }
    }

    /// Git, with a remote.
    pub(super) fn git_remote(folder: &str, protocols: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        SyncStep::Git { folder: folder.to_owned(), arguments, protocols: Some(protocols.into()) }
    }
}

impl fmt::Display for SyncStep {
    /// As `--dry-run` shows it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyncStep::Git { folder, arguments, .. } => {
                write!(out, "git -C {}", word(folder))?;
                arguments.iter().try_for_each(|argument| write!(out, " {}", word(argument)))
            }
            SyncStep::CopyTree { from, into, tree } => {
                write!(out, "copy tree {tree} from {} into {}", word(from), word(into))
            }
            SyncStep::CheckCommit { folder, commit, tree } => {
                write!(out, "check that {commit} in {} has tree {tree}", word(folder))
            }
            SyncStep::CheckFiles { folder, tree, .. } => {
                write!(out, "check that {} is tree {tree}", word(folder))
            }
            SyncStep::MakeFolder { path } => write!(out, "make folder {}", word(path)),
            SyncStep::MarkUnfinished { path } => write!(out, "mark as unfinished: {}", word(path)),
            SyncStep::Remove { path } => write!(out, "remove {}", word(path)),
            SyncStep::RemoveStore { path } => write!(out, "remove {}", word(&path.to_string_lossy())),
            SyncStep::CopyFile { from, to } => {
                write!(out, "copy {} to {}", word(&from.to_string_lossy()), word(to))
            }
            SyncStep::Replace { built, place } => {
                write!(out, "put {} in the place of {}", word(built), word(place))
            }
            SyncStep::Link { place, to } => {
                write!(out, "link {} to {}", word(place), word(&to.to_string_lossy()))
            }
            SyncStep::MarkReadOnly { path } => write!(out, "mark as read-only: {}", word(path)),
        }
    }
}

/// A word as a shell reads it.
pub(super) fn word(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-./:=@+%".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
