//! The project's folder, what is at a path, and the files of an asset.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::project::error::{ProjectError, Result};
use crate::project::git::{Git, literal};

/// The most files that are listed; a larger dataset is counted as "at least".
pub(super) const MAX_FILES: usize = 2_000_000;
/// The largest file that is read as text. Larger ones are mistakes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// A project's folder, its path without links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The project in a folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let root = fs::canonicalize(folder).map_err(|error| ProjectError::unreadable(folder, error))?;
        match root.is_dir() {
            true => Ok(Self { root }),
            false => {
                Err(ProjectError::environment(format!("the project '{}' is not a folder", folder.display())))
            }
        }
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute path of something in the project. It can be a link; a folder above it can only be a link that stays
    /// inside.
    pub(super) fn inside(&self, relative: &Path) -> Result<PathBuf> {
        let path = self.root.join(relative);
        let outside = |through: &Path, to: &Path| {
            let (path, through, to) = (path.display(), through.display(), to.display());
            let message =
                format!("'{path}' would be written outside the project: '{through}' leads to '{to}'");
            ProjectError::environment(message)
                .hint(format!("make '{through}' a real folder; only its entries may be links"))
        };
        let mut parent = self.root.clone();
        for component in relative.parent().into_iter().flat_map(Path::components) {
            let Component::Normal(name) = component else { return Err(outside(relative, &path)) };
            parent.push(name);
            match kind(&parent).map_err(|error| ProjectError::unreadable(&parent, error))? {
                Kind::Missing => break,
                Kind::Folder => {}
                Kind::Link => match fs::canonicalize(&parent) {
                    Ok(to) if to.starts_with(&self.root) => {}
                    Ok(to) => return Err(outside(&parent, &to)),
                    Err(_) => return Err(outside(&parent, &fs::read_link(&parent).unwrap_or_default())),
                },
                Kind::File(_) | Kind::Other => {
                    let (path, parent) = (path.display(), parent.display());
                    let message = format!("'{path}' cannot be created: '{parent}' is not a folder");
                    return Err(ProjectError::environment(message));
                }
            }
        }
        Ok(path)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Missing,
    /// A file of so many bytes.
    File(u64),
    Folder,
    Link,
    Other,
}

/// What is at a path; a link is a link.
pub(super) fn kind(path: &Path) -> io::Result<Kind> {
    kind_of(fs::symlink_metadata(path))
}

pub(super) fn kind_behind(path: &Path) -> io::Result<Kind> {
    kind_of(fs::metadata(path))
}

fn kind_of(metadata: io::Result<fs::Metadata>) -> io::Result<Kind> {
    let metadata = match metadata {
        Ok(metadata) => metadata,
        // A parent that is a file has nothing below it.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Kind::Missing);
        }
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(match () {
        () if kind.is_symlink() => Kind::Link,
        () if kind.is_dir() => Kind::Folder,
        () if kind.is_file() => Kind::File(metadata.len()),
        () => Kind::Other,
    })
}

/// A path of plain names: relative, and it climbs nowhere.
pub(super) fn plain_path(text: &str) -> std::result::Result<PathBuf, &'static str> {
    let text = text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text);
    if text.is_empty() {
        Err("is empty")
    } else if text.starts_with('/') {
        Err("must be a relative path")
    } else if text.contains('\\') {
        Err("must have '/' between its parts")
    } else if text.chars().any(char::is_control) {
        Err("has a control character")
    } else if text.split('/').any(|part| part == "..") {
        Err("must not have '..'")
    } else if text.split('/').any(|part| matches!(part, "" | ".")) {
        Err("must be written without empty parts and '.'")
    } else {
        Ok(PathBuf::from(text))
    }
}

/// Checks one plain name that is not hidden. `within` says in messages what it names.
pub(super) fn check_name(within: &str, name: &str) -> Result<()> {
    let problem = if name.contains('/') {
        Some("must not have '/'")
    } else if name.starts_with(['.', '-']) {
        Some("must not begin with '.' or '-'")
    } else {
        plain_path(name).err()
    };
    problem.map_or(Ok(()), |problem| Err(ProjectError::usage(format!("{within}: '{name}' {problem}"))))
}

