//! One process at a time may change `third_party`.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use super::ExternalsError;

/// Held while `third_party` is changed.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: Option<File>,
}

impl FolderLock {
    /// Makes the folder and takes it. The system lets go of it with the process, however that ends.
    pub fn take(folder: &Path) -> Result<Self, ExternalsError> {
        fs::create_dir_all(folder).map_err(ExternalsError::io(folder))?;
        let Ok(file) = File::open(folder) else {
            // Some systems do not open folders: there, the user minds it.
            return Ok(Self { folder: None });
        };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Err(ExternalsError::Busy { folder: folder.to_owned() }),
            // A file system that knows no locks is no reason to refuse.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self { folder: Some(file) }),
        }
    }
}

impl Drop for FolderLock {
    /// Closing alone is not enough: a process that another thread starts at this moment has a copy of
    /// the file until it becomes another program.
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // Where that fails, closing it is what is left.
            let _ = folder.unlock();
        }
    }
}
