//! Where things are stored, by the file and the environment.

use std::path::{Path, PathBuf};

use rooflens_compose::Environment;
use serde::Serialize;

use super::bootstrap::Bootstrap;

/// A place where things are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Root {
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

impl Root {
    /// Every root.
    pub const ALL: &'static [Root] = &[Root::HfSnapshots, Root::Models, Root::Datasets];
    /// The variables of all roots.
    pub(super) const VARIABLES: &'static [&'static str] =
        &["HF_SNAPSHOTS_ROOT", "MODELS_ROOT", "DATASETS_ROOT"];

    /// The environment variable that sets it, which is also its key in the file.
    #[must_use]
    pub fn variable(self) -> &'static str {
        match self {
            Root::HfSnapshots => "HF_SNAPSHOTS_ROOT",
            Root::Models => "MODELS_ROOT",
            Root::Datasets => "DATASETS_ROOT",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|root| root.variable() == name)
    }
}

/// Finds roots.
pub(super) struct Roots<'a> {
    pub(super) bootstrap: &'a Bootstrap,
    pub(super) environment: &'a Environment,
    /// What relative paths start from.
    pub(super) project: &'a Path,
}

impl Roots<'_> {
    /// Where a root is: by its variable, else by the file.
    pub(super) fn path(&self, root: Root) -> Option<PathBuf> {
        self.by_variable(root.variable()).or_else(|| self.by_file(root))
    }

    /// The hub caches to look in, in this order, each once. `huggingface_hub` reads the same
    /// variables but the first, which is ours and therefore meant.
    pub(super) fn hub_caches(&self) -> Vec<PathBuf> {
        let default_home = self
            .by_variable("XDG_CACHE_HOME")
            .or_else(|| self.by_variable("HOME").map(|home| home.join(".cache")))
            .map(|cache| cache.join("huggingface"));
        let candidates = [
            self.by_variable(Root::HfSnapshots.variable()),
            self.by_variable("HF_HUB_CACHE"),
            self.by_variable("HUGGINGFACE_HUB_CACHE"),
            self.by_variable("HF_HOME").map(|home| home.join("hub")),
            self.by_file(Root::HfSnapshots),
            default_home.map(|home| home.join("hub")),
        ];
        let mut caches = Vec::new();
        for cache in candidates.into_iter().flatten() {
            if !caches.contains(&cache) {
                caches.push(cache);
            }
        }
        caches
    }

    fn by_variable(&self, name: &str) -> Option<PathBuf> {
        // An empty variable is the shell's way to take one back.
        (self.environment)(name).filter(|value| !value.is_empty()).map(|value| self.absolute(&value))
    }

    fn by_file(&self, root: Root) -> Option<PathBuf> {
        self.bootstrap.roots.get(&root).map(|path| self.absolute(path))
    }

    fn absolute(&self, path: &str) -> PathBuf {
        let below_home = match path.strip_prefix('~') {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('/'),
            None => None,
        };
        let home = (self.environment)("HOME").filter(|home| !home.is_empty());
        match (below_home, home) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => self.project.join(path),
        }
    }
}
