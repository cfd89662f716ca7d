//! The files of an asset.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most files that are listed; a dataset of more is counted as "at least".
pub(super) const MAX_FILES: usize = 2_000_000;

/// How large an asset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssetSize {
    /// How many files it has.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Whether that is all; if not, there are more.
    pub is_complete: bool,
}

/// A file of an asset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListedFile {
    /// From the listing's folder, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
}

/// The files below a folder, sorted by the bytes of their paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Listing {
    /// The folder that paths start from.
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

/// Lists the files below a folder, or one file. Links are followed, since a snapshot of a hub cache
/// has nothing else; a folder that is reached twice is listed once, so circles end.
pub(super) fn list(root: &Path, most: usize) -> Listing {
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
    while let Some((folder, prefix)) = folders.pop() {
        let is_new = fs::metadata(&folder).is_ok_and(|found| seen.insert((found.dev(), found.ino())));
        let entries = match fs::read_dir(&folder) {
            Ok(entries) if is_new => entries,
            Ok(_) => continue,
            Err(_) => {
                listing.unreadable.push(if prefix.is_empty() { ".".to_owned() } else { prefix });
                continue;
            }
        };
        let mut names = Vec::new();
        for entry in entries {
            match entry {
                Ok(entry) => names.push(entry.file_name()),
                Err(_) => listing.unreadable.push(format!("{prefix}?")),
            }
        }
        // Folders are taken from the end, so the first in order are put there last.
        names.sort_unstable_by(|left, right| right.cmp(left));
        for name in names {
            let Some(name) = name.to_str() else {
                listing.unreadable.push(format!("{prefix}{}", name.to_string_lossy()));
                continue;
            };
            let path = format!("{prefix}{name}");
            match fs::metadata(folder.join(name)) {
                Ok(found) if found.is_dir() => folders.push((folder.join(name), path + "/")),
                Ok(found) if found.is_file() => {
                    if listing.files.len() == most {
                        listing.is_complete = false;
                        folders.clear();
                        break;
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