pub(super) fn read_text(path: &Path) -> Result<String> {
    let size = fs::metadata(path).map_err(|error| ProjectError::unreadable(path, error))?.len();
    if size > MAX_TEXT_BYTES {
        let message = format!("'{}' is larger than {MAX_TEXT_BYTES} bytes", path.display());
        return Err(ProjectError::usage(message));
    }
    fs::read_to_string(path).map_err(|error| ProjectError::unreadable(path, error))
}

pub(super) fn folders_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter(|name| !name.starts_with('.') && folder.join(name).is_dir()).collect();
    names.sort();
    names
}

/// Whether git ignores a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// It is ignored.
    Yes,
    /// It would be tracked, or is.
    No,
    /// The project is not in a git repository, or there is no git.
    Unknown,
}

/// Whether git ignores a path of a project. A pattern that ends in `/` matches folders only, and a link to a folder is
/// not a folder.
pub fn ignored(project: &Path, relative: &Path, is_folder: bool) -> Ignored {
    // `./` keeps a name such as `:(glob)x` from being read as a pattern.
    let path = format!("./{}{}", relative.display(), if is_folder { "/" } else { "" });
    match Git::at(project).with_patterns().code(&["check-ignore", "--quiet", "--", &path]).ok().flatten() {
        Some(0) => Ignored::Yes,
        Some(1) => Ignored::No,
        _ => Ignored::Unknown,
    }
}

pub(super) fn ignore_hint(path: &Path) -> String {
    format!("add this line to .gitignore: /{}", literal(&path.to_string_lossy()))
}

/// How large an asset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssetSize {
    /// Number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether that is all; if not, there are more.
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFile {
    /// From the listing's folder, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
}

/// The files below a folder, sorted by the bytes of their paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    pub(super) folder: PathBuf,
    pub(super) files: Vec<ListedFile>,
    /// What could not be read, and names that are not UTF-8.
    pub(super) unreadable: Vec<String>,
    pub(super) is_complete: bool,
}

impl Listing {
    pub(super) fn size(&self) -> AssetSize {
        let bytes = self.files.iter().map(|file| file.bytes).sum();
        AssetSize { files: self.files.len(), bytes, is_complete: self.is_complete }
    }
}

/// Lists the files below a folder, or one file. Links are followed, since a snapshot of a hub cache has nothing else; a
/// folder that is reached twice is listed once, so circles end.
pub(super) fn list(root: &Path) -> Listing {
    let mut listing = Listing { folder: root.to_owned(), is_complete: true, ..Listing::default() };
    if let Ok(metadata) = fs::metadata(root)
        && metadata.is_file()
    {
        let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        listing.folder = root.parent().unwrap_or(root).to_owned();
        listing.files.push(ListedFile { path: name, bytes: metadata.len() });
        return listing;
    }
    let mut seen = HashSet::new();
    let mut folders = vec![(root.to_owned(), String::new())];
    'folders: while let Some((folder, prefix)) = folders.pop() {
        let is_new = fs::metadata(&folder).is_ok_and(|found| seen.insert((found.dev(), found.ino())));
        let entries = match fs::read_dir(&folder) {
            Ok(entries) if is_new => entries,
            Ok(_) => continue,
            Err(_) => {
                listing.unreadable.push(if prefix.is_empty() { ".".to_owned() } else { prefix });
                continue;
            }
        };
        for entry in entries {
            let Ok(entry) = entry else {
                listing.unreadable.push(format!("{prefix}?"));
                continue;
            };
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match fs::metadata(entry.path()) {
                Ok(_) | Err(_) if entry.file_name().to_str().is_none() => listing.unreadable.push(path),
                Ok(found) if found.is_dir() => folders.push((entry.path(), path + "/")),
                Ok(found) if found.is_file() => {
                    if listing.files.len() == MAX_FILES {
                        listing.is_complete = false;
                        break 'folders;
                    }
                    listing.files.push(ListedFile { path, bytes: found.len() });
                }
                Ok(_) | Err(_) => listing.unreadable.push(path),
            }
        }
    }
    listing.files.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    listing.unreadable.sort_unstable();
    listing
}
