//! Finding a snapshot in a hub cache.

use std::path::{Path, PathBuf};

use super::files::{FileKind, FileSystem};
use crate::hub_cache;

/// Whether a folder is a repository in a cache, rather than one of its snapshots.
pub(super) fn is_repository(folder: &Path, files: &dyn FileSystem) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or("");
    (name.starts_with("models--") || name.starts_with("datasets--"))
        && matches!(files.kind_behind(&hub_cache::snapshots(folder)), Ok(FileKind::Folder))
}

/// The folder of a snapshot and its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) folder: PathBuf,
    pub(super) commit: String,
}

/// Why there is no snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoSnapshot {
    /// The revision is neither a known branch or tag nor a downloaded commit.
    Revision {
        /// The branches, tags and commits that exist.
        known: Vec<String>,
    },
    /// The branch is known, but the commit it was at is not there.
    Commit(String),
    /// `refs/<revision>` is not a commit.
    MalformedReference(PathBuf),
}

/// The snapshot of a revision.
pub(super) fn find(
    repository: &Path,
    revision: &str,
    files: &dyn FileSystem,
) -> Result<Snapshot, NoSnapshot> {
    let snapshots = hub_cache::snapshots(repository);
    let folder_of = |commit: &str| {
        let folder = snapshots.join(commit);
        matches!(files.kind_behind(&folder), Ok(FileKind::Folder)).then_some(folder)
    };
    let reference = hub_cache::reference(repository, revision);
    if matches!(files.kind_behind(&reference), Ok(FileKind::File { .. })) {
        let text = files.head(&reference, MAX_REFERENCE_BYTES).unwrap_or_default();
        let commit = String::from_utf8_lossy(&text).trim().to_owned();
        // What stands in the file becomes part of a path, so it must be what it should be.
        if !is_commit(&commit) {
            return Err(NoSnapshot::MalformedReference(reference));
        }
        return match folder_of(&commit) {
            Some(folder) => Ok(Snapshot { folder, commit }),
            None => Err(NoSnapshot::Commit(commit)),
        };
    }
    if is_commit(revision) {
        let commit = revision.to_ascii_lowercase();
        return match folder_of(&commit) {
            Some(folder) => Ok(Snapshot { folder, commit }),
            None => Err(NoSnapshot::Commit(commit)),
        };
    }
    let names = |folder: PathBuf| files.names(&folder).unwrap_or_default();
    let known = names(repository.join("refs")).into_iter().chain(names(snapshots));
    Err(NoSnapshot::Revision { known: known.map(|name| name.to_string_lossy().into_owned()).collect() })
}

/// A reference is one commit; more is something else.
const MAX_REFERENCE_BYTES: u64 = 128;

pub(super) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
