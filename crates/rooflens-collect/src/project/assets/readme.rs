//! The README of a dataset: a block with the top level of `source-data`. The text around the block is the user's and
//! never changes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::disk::{AssetSize, Kind, Project, kind, list};
use super::variants::{SOURCE as FOLDER, dataset_folder};
use crate::project::error::{ProjectError, Result};
use crate::project::marked_block::{Position, between};

const FILE: &str = "README.md";

/// The top level of a dataset's source data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatasetTree {
    /// The folder.
    pub folder: String,
    /// Its files and folders, sorted by name.
    pub entries: Vec<TreeEntry>,
    /// Its size.
    pub size: AssetSize,
}

/// A file or folder of the top level.
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

/// An up-to-date README.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readme {
    /// Its path, from the project's folder.
    pub path: PathBuf,
    /// Whether the file has this text already.
    pub is_current: bool,
    /// Its text.
    #[serde(skip)]
    pub(crate) text: String,
}

/// Looks at the top level of a dataset's source data. Reads only.
pub fn first_level(project: &Project, dataset: &str) -> Result<DatasetTree> {
    let folder = project.root().join(dataset_folder(project, dataset)?).join(FOLDER);
    let names = fs::read_dir(&folder).map_err(|error| ProjectError::unreadable(&folder, error))?;
    let mut names: Vec<_> = names.flatten().map(|entry| entry.file_name()).collect();
    names.sort_unstable();
    let listing = list(&folder);
    let mut sizes: BTreeMap<&str, (usize, u64)> = BTreeMap::new();
    for file in &listing.files {
        let first = file.path.split('/').next().unwrap_or_default();
        let (files, bytes) = sizes.entry(first).or_default();
        *files += 1;
        *bytes += file.bytes;
    }
    let entries = names.iter().map(|name| {
        let (files, bytes) = name.to_str().and_then(|name| sizes.get(name)).copied().unwrap_or_default();
        let is_folder = folder.join(name).is_dir();
        let printable = |char: char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char };
        TreeEntry { name: name.to_string_lossy().chars().map(printable).collect(), is_folder, files, bytes }
    });
    Ok(DatasetTree { folder: FOLDER.to_owned(), entries: entries.collect(), size: listing.size() })
}

/// The README of a dataset with these lines in its block. Reads only.
pub fn plan_readme(project: &Project, dataset: &str, lines: &[String]) -> Result<Readme> {
    let path = dataset_folder(project, dataset)?.join(FILE);
    let place = project.inside(&path)?;
    let old = match kind(&place) {
        Ok(Kind::Missing) => format!("# {dataset}\n\n"),
        Ok(Kind::File(_)) => {
            fs::read_to_string(&place).map_err(|error| ProjectError::unreadable(&path, error))?
        }
        // A link could lead out of the project.
        _ => return Err(ProjectError::unwritable(&path, "it is not a plain file")),
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
        _ => {
            let message =
                format!("the marks of the block in '{}' are not one pair: {}", path.display(), marks.0);
            return Err(ProjectError::usage(message)
                .hint("remove the remaining marks; the rest of the file is not changed"));
        }
    }
    // A new block is a separate paragraph.
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

/// Writes a README that is not up to date.
pub fn write_readme(project: &Project, readme: &Readme) -> Result<()> {
    if readme.is_current {
        return Ok(());
    }
    let place = project.inside(&readme.path)?;
    fs::write(&place, &readme.text).map_err(|error| ProjectError::unwritable(&readme.path, error))
}
