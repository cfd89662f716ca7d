//! A read-only view of the file system: all that planning may do.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A file.
    File {
        /// Its size.
        bytes: u64,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A socket, a pipe, a device.
    Other,
}

/// What planning may ask of the file system. A trait, so that a test can show a disk that fails.
pub trait FileSystem {
    /// What stands at a path; a link is a link.
    ///
    /// # Errors
    /// When the folder around it cannot be searched.
    fn kind(&self, path: &Path) -> io::Result<FileKind>;

    /// What a path leads to, through links; [`FileKind::Missing`] at the end of a broken one.
    ///
    /// # Errors
    /// When something on the way cannot be searched, or links lead in a circle.
    fn kind_behind(&self, path: &Path) -> io::Result<FileKind>;

    /// What a link says.
    ///
    /// # Errors
    /// When it is not a link.
    fn link_text(&self, path: &Path) -> io::Result<PathBuf>;

    /// The path without links.
    ///
    /// # Errors
    /// When it does not exist.
    fn resolved(&self, path: &Path) -> io::Result<PathBuf>;

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// When it cannot be read.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// The first bytes of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    fn head(&self, path: &Path, most: u64) -> io::Result<Vec<u8>>;
}

/// The real file system.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl FileSystem for Disk {
    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        kind_of(fs::symlink_metadata(path))
    }

    fn kind_behind(&self, path: &Path) -> io::Result<FileKind> {
        kind_of(fs::metadata(path))
    }

    fn link_text(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(path)
    }

    fn resolved(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.push(entry?.file_name());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn head(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn kind_of(metadata: io::Result<fs::Metadata>) -> io::Result<FileKind> {
    let metadata = match metadata {
        Ok(metadata) => metadata,
        // A parent that is a file has nothing below it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(FileKind::Missing);
        }
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_symlink() {
        FileKind::Link
    } else if kind.is_dir() {
        FileKind::Folder
    } else if kind.is_file() {
        FileKind::File { bytes: metadata.len() }
    } else {
        FileKind::Other
    })
}
