//! A folder in the making.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Record;
use crate::assets::error::{AssetError, AssetFault};

const MARK: &str = ".rooflens-partial-";

/// A name beside a path for what becomes it: hidden, and of this process alone.
pub(in crate::assets) fn staging_name(path: &Path) -> OsString {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!("{MARK}{}-{count}", std::process::id()));
    name
}

/// Whether a name is of something that was never finished, of a process that was killed.
pub(in crate::assets) fn is_leftover(name: &str) -> bool {
    name.starts_with('.') && name.contains(MARK)
}

/// A folder in the making, removed with all that is in it unless it is committed.
pub(in crate::assets) struct Staging {
    folder: PathBuf,
    is_committed: bool,
}

impl Staging {
    /// A new folder beside one that is not there yet.
    pub(in crate::assets) fn beside(path: &Path) -> Result<Self, AssetError> {
        let folder = path.with_file_name(staging_name(path));
        fs::create_dir(&folder).map_err(|error| AssetError::unwritable(path, error))?;
        Ok(Self { folder, is_committed: false })
    }

    pub(in crate::assets) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn commit(self, into: &Path, record: &Record) -> Result<(), AssetError> {
        let text = serde_json::to_string_pretty(record).map_err(io::Error::from);
        text.and_then(|text| fs::write(self.folder.join(Record::FILE), text + "\n"))
            .map_err(|error| AssetError::unwritable(into, error))?;
        self.become_folder(into)
    }

    /// Takes the place it was made for.
    pub(in crate::assets) fn become_folder(mut self, into: &Path) -> Result<(), AssetError> {
        // Making the folder fails where anything stands; renaming over it only works while it is
        // empty. So nothing that somebody else put there can be lost.
        fs::create_dir(into).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => AssetError::new(AssetFault::Changed { path: into.to_owned() }),
            _ => AssetError::unwritable(into, error),
        })?;
        fs::rename(&self.folder, into).map_err(|error| {
            // Only succeeds when it is still the empty folder made above.
            let _ = fs::remove_dir(into);
            AssetError::unwritable(into, error)
        })?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_committed {
            // Links in it are removed, not followed. What cannot be removed is a leftover, which
            // `status` shows.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
