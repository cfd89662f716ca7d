//! The project that a command is about: the nearest folder, from here upwards, that looks like one.

use std::path::{Component, Path, PathBuf};

use rooflens_collect::project::skeleton::Written;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::SchemaTag;
use crate::error::Error;

const MARKS: &[&str] = &["bootstrap.yaml", CONFIGS, "third_party/externals.lock"];
const CONFIGS: &str = "conf";
pub(crate) const HARDWARE: &str = "hardware";

/// The JSON document of a new project: its files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct InitDocument {
    /// `rooflens.init`.
    pub(crate) schema: SchemaTag,
    /// The project's folder.
    pub(crate) folder: String,
    /// Files that were made, from there.
    pub(crate) made: Vec<String>,
    /// Files that were there and are unchanged.
    pub(crate) kept: Vec<String>,
}

impl InitDocument {
    /// Of what was written.
    pub fn new(written: &Written) -> Self {
        let names = |files: &[&'static str]| files.iter().map(|file| (*file).to_owned()).collect();
        InitDocument {
            schema: SchemaTag::new("init"),
            folder: written.folder.display().to_string(),
            made: names(&written.made),
            kept: names(&written.kept),
        }
    }
}

/// The folder that was asked for, or that of the project around here. The path starts from here, so
/// that messages stay short.
pub fn root(asked: Option<&Path>) -> Result<PathBuf, Error> {
    match asked {
        Some(folder) if folder.is_dir() => Ok(folder.to_owned()),
        Some(folder) => Err(no_project(format!("the project {} is not a folder", folder.display()))),
        None => {
            around_here().ok_or_else(|| no_project("neither this folder nor a parent folder is a project"))
        }
    }
}

fn no_project(message: impl Into<String>) -> Error {
    Error::usage(message).words("rooflens init NEW_PROJECT creates one; another folder: --project DIR")
}

/// A path of a project, without a `./` before it.
pub fn within(root: &Path, path: &str) -> PathBuf {
    if root == Path::new(".") { PathBuf::from(path) } else { root.join(path) }
}

/// The configs of the project around here, or the folder here that would have them.
pub fn configs() -> PathBuf {
    within(&around_here().unwrap_or_else(|| PathBuf::from(".")), CONFIGS)
}

/// The own devices of the project around here, or the folder here that would have them.
pub(crate) fn hardware() -> PathBuf {
    within(&around_here().unwrap_or_else(|| PathBuf::from(".")), HARDWARE)
}

/// The project that a folder is in, from the nearest folder upwards.
pub(crate) fn around(folder: &Path) -> Option<PathBuf> {
    let folder = std::path::absolute(folder).ok()?;
    let is_project = |folder: &&Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    folder.ancestors().find(is_project).map(Path::to_owned)
}

/// A path as it is typed here.
pub fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).to_owned()
}

/// The way from a folder to something else, as a link would have it.
pub(crate) fn way(from: &Path, to: &Path) -> PathBuf {
    let plain = |path: &Path| -> Vec<String> {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::ParentDir => drop(parts.pop()),
                Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
                _ => {}
            }
        }
        parts
    };
    let (from, to) = (plain(from), plain(to));
    let shared = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..", from.len() - shared);
    up.chain(to[shared..].iter().map(String::as_str)).collect()
}

fn around_here() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    let is_project = |folder: &Path| MARKS.iter().any(|mark| folder.join(mark).exists());
    let steps_up = here.ancestors().position(is_project)?;
    Some(if steps_up == 0 { PathBuf::from(".") } else { vec![".."; steps_up].iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_goes_up_and_down() {
        let told = |from: &str, to: &str| way(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(told("/p/runs/a/report", "/p/datasets/x"), "../../../datasets/x");
        assert_eq!(told("/p/runs", "/q/./y/../x"), "../../q/x");
    }
}
