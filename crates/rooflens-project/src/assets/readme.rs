//! The README of a dataset: a block with the first level of `source-data`. What stands around the block
//! is the user's and never changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::{AssetError, AssetFault};
use super::files::{Disk, FileKind, FileSystem};
use super::project::Project;
use super::subset::dataset_folder;
use super::variant::SOURCE as FOLDER;
use super::walk::{self, AssetSize, MAX_FILES};
use crate::marked_block::{Position, between};

const FILE: &str = "README.md";

/// The first level of a dataset's source data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetTree {
    /// The folder.
    pub folder: Cow<'static, str>,
    /// What is in it, sorted by name.
    pub entries: Vec<TreeEntry>,
    /// How large all of it is.
    pub size: AssetSize,
}

/// A file or folder of the first level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TreeEntry {
    /// Its name; control characters and what is not UTF-8 are replaced.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// How many files it holds; 1 for a file.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// A README as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readme {
    /// Its path, from the project's folder.
    pub path: PathBuf,
    /// Whether it is so already.
    pub is_current: bool,
    /// Its text.
    #[serde(skip)]
    pub text: String,
}

/// Looks at the first level of a dataset's source data. Reads only.
///
/// # Errors
/// When the dataset has none, or it cannot be read.
pub fn first_level(project: &Project, dataset: &str) -> Result<DatasetTree, AssetError> {
    let folder = project.root().join(dataset_folder(project, dataset)?).join(FOLDER);
    let names = Disk.names(&folder).map_err(|error| AssetError::unreadable(&folder, error))?;
    let listing = walk::list(&folder, MAX_FILES);
    let mut sizes: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for file in &listing.files {
        let first = file.path.split('/').next().unwrap_or_default();
        let (files, bytes) = sizes.entry(first).or_default();
        *files += 1;
        *bytes += file.bytes;
    }
    let entries = names.iter().map(|name| {
        let (files, bytes) = name.to_str().and_then(|name| sizes.get(name)).copied().unwrap_or_default();
        let is_folder = matches!(Disk.kind_behind(&folder.join(name)), Ok(FileKind::Folder));
        let printable = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
        TreeEntry { name: name.to_string_lossy().chars().map(printable).collect(), is_folder, files, bytes }
    });
    Ok(DatasetTree { folder: FOLDER.into(), entries: entries.collect(), size: listing.size() })
}

/// The README of a dataset with these lines in its block. Reads only.
///
/// # Errors
/// When the dataset is not there, its README cannot be read, or the marks in it are not one pair.
pub fn plan_readme(project: &Project, dataset: &str, lines: &[String]) -> Result<Readme, AssetError> {
    let path = dataset_folder(project, dataset)?.join(FILE);
    let place = project.inside(&path, &Disk)?;
    let old = match Disk.kind(&place) {
        Ok(FileKind::Missing) => format!("# {dataset}\n\n"),
        Ok(FileKind::File { .. }) => {
            fs::read_to_string(&place).map_err(|error| AssetError::unreadable(&path, error))?
        }
        // A link could lead out of the project.
        _ => return Err(AssetError::unwritable(&path, io::Error::other("it is not a plain file"))),
    };
    let marks =
        (format!("<!-- >>> rooflens {FOLDER} >>> -->"), format!("<!-- <<< rooflens {FOLDER} <<< -->"));
    let places = |mark: &str| -> Vec<usize> {
        let lines = old.lines().enumerate().filter(|(_, line)| line.trim_end() == mark);
        lines.map(|(at, _)| at).collect()
    };
    let (openings, closings) = (places(&marks.0), places(&marks.1));
    match (openings.as_slice(), closings.as_slice()) {
        ([], []) => {}
        ([opening], [closing]) if opening < closing => {}
        _ => return Err(AssetError::new(AssetFault::BrokenMarks { path, opening: marks.0 })),
    }
    // A new block is a paragraph of its own, whatever the line before it is.
    let gap = match openings.is_empty() {
        true if old.is_empty() || old.ends_with("\n\n") => "",
        true if old.ends_with('\n') => "\n",
        true => "\n\n",
        false => "",
    };
    let text = between(&format!("{old}{gap}"), &marks, lines, Position::End);
    let is_current = fs::read_to_string(&place).is_ok_and(|there| there == text);
    Ok(Readme { path, is_current, text })
}

/// Writes a README that is not as it should be.
///
/// # Errors
/// When it cannot be written.
pub fn write_readme(project: &Project, readme: &Readme) -> Result<(), AssetError> {
    if readme.is_current {
        return Ok(());
    }
    let place = project.inside(&readme.path, &Disk)?;
    fs::write(&place, &readme.text).map_err(|error| AssetError::unwritable(&readme.path, error))
}
