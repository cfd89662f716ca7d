//! One place configs come from.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::hydra_tree;

/// What of a group is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupContent {
    /// Its configs, without their extension.
    Options,
    /// The groups in it.
    Groups,
}

/// One place configs come from.
#[derive(Debug, Clone)]
pub enum ConfigSource {
    /// A folder on disk.
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Its path as it was named, which may be relative.
        named: PathBuf,
    },
    /// Texts by path (`db/mysql.yaml`), for tests and for configs that a program carries in itself.
    Texts {
        /// What stands before `://`.
        scheme: &'static str,
        /// What stands behind `://`.
        path: &'static str,
        /// The texts.
        files: Arc<BTreeMap<String, String>>,
    },
}

impl fmt::Display for ConfigSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}://{}", self.scheme(), self.path())
    }
}

impl ConfigSource {
    /// Texts by path, as a source.
    pub fn memory<P: Into<String>, T: Into<String>>(files: impl IntoIterator<Item = (P, T)>) -> Self {
        Self::texts("memory", "", files)
    }

    fn texts<P: Into<String>, T: Into<String>>(
        scheme: &'static str,
        path: &'static str,
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.into(), text.into()));
        ConfigSource::Texts { scheme, path, files: Arc::new(files.collect()) }
    }

    /// The configs that Hydra brings as files.
    pub(crate) fn hydra_files() -> Self {
        Self::texts("pkg", "hydra.conf", hydra_tree::FILES.iter().copied())
    }

    /// The configs that Hydra makes from classes.
    pub(crate) fn hydra_classes() -> Self {
        Self::texts("structured", "", hydra_tree::CLASSES.iter().copied())
    }

    pub(crate) fn is_of_classes(&self) -> bool {
        self.scheme() == "structured"
    }

    pub(crate) fn is_built_in(&self) -> bool {
        self.scheme() == "pkg" || self.is_of_classes()
    }

    /// A folder on disk.
    pub fn folder(path: impl Into<PathBuf>) -> Self {
        let folder = path.into();
        ConfigSource::Folder { named: folder.clone(), folder }
    }

    pub(crate) fn scheme(&self) -> &'static str {
        match self {
            ConfigSource::Folder { .. } => "file",
            ConfigSource::Texts { scheme, .. } => scheme,
        }
    }

    pub(crate) fn path(&self) -> Cow<'_, str> {
        match self {
            ConfigSource::Folder { named, .. } => named.to_string_lossy(),
            ConfigSource::Texts { path, .. } => Cow::Borrowed(path),
        }
    }

    pub(crate) fn is_available(&self) -> bool {
        self.is_group("")
    }

    pub(crate) fn is_group(&self, group: &str) -> bool {
        match self {
            ConfigSource::Folder { folder, .. } => folder.join(group).is_dir(),
            ConfigSource::Texts { files, .. } => {
                let group = normalised(group);
                let group = group.trim_end_matches('/');
                let is_below =
                    |file: &String| file.strip_prefix(group).is_some_and(|rest| rest.starts_with('/'));
                group.is_empty() || files.keys().any(is_below)
            }
        }
    }

    pub(crate) fn is_config(&self, path: &str) -> bool {
        let file = file_name(path);
        match self {
            ConfigSource::Folder { folder, .. } => folder.join(&*file).is_file(),
            ConfigSource::Texts { files, .. } => files.contains_key(&*normalised(&file)),
        }
    }

    /// The options of a group, or the groups in it, in no particular order.
    pub(crate) fn list(&self, group: &str, listing: GroupContent) -> Vec<String> {
        let join = |name: &str| {
            if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
        };
        self.entries(group)
            .into_iter()
            .filter(|name| !matches!(name.as_str(), "__pycache__" | "__init__.py"))
            .filter_map(|name| match listing {
                GroupContent::Groups => self.is_group(&join(&name)).then_some(name),
                GroupContent::Options => self
                    .is_config(&join(&name))
                    .then(|| name.rsplit_once('.').map_or(name.clone(), |(stem, _)| stem.to_owned())),
            })
            .collect()
    }

    fn entries(&self, group: &str) -> BTreeSet<String> {
        match self {
            ConfigSource::Folder { folder, .. } => fs::read_dir(folder.join(group))
                .into_iter()
                .flatten()
                .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
                .collect(),
            ConfigSource::Texts { files, .. } => children(files.keys().map(String::as_str), group),
        }
    }

    pub(super) fn read(&self, path: &str) -> Result<(String, String), (String, io::Error)> {
        let file = file_name(path);
        match self {
            ConfigSource::Folder { folder, .. } => {
                let full = folder.join(&*file);
                let shown = full.to_string_lossy().into_owned();
                match fs::read_to_string(&full) {
                    Ok(text) => Ok((shown, text)),
                    Err(error) => Err((shown, error)),
                }
            }
            ConfigSource::Texts { files, .. } => {
                let file = normalised(&file);
                Ok((file.to_string(), files.get(&*file).cloned().unwrap_or_default()))
            }
        }
    }

    /// A folder named by `hydra.searchpath`: `file://` may be left out. The error is the scheme
    /// that cannot be searched.
    pub fn parse(path: &str, working_folder: &Path) -> Result<Self, String> {
        match path.split_once("://") {
            None | Some(("file", _)) => {
                let path = path.strip_prefix("file://").unwrap_or(path);
                Ok(ConfigSource::Folder { folder: working_folder.join(path), named: path.into() })
            }
            Some(("pkg", "hydra.conf")) => Ok(Self::hydra_files()),
            Some((scheme, _)) => Err(scheme.to_owned()),
        }
    }
}

/// The file of a config: only `.yaml` counts as an extension, since names may have dots.
pub(super) fn file_name(path: &str) -> Cow<'_, str> {
    if path.ends_with(".yaml") { Cow::Borrowed(path) } else { Cow::Owned(format!("{path}.yaml")) }
}

fn children<'a>(files: impl Iterator<Item = &'a str>, group: &str) -> BTreeSet<String> {
    let group = normalised(group);
    files
        .filter_map(|file| match &*group {
            "" => Some(file),
            group => file.strip_prefix(group)?.strip_prefix('/'),
        })
        .map(|rest| rest.split('/').next().unwrap_or(rest).to_owned())
        .collect()
}

/// The path without empty, `.` and `..` steps, as a file system would walk it.
fn normalised(path: &str) -> Cow<'_, str> {
    let plain = |step: &str| !matches!(step, "" | "." | "..");
    if path.is_empty() || path.split('/').all(plain) {
        return Cow::Borrowed(path);
    }
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    Cow::Owned(steps.join("/"))
}
