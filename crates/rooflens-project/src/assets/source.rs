//! Finding where an asset is stored.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bootstrap::{Asset, AssetKind, AssetSource};
use super::files::{FileKind, FileSystem};
use super::roots::{Roots, StorageRoot};
use super::snapshot::{self, NoSnapshot};
use crate::hub_cache;

/// Where an asset is stored, or why that is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "located")]
pub enum Located {
    /// There.
    At {
        /// The file or folder.
        path: PathBuf,
        /// The commit, where it is a snapshot of a hub repository.
        commit: Option<String>,
    },
    /// Nowhere.
    Nowhere {
        /// Why.
        absence: Absence,
        /// Where it was looked for.
        looked_at: Vec<PathBuf>,
    },
}

/// Why an asset's source is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Absence {
    /// No path of the root is known.
    #[error("neither ${variable} nor roots.{variable} in bootstrap.yaml is set")]
    RootUnknown {
        /// The root's variable.
        variable: Cow<'static, str>,
    },
    /// There is no hub cache to look in.
    #[error("no hub cache is known: neither $HF_SNAPSHOTS_ROOT, $HF_HUB_CACHE, $HF_HOME nor $HOME is set")]
    NoCache,
    /// Nothing is there.
    #[error("it does not exist")]
    NotThere,
    /// It is there, but cannot be read.
    #[error("it cannot be read: {message}")]
    Unreadable {
        /// What the system says.
        message: String,
    },
    /// It is neither a file nor a folder.
    #[error("it is neither a file nor a folder")]
    OddKind,
    /// The cache has the repository, but not the revision.
    #[error("the cache has no revision '{revision}'; it has {}", known.join(", "))]
    NoRevision {
        /// The revision.
        revision: String,
        /// The branches, tags and commits that exist.
        known: Vec<String>,
    },
    /// The revision's commit is not downloaded.
    #[error("the cache has no snapshot of the commit {commit}")]
    NoSnapshot {
        /// The commit.
        commit: String,
    },
    /// The cache is damaged.
    #[error("'{}' is not a commit", reference.display())]
    MalformedReference {
        /// The file that should have one.
        reference: PathBuf,
    },
}

impl Absence {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self, asset: &Asset) -> Option<String> {
        match (self, &asset.source) {
            (Absence::RootUnknown { variable }, _) => {
                Some(format!("set {variable} to the folder, or write roots.{variable} in bootstrap.yaml"))
            }
            (_, AssetSource::Hub { repository, revision }) => {
                let kind = if asset.kind == AssetKind::Dataset { " --repo-type dataset" } else { "" };
                Some(format!("hf download {repository}{kind} --revision {revision}"))
            }
            (Absence::NotThere, AssetSource::Path { root, .. }) => {
                Some(format!("is {} right?", root.variable()))
            }
            _ => None,
        }
    }
}

pub(super) fn locate(asset: &Asset, roots: &Roots<'_>, files: &dyn FileSystem) -> Located {
    let located = match &asset.source {
        AssetSource::Path { root, path } => locate_path(*root, path, roots, files),
        AssetSource::Hub { repository, revision } => {
            let folder = hub_cache::repository_folder(asset.kind.plural(), repository);
            locate_repository(&folder, revision, roots, files)
        }
    };
    match located {
        // `project/../data` in a link would be right, but hard to read.
        Located::At { path, commit } if path.components().any(|part| part == Component::ParentDir) => {
            Located::At { path: files.resolved(&path).unwrap_or(path), commit }
        }
        located => located,
    }
}

fn locate_path(root: StorageRoot, path: &Path, roots: &Roots<'_>, files: &dyn FileSystem) -> Located {
    let Some(folder) = roots.path(root) else {
        let absence = Absence::RootUnknown { variable: root.variable().into() };
        return Located::Nowhere { absence, looked_at: Vec::new() };
    };
    let path = folder.join(path);
    let absence = match files.kind_behind(&path) {
        Ok(FileKind::Folder) if snapshot::is_repository(&path, files) => {
            return match snapshot::find(&path, "main", files) {
                Ok(snapshot) => Located::At { path: snapshot.folder, commit: Some(snapshot.commit) },
                Err(error) => Located::Nowhere { absence: absence_of(error, "main"), looked_at: vec![path] },
            };
        }
        Ok(FileKind::File { .. } | FileKind::Folder) => return Located::At { path, commit: None },
        Ok(FileKind::Missing) => Absence::NotThere,
        Ok(FileKind::Link | FileKind::Other) => Absence::OddKind,
        Err(error) => Absence::Unreadable { message: error.to_string() },
    };
    Located::Nowhere { absence, looked_at: vec![path] }
}

fn locate_repository(folder: &str, revision: &str, roots: &Roots<'_>, files: &dyn FileSystem) -> Located {
    let caches = roots.hub_caches();
    if caches.is_empty() {
        return Located::Nowhere { absence: Absence::NoCache, looked_at: Vec::new() };
    }
    // A cache that has the repository without the revision says more than one without either.
    let mut absence = Absence::NotThere;
    let mut looked_at = Vec::new();
    for cache in caches {
        let repository = cache.join(folder);
        let found = files.kind_behind(&repository);
        looked_at.push(repository.clone());
        match found {
            Ok(FileKind::Folder) => match snapshot::find(&repository, revision, files) {
                Ok(snapshot) => {
                    return Located::At { path: snapshot.folder, commit: Some(snapshot.commit) };
                }
                Err(error) => absence = absence_of(error, revision),
            },
            Ok(_) => {}
            Err(error) if absence == Absence::NotThere => {
                absence = Absence::Unreadable { message: error.to_string() };
            }
            Err(_) => {}
        }
    }
    Located::Nowhere { absence, looked_at }
}

fn absence_of(error: NoSnapshot, revision: &str) -> Absence {
    match error {
        NoSnapshot::Revision { known } => Absence::NoRevision { revision: revision.to_owned(), known },
        NoSnapshot::Commit(commit) => Absence::NoSnapshot { commit },
        NoSnapshot::MalformedReference(reference) => Absence::MalformedReference { reference },
    }
}
