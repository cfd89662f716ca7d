//! The lock: which sources there are, and which content each has.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::{InnerPath, ObjectId, Revision, SourceName};
use super::url::SourceUrl;
use super::{ExternalsError, SourceKind, lock_yaml};

/// Where the lock stands in a project.
pub(super) const LOCK_FILE: &str = "third_party/externals.lock";
/// A lock is a few lines a source; more than this is something else.
const MAX_LOCK_BYTES: u64 = 4 << 20;

/// What is asked for: a source at a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pin {
    /// Its name, and that of its folder.
    pub name: SourceName,
    /// How it is kept.
    pub kind: SourceKind,
    /// Where it comes from.
    pub url: SourceUrl,
    /// What was asked for: a branch, a tag or a commit. Only `add` and `update` look at it.
    pub revision: Revision,
    /// What that was when the source was pinned. Only this is ever fetched.
    pub commit: ObjectId,
    /// The paths to take; all of it where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<InnerPath>,
}

/// An entry of the lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LockedSource {
    /// Source and commit.
    #[serde(flatten)]
    pub pin: Pin,
    /// The git tree of the content: of the whole commit, or of the files copied from the hub.
    pub tree: ObjectId,
    /// Its licence files.
    pub licences: Vec<String>,
    /// The commit it was pinned at before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<ObjectId>,
}

impl Pin {
    /// Its folder, from the project's root.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}/{}", self.kind.shelf(), self.name)
    }

    /// A hidden neighbour of its folder, which holds what is known of it or is being made.
    pub(super) fn beside(&self, suffix: &str) -> String {
        format!("{}/.{}.{suffix}", self.kind.shelf(), self.name)
    }

    /// Where it is built before it takes its place. Whatever stands there is rubbish.
    pub(super) fn staging(&self) -> String {
        self.beside("partial")
    }

    /// Stands while its place is being changed, so that an interruption is noticed.
    pub(super) fn unfinished(&self) -> String {
        self.beside("unfinished")
    }

    /// What was last copied to its place.
    pub(super) fn copied(&self) -> String {
        self.beside("copied")
    }
}

/// All reference sources, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Lock {
    /// The entries.
    pub sources: BTreeMap<SourceName, LockedSource>,
}

impl Lock {
    /// Reads a project's lock; a project without one has no sources.
    ///
    /// # Errors
    /// When the file cannot be read, or an entry is not one.
    pub fn read(root: &Path) -> Result<Self, ExternalsError> {
        let path = root.join(LOCK_FILE);
        let size = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ExternalsError::io(&path)(error)),
        };
        if size > MAX_LOCK_BYTES {
            let problem = format!("a lock has at most {MAX_LOCK_BYTES} bytes, this has {size}");
            return Err(ExternalsError::LockShape { file: LOCK_FILE.to_owned(), line: 1, problem });
        }
        Self::parse(&fs::read_to_string(&path).map_err(ExternalsError::io(&path))?)
    }

    /// Reads the text of a lock.
    ///
    /// # Errors
    /// When it is not YAML, has an unknown key, or an entry that is not safe.
    pub fn parse(text: &str) -> Result<Self, ExternalsError> {
        lock_yaml::parse(text)
    }

    /// The text: sorted by name, keys in one order, so that a change is a small diff.
    #[must_use]
    pub fn to_text(&self) -> String {
        lock_yaml::to_text(self)
    }

    /// Writes it in one go: a reader sees the old or the new one.
    pub(super) fn write(&self, root: &Path) -> Result<(), ExternalsError> {
        write_whole(&root.join(LOCK_FILE), &self.to_text())
    }

    /// The source whose folder holds a path of the project.
    pub(super) fn owner(&self, path: &str) -> Option<&LockedSource> {
        self.sources.values().find(|source| {
            path.strip_prefix(&source.pin.place())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// Writes a file beside its place and renames it, so that it is never half there and a link in its
/// place is replaced, not followed. Its first name is always the same, one that git ignores: what an
/// interrupted process left is found and removed by the next.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<(), ExternalsError> {
    let failed = |source| ExternalsError::Io { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first_name = format!(".{name}.partial-new");
    match fs::remove_file(folder.join(&first_name)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut named = tempfile::Builder::new();
    named.prefix(&first_name).rand_bytes(0);
    let mut file = named.permissions_of_a_text().tempfile_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

trait TextPermissions {
    fn permissions_of_a_text(&mut self) -> &mut Self;
}

impl TextPermissions for tempfile::Builder<'_, '_> {
    /// Temporary files are private; these are to be read by all, as far as the umask lets them.
    fn permissions_of_a_text(&mut self) -> &mut Self {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            self.permissions(fs::Permissions::from_mode(0o666));
        }
        self
    }
}
