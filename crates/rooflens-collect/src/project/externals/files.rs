//! Changes of files below `third_party`: whole or not at all, never through a link, by one process at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::project::error::{ProjectError, Result};

/// Held while `third_party` is changed. The system releases it when the process ends.
#[derive(Debug)]
pub(super) struct FolderLock(Option<File>);

impl FolderLock {
    pub(super) fn take(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(ProjectError::io(folder))?;
        // Some systems cannot open folders, and some file systems have no locks: the user has to take care there.
        let Ok(file) = File::open(folder) else { return Ok(Self(None)) };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let message = format!("another rooflens is changing {}", folder.display());
                Err(ProjectError::environment(message).hint("wait for it to finish"))
            }
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Self(Some(file))),
        }
    }
}

impl Drop for FolderLock {
    /// Closing is not enough: a process that another thread starts at this moment shares the open file until it becomes
    /// another program.
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = folder.unlock();
        }
    }
}

/// Writes a temporary file and renames it: the file is never half written, and a link in its place is replaced, not
/// followed. The first name is always the same: the next process removes what an interrupted one left.
pub(super) fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = folder.join(format!(".{name}.partial-new"));
    remove(&first)?;
    let mut file = File::create_new(&first).map_err(ProjectError::io(&first))?;
    file.write_all(text.as_bytes()).map_err(ProjectError::io(&first))?;
    fs::rename(&first, path).map_err(ProjectError::io(path))
}

/// Removes a file or folder; a link is removed, not followed.
pub(super) fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ProjectError::io(path)(error)),
        _ => Ok(()),
    }
}

/// Copies the content alone: no link, no permissions.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(ProjectError::io(folder))?;
    }
    let mut source = File::open(from).map_err(ProjectError::io(from))?;
    let mut target = File::create_new(to).map_err(ProjectError::io(to))?;
    io::copy(&mut source, &mut target).map_err(ProjectError::io(to)).map(drop)
}

/// Puts a built folder in its place. The old one is away only between two renames.
pub(super) fn replace(built: &Path, place: &Path) -> Result<()> {
    let old = built.with_extension("partial-old");
    remove(&old)?;
    let has_old = fs::symlink_metadata(place).is_ok();
    if has_old {
        fs::rename(place, &old).map_err(ProjectError::io(place))?;
    }
    if let Err(error) = fs::rename(built, place) {
        if has_old {
            fs::rename(&old, place).map_err(ProjectError::io(place))?;
        }
        return Err(ProjectError::io(place)(error));
    }
    remove(&old)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// A folder; whether it has entries.
    Folder(bool),
    Other(&'static str),
}

pub(super) fn look(path: &Path) -> Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(ProjectError::io(path)(error)),
    };
    if metadata.is_symlink() {
        return Ok(Found::Other("a symbolic link"));
    }
    if !metadata.is_dir() {
        return Ok(Found::Other("a file"));
    }
    let mut entries = fs::read_dir(path).map_err(ProjectError::io(path))?;
    Ok(Found::Folder(entries.next().is_some()))
}

/// Everything below a folder except folders and git's own files, sorted: its path from the folder, and whether it is a
/// plain file. Links are not followed.
pub(super) fn entries(folder: &Path) -> Result<Vec<(String, PathBuf, bool)>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(ProjectError::io(&folder))? {
            let entry = entry.map_err(ProjectError::io(&folder))?;
            let (path, name) = (entry.path(), format!("{prefix}{}", entry.file_name().to_string_lossy()));
            let kind = entry.file_type().map_err(ProjectError::io(&path))?;
            if entry.file_name() == ".git" {
                continue;
            }
            if kind.is_dir() {
                open.push((path, format!("{name}/")));
            } else {
                found.push((name, path, kind.is_file()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Removes the write permission of every plain file below a folder. Folders keep theirs, so that git and `rm` work: it
/// is a reminder, not a protection.
pub(super) fn mark_read_only(folder: &Path) -> Result<()> {
    for (_, path, _) in entries(folder)?.into_iter().filter(|(_, _, is_plain)| *is_plain) {
        let mut permissions = fs::metadata(&path).map_err(ProjectError::io(&path))?.permissions();
        permissions.set_readonly(true);
        fs::set_permissions(&path, permissions).map_err(ProjectError::io(&path))?;
    }
    Ok(())
}

/// Whether no plain file below a folder can be written by accident.
pub(super) fn is_read_only(folder: &Path) -> Result<bool> {
    let mut plain = entries(folder)?.into_iter().filter(|(_, _, is_plain)| *is_plain);
    Ok(plain.all(|(_, path, _)| fs::metadata(path).is_ok_and(|file| file.permissions().readonly())))
}
