//! A tree of configs with old names, in today's words: the same tree, file by file, and what it lacks from the skeleton.

mod document;
mod missing;
mod packages;
mod rename;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::packages::Packages;
pub use self::packages::defaults;
pub use self::rename::interpolated;

/// The files of a tree by their paths from its folder: `model/qwen.yaml`.
pub type ConfigTree = BTreeMap<String, String>;

/// A tree in today's words.
#[derive(Debug, Default)]
pub struct Migrated {
    /// Its files, all of them.
    pub files: ConfigTree,
    /// What was called otherwise, in the order of files and lines. Where there is nothing, no file was touched.
    pub renamed: Vec<Renamed>,
    /// Files that the tree did not have.
    pub added: Vec<String>,
    /// What has no counterpart and is to be looked at, with its place.
    pub problems: Vec<Renamed>,
}

/// A setting that was called otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renamed {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// Its old path.
    pub old: String,
    /// Its path and value of today, or why there is none.
    pub new: String,
}

/// The YAML files of a folder.
pub fn read(folder: &Path) -> Result<ConfigTree, (PathBuf, std::io::Error)> {
    let mut tree = ConfigTree::new();
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((inner, depth)) = open.pop() {
        let failed = |error| (inner.clone(), error);
        for entry in std::fs::read_dir(&inner).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            // A folder can contain itself by a link.
            if path.is_dir() && depth < MAX_DEPTH {
                open.push((path, depth + 1));
            } else if path.extension().is_some_and(|kind| kind == "yaml")
                && let Ok(within) = path.strip_prefix(folder)
            {
                let text = std::fs::read_to_string(&path).map_err(|error| (path.clone(), error))?;
                tree.insert(within.to_string_lossy().replace('\\', "/"), text);
            }
        }
    }
    Ok(tree)
}

const MAX_DEPTH: usize = 16;

/// The tree in today's words. `primary` is the file that composition begins with, `config.yaml`.
pub fn migrate(tree: &ConfigTree, primary: &str) -> Migrated {
    let packages = Packages::of(tree);
    let mut made = Migrated::default();
    for (path, text) in tree {
        let files = rename::file(path, text, &packages, &mut made);
        made.files.extend(files);
    }
    if made.renamed.is_empty() && made.problems.is_empty() {
        made.files = tree.clone();
    } else if missing::lacks(&made.files, primary) {
        missing::complete(&mut made, primary);
    }
    made
}
