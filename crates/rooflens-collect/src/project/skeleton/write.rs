//! Puts a new project on disk.

use std::fs::{self, FileType, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::{Existing, SkeletonFile, SkeletonOptions, files};
use crate::project::error::{ProjectError, Result};

/// How many names a message lists.
const NAMES_SHOWN: usize = 3;

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The project's folder.
    pub folder: PathBuf,
    /// Files that were made, sorted.
    pub made: Vec<&'static str>,
    /// Files that were there before and are as they were, sorted.
    pub kept: Vec<&'static str>,
}

/// Makes a project in a folder that is new or empty; with [`Existing::Complete`], in any.
///
/// No file is overwritten and no link followed out of the folder. When something fails, what was
/// made so far is removed again.
///
/// # Errors
/// If the folder is not empty, something is in the way, or the system refuses.
pub fn write(folder: &Path, options: &SkeletonOptions) -> Result<Written> {
    if options.existing == Existing::Refuse {
        check_empty(folder)?;
    }
    let mut written = Written { folder: folder.to_owned(), made: Vec::new(), kept: Vec::new() };
    let mut missing = Vec::new();
    for file in files(options) {
        if is_there(folder, file.path)? {
            written.kept.push(file.path);
        } else {
            missing.push(file);
        }
    }
    make(folder, &missing)?;
    written.made.extend(missing.iter().map(|file| file.path));
    Ok(written)
}

/// Makes all files or none.
fn make(folder: &Path, files: &[SkeletonFile]) -> Result<()> {
    let mut made = Made::default();
    for file in files {
        if let Err(error) = made.add(folder, file) {
            made.undo();
            return Err(error);
        }
    }
    Ok(())
}

fn check_empty(folder: &Path) -> Result<()> {
    let refused = |error| refused(folder, "read", &error);
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        // That it is no folder is found out, and told better, when it is used.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(()),
        Err(error) => return Err(refused(error)),
    };
    let names: io::Result<Vec<String>> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
    let mut found = names.map_err(refused)?;
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    let more = match found.len().saturating_sub(NAMES_SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    found.truncate(NAMES_SHOWN);
    let (folder, found) = (folder.display(), found.join(", "));
    Err(ProjectError::usage(format!("'{folder}' is not empty: it has {found}{more}"))
        .hint("name a new folder, or add --force to keep every file there and add those that are missing"))
}

fn refused(path: &Path, action: &str, error: &io::Error) -> ProjectError {
    ProjectError::usage(format!("'{}' cannot be {action}: {error}", path.display()))
}

/// Whether a file of the project is there already. All that must be folders on the way to it are
/// checked, so that nothing is written through a link to somewhere else.
fn is_there(folder: &Path, path: &str) -> Result<bool> {
    let mut place = folder.to_owned();
    // The project's own folder may be a link: it is what the user named.
    if !exists(&place, |place| fs::metadata(place).map(|it| it.file_type()), "a folder", FileType::is_dir)? {
        return Ok(false);
    }
    let plain = |place: &Path| fs::symlink_metadata(place).map(|it| it.file_type());
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    for name in folders.split('/').filter(|name| !name.is_empty()) {
        place.push(name);
        if !exists(&place, plain, "a folder", FileType::is_dir)? {
            return Ok(false);
        }
    }
    place.push(name);
    exists(&place, plain, "a file", |kind| !kind.is_dir())
}

/// Whether something stands at a place; an error where it is of the wrong kind.
fn exists(
    place: &Path,
    kind_of: impl Fn(&Path) -> io::Result<FileType>,
    expected: &'static str,
    fits: impl Fn(&FileType) -> bool,
) -> Result<bool> {
    let kind = match kind_of(place) {
        Ok(kind) => kind,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(refused(place, "read", &error)),
    };
    if fits(&kind) {
        return Ok(true);
    }
    let actual = match () {
        () if kind.is_symlink() => "a link",
        () if kind.is_dir() => "a folder",
        () => "a file",
    };
    let place = place.display();
    Err(ProjectError::usage(format!("'{place}' is in the way: expected {expected}, found {actual}"))
        .hint(format!("move '{place}' away")))
}

/// What was made so far, in order.
#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Made {
    fn add(&mut self, folder: &Path, file: &SkeletonFile) -> Result<()> {
        let place = folder.join(file.path);
        if let Some(parent) = place.parent() {
            self.make_folder(parent)?;
        }
        let refused = |error| refused(&place, "written", &error);
        // A file that came up since the check is not overwritten either, nor is a link followed.
        let mut open = OpenOptions::new().write(true).create_new(true).open(&place).map_err(refused)?;
        self.files.push(place.clone());
        open.write_all(file.contents.as_bytes()).map_err(refused)
    }

    fn make_folder(&mut self, folder: &Path) -> Result<()> {
        // Above a relative path, there is the working folder.
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent() {
            self.make_folder(parent)?;
        }
        fs::create_dir(folder).map_err(|error| refused(folder, "made", &error))?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// Removes it all. What cannot be removed stays: the error that led here is the one to tell.
    fn undo(self) {
        for file in self.files.iter().rev() {
            let _ = fs::remove_file(file);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_is_undone() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("mine"), "").unwrap();
        let file = |path| SkeletonFile { path, contents: "text" };
        let files = [file("a/b/c"), file("a/d"), file("mine/e"), file("f")];
        let error = make(&place.path().join("."), &files).unwrap_err();
        assert!(error.to_string().contains("cannot be made"), "{error}");
        let left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["mine"]);
    }

    #[test]
    fn a_file_that_came_up_meanwhile_is_not_overwritten() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("mine"), "mine").unwrap();
        let files = [SkeletonFile { path: "mine", contents: "text" }];
        assert!(make(place.path(), &files).is_err());
        assert_eq!(fs::read_to_string(place.path().join("mine")).unwrap(), "mine");
    }
}
