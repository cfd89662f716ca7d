//! Where things are stored, by the file and the environment.

use std::path::{Path, PathBuf};

use rooflens_compose::EnvironmentLookup;
use serde::Serialize;

use super::bootstrap::Bootstrap;
use crate::hub_cache;
use crate::written_path::{absolute, by_variable};

/// A place where things are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum StorageRoot {
    /// A hub cache, or a folder of snapshots.
    #[serde(rename = "HF_SNAPSHOTS_ROOT")]
    HfSnapshots,
    /// Models.
    #[serde(rename = "MODELS_ROOT")]
    Models,
    /// Datasets.
    #[serde(rename = "DATASETS_ROOT")]
    Datasets,
}

impl StorageRoot {
    /// Every root.
    pub const ALL: &'static [StorageRoot] =
        &[StorageRoot::HfSnapshots, StorageRoot::Models, StorageRoot::Datasets];
    /// The variables of all roots.
    pub(super) const VARIABLES: &'static [&'static str] =
        &[hub_cache::OWN_VARIABLE, "MODELS_ROOT", "DATASETS_ROOT"];

    /// The environment variable that sets it, which is also its key in the file.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            StorageRoot::HfSnapshots => hub_cache::OWN_VARIABLE,
            StorageRoot::Models => "MODELS_ROOT",
            StorageRoot::Datasets => "DATASETS_ROOT",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|root| root.variable() == name)
    }
}

/// Finds roots.
pub(super) struct Roots<'a> {
    pub(super) bootstrap: &'a Bootstrap,
    pub(super) environment: &'a EnvironmentLookup,
    /// What relative paths start from.
    pub(super) project: &'a Path,
}

impl Roots<'_> {
    /// Where a root is: by its variable, else by the file.
    pub(super) fn path(&self, root: StorageRoot) -> Option<PathBuf> {
        let by_file =
            || self.bootstrap.roots.get(&root).map(|path| absolute(self.environment, self.project, path));
        by_variable(self.environment, self.project, root.variable()).or_else(by_file)
    }

    /// The hub caches to look in, in order.
    pub(super) fn hub_caches(&self) -> Vec<PathBuf> {
        let of_file = self.bootstrap.roots.get(&StorageRoot::HfSnapshots).map(String::as_str);
        hub_cache::folders(self.environment, self.project, of_file)
    }
}
