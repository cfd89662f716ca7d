//! The project's folder, and which paths lie in it.

use std::path::{Component, Path, PathBuf};

use super::error::{AssetError, AssetFault};
use super::files::{FileKind, FileSystem};

/// A project's folder, its path without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The project in a folder.
    ///
    /// # Errors
    /// When the folder is not there.
    pub fn open(folder: &Path, files: &dyn FileSystem) -> Result<Self, AssetError> {
        let root = files.resolved(folder).map_err(|error| AssetError::unreadable(folder, error))?;
        match files.kind(&root) {
            Ok(FileKind::Folder) => Ok(Self { root }),
            Ok(_) => Err(AssetError::new(AssetFault::NoProject { path: folder.to_owned() })),
            Err(error) => Err(AssetError::unreadable(folder, error)),
        }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where something in the project would be written.
    ///
    /// What stands there itself may be a link; a folder above it may only be one that stays inside.
    ///
    /// # Errors
    /// When a folder above leads out of the project, is a file, or cannot be read.
    pub fn inside(&self, relative: &Path, files: &dyn FileSystem) -> Result<PathBuf, AssetError> {
        let path = self.root.join(relative);
        let mut parent = self.root.clone();
        for component in relative.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = component else {
                let (through, to) = (relative.to_owned(), path.clone());
                return Err(AssetError::new(AssetFault::OutsideProject { path, through, to }));
            };
            parent.push(name);
            match files.kind(&parent).map_err(|error| AssetError::unreadable(&parent, error))? {
                FileKind::Missing => break,
                FileKind::Folder => {}
                FileKind::Link => self.check_link(&path, &parent, files)?,
                FileKind::File { .. } | FileKind::Other => {
                    return Err(AssetError::new(AssetFault::ParentNotFolder { path, parent }));
                }
            }
        }
        Ok(path)
    }

    fn check_link(&self, path: &Path, parent: &Path, files: &dyn FileSystem) -> Result<(), AssetError> {
        // A broken or circular link cannot be followed, so what it says is all that is known.
        let to = match files.resolved(parent) {
            Ok(to) if to.starts_with(&self.root) => return Ok(()),
            Ok(to) => to,
            Err(_) => files.link_text(parent).unwrap_or_default(),
        };
        let (path, through) = (path.to_owned(), parent.to_owned());
        Err(AssetError::new(AssetFault::OutsideProject { path, through, to }))
    }
}

/// A path of plain names, as they may stand in a file: relative, with nothing that climbs.
pub(super) fn plain_path(text: &str) -> Result<PathBuf, &'static str> {
    if text.is_empty() {
        return Err("is empty");
    }
    if text.starts_with('/') {
        return Err("must be a relative path");
    }
    if text.contains('\\') {
        return Err("must have '/' between its parts");
    }
    if text.chars().any(char::is_control) {
        return Err("has a control character");
    }
    let text = text.strip_suffix('/').unwrap_or(text);
    for part in text.split('/') {
        match part {
            "" | "." => return Err("must be written without empty parts and '.'"),
            ".." => return Err("must not have '..'"),
            _ => {}
        }
    }
    Ok(PathBuf::from(text))
}

/// One plain name that is not hidden.
pub(super) fn plain_name(text: &str) -> Result<(), &'static str> {
    if text.contains('/') {
        return Err("must not have '/'");
    }
    if text.starts_with(['.', '-']) {
        return Err("must not begin with '.' or '-'");
    }
    plain_path(text).map(drop)
}
