//! Which files of a snapshot in a hub cache are source, and where they are.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ExternalsError;
use super::identifiers::{InnerPath, ObjectId, Revision};
use super::licences::is_licence;
use super::lock::Pin;
use super::url::HubRepository;
use crate::hub_cache;

/// How much a hub snapshot may weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubLimits {
    /// A larger file is left out.
    pub file_bytes: u64,
    /// More in all is refused.
    pub total_bytes: u64,
}

impl Default for HubLimits {
    /// Room for the largest tokenizer files (about 20 MiB), not for weights without a known ending.
    fn default() -> Self {
        Self { file_bytes: 32 << 20, total_bytes: 256 << 20 }
    }
}

/// Endings of weights and of archives that hold them.
const WEIGHT_ENDINGS: &[&str] = &[
    "safetensors",
    "bin",
    "pt",
    "pth",
    "ckpt",
    "gguf",
    "ggml",
    "onnx",
    "onnx_data",
    "h5",
    "msgpack",
    "npz",
    "npy",
    "tflite",
    "mlmodel",
    "mlpackage",
    "engine",
    "plan",
    "ot",
    "pkl",
    "pickle",
    "joblib",
    "parquet",
    "arrow",
    "zip",
    "tar",
    "gz",
    "xz",
    "zst",
    "7z",
    "rar",
];

/// A file of a snapshot that is not copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutFile {
    /// Its path in the repository.
    pub path: String,
    /// Why.
    pub reason: LeftOutReason,
}

/// Why a file of a snapshot is not copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// Weights or data, by its ending.
    Weights,
    /// Over the bound for one file.
    TooLarge,
    /// Settings of git: the hub's `.gitattributes` would hand tokenizer files to git-lfs.
    GitSettings,
}

/// The source files of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    /// Path in the repository, and the real file in the cache, by path.
    pub files: Vec<(String, PathBuf)>,
    /// What is not copied.
    pub left_out: Vec<LeftOutFile>,
}

/// The commit that a revision is in the first cache that has it.
pub(super) fn resolve(
    caches: &[PathBuf],
    repository: &HubRepository,
    revision: &Revision,
) -> Result<ObjectId, ExternalsError> {
    for cache in caches {
        let folder = cache.join(repository.folder());
        let commit = match revision.as_id() {
            Some(commit) => commit,
            None => match fs::read_to_string(hub_cache::reference(&folder, revision.as_str())) {
                Ok(text) => ObjectId::parse(text.trim())?,
                Err(_) => continue,
            },
        };
        if hub_cache::snapshots(&folder).join(commit.as_str()).is_dir() {
            return Ok(commit);
        }
    }
    Err(missing(repository, revision.as_str()))
}

/// The source files of a pinned snapshot, from the first cache that has it.
pub(super) fn snapshot(
    caches: &[PathBuf],
    repository: &HubRepository,
    pin: &Pin,
    limits: HubLimits,
) -> Result<Snapshot, ExternalsError> {
    let top = |folder: &Path| hub_cache::snapshots(folder).join(pin.commit.as_str());
    let is_folder = |path: PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    let folder = caches
        .iter()
        .map(|cache| cache.join(repository.folder()))
        .find(|folder| is_folder(top(folder)))
        .ok_or_else(|| missing(repository, pin.commit.as_str()))?;
    let home = fs::canonicalize(&folder).map_err(ExternalsError::io(&folder))?;
    let top = top(&folder);
    let mut snapshot = Snapshot::default();
    let mut bytes = 0;
    let mut open = vec![(top, String::new())];
    while let Some((folder, prefix)) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(ExternalsError::io(&folder))? {
            let entry = entry.map_err(ExternalsError::io(&folder))?;
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap_or_default();
            let inner = InnerPath::parse(&format!("{prefix}{name}"))?;
            let kind = entry.file_type().map_err(ExternalsError::io(&path))?;
            if kind.is_dir() {
                open.push((path, format!("{inner}/")));
                continue;
            }
            if !is_wanted(inner.as_str(), &name, &pin.paths) {
                continue;
            }
            let real = fs::canonicalize(&path).map_err(ExternalsError::io(&path))?;
            let metadata = fs::metadata(&real).map_err(ExternalsError::io(&path))?;
            // Only a plain file of the same repository: a link may lead anywhere, a pipe never ends.
            if !real.starts_with(&home) || !metadata.is_file() {
                let (repository, path) = (repository.id.clone(), inner.as_str().to_owned());
                return Err(ExternalsError::HubLink { repository, path });
            }
            let path = inner.as_str().to_owned();
            match left_out(&name, metadata.len(), limits) {
                Some(reason) => snapshot.left_out.push(LeftOutFile { path, reason }),
                None => {
                    bytes += metadata.len();
                    snapshot.files.push((path, real));
                }
            }
        }
    }
    if bytes > limits.total_bytes {
        let repository = repository.id.clone();
        return Err(ExternalsError::HubTooLarge { repository, bytes, bound: limits.total_bytes });
    }
    snapshot.files.sort();
    snapshot.left_out.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(snapshot)
}

fn missing(repository: &HubRepository, revision: &str) -> ExternalsError {
    ExternalsError::HubSnapshotMissing { repository: repository.id.clone(), revision: revision.to_owned() }
}

fn is_wanted(path: &str, name: &str, paths: &[InnerPath]) -> bool {
    paths.is_empty() || is_licence(name) || paths.iter().any(|wanted| wanted.covers(path))
}

fn left_out(name: &str, bytes: u64, limits: HubLimits) -> Option<LeftOutReason> {
    let lower = name.to_lowercase();
    let ending = lower.rsplit_once('.').map_or("", |(_, ending)| ending);
    if matches!(lower.as_str(), ".gitattributes" | ".gitignore" | ".gitmodules") {
        Some(LeftOutReason::GitSettings)
    } else if is_licence(name) && bytes <= limits.file_bytes {
        None
    } else if WEIGHT_ENDINGS.contains(&ending) {
        Some(LeftOutReason::Weights)
    } else if bytes > limits.file_bytes {
        Some(LeftOutReason::TooLarge)
    } else {
        None
    }
}
