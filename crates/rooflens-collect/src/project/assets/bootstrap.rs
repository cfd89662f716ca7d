//! `bootstrap.yaml`: what a project needs from outside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};
use rooflens_compose::EnvironmentLookup;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::Limits;
use super::disk::{check_name, plain_path, read_text};
use crate::project::error::{ProjectError, Result, list_of};
use crate::project::hub;
use crate::project::yaml_data::from_yaml;

const SCHEMA: u64 = 1;
const SOURCE_DATA: &str = "source-data";

/// What a project needs from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    roots: BTreeMap<StorageRoot, String>,
    /// Models, then datasets, in the order of the file.
    pub assets: Vec<Asset>,
}

/// A model or a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Asset {
    /// Its name, unique in its kind.
    pub name: String,
    /// Whether it is a model or a dataset.
    pub kind: AssetKind,
    /// Where it appears, from the project's folder.
    pub(super) target: PathBuf,
    pub(super) source: AssetSource,
    pub(super) required: Vec<String>,
    /// Files and their SHA-256, in lower-case hexadecimal digits.
    pub(super) sha256: Vec<(PathBuf, String)>,
    pub(super) extract: Vec<Extraction>,
}

/// Models or datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetKind {
    /// A model: weights, a config, a tokenizer.
    Model,
    /// A dataset.
    Dataset,
}

impl AssetKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            AssetKind::Model => "model",
            AssetKind::Dataset => "dataset",
        }
    }

    pub(super) fn plural(self) -> &'static str {
        match self {
            AssetKind::Model => "models",
            AssetKind::Dataset => "datasets",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AssetSource {
    Path { root: StorageRoot, path: PathBuf },
    Hub { repository: String, revision: String },
}

/// A place where assets are stored: an environment variable, and a key of `roots`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) enum StorageRoot {
    #[serde(rename = "HF_SNAPSHOTS_ROOT", alias = "$HF_SNAPSHOTS_ROOT")]
    HfSnapshots,
    #[serde(rename = "MODELS_ROOT", alias = "$MODELS_ROOT")]
    Models,
    #[serde(rename = "DATASETS_ROOT", alias = "$DATASETS_ROOT")]
    Datasets,
}

impl StorageRoot {
    pub(super) fn variable(self) -> &'static str {
        match self {
            StorageRoot::HfSnapshots => hub::SNAPSHOTS_ROOT,
            StorageRoot::Models => "MODELS_ROOT",
            StorageRoot::Datasets => "DATASETS_ROOT",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extraction {
    pub(super) archive: PathBuf,
    /// The folder that it becomes, from the project's folder.
    pub(super) into: PathBuf,
    pub(super) limits: Limits,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    schema: u64,
    #[serde(default)]
    roots: BTreeMap<StorageRoot, String>,
    #[serde(default)]
    models: Vec<WrittenAsset>,
    #[serde(default)]
    datasets: Vec<WrittenAsset>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAsset {
    name: String,
    target: Option<String>,
    source: WrittenSource,
    #[serde(default)]
    required: Vec<String>,
    sha256: Option<WrittenChecksums>,
    #[serde(default)]
    extract: Vec<WrittenExtraction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSource {
    root: Option<StorageRoot>,
    path: Option<String>,
    hub: Option<String>,
    revision: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenChecksums {
    File(String),
    Map(BTreeMap<String, String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenExtraction {
    archive: String,
    into: String,
    max_bytes: Option<u64>,
    max_entries: Option<u64>,
    max_ratio: Option<u64>,
}

impl Bootstrap {
    /// Reads a file; lists of checksums that it names are next to it.
    pub fn load(path: &Path) -> Result<Self> {
        let written: WrittenFile = from_yaml(&read_text(path)?, &path.display().to_string())?;
        if written.schema != SCHEMA {
            let message = format!("schema: '{}' is not a known version; expected {SCHEMA}", written.schema);
            return Err(ProjectError::usage(message));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut assets = Vec::new();
        let models = written.models.into_iter().map(|asset| (AssetKind::Model, asset));
        for (kind, asset) in
            models.chain(written.datasets.into_iter().map(|asset| (AssetKind::Dataset, asset)))
        {
            let name = asset.name.clone();
            let read = Asset::read(kind, asset, folder).map_err(|error| ProjectError {
                message: format!("{} '{name}': {}", kind.name(), error.message),
                ..error
            });
            assets.push(read?);
        }
        check_overlaps(&assets)?;
        Ok(Self { roots: written.roots, assets })
    }

    /// Only the assets with these names; all if none are given.
    pub fn select(mut self, names: &[String]) -> Result<Self> {
        let known: Vec<String> = self.assets.iter().map(|asset| asset.name.clone()).collect();
        if let Some(name) = names.iter().find(|name| !known.contains(name)) {
            let message = format!("there is no asset '{name}'{}", list_of(&known));
            return Err(ProjectError::usage(message).suggest(name, known.iter().map(String::as_str)));
        }
        self.assets.retain(|asset| names.is_empty() || names.contains(&asset.name));
        Ok(self)
    }

    pub(super) fn root(
        &self,
        root: StorageRoot,
        environment: &EnvironmentLookup,
        project: &Path,
    ) -> Option<PathBuf> {
        let of_file = || self.roots.get(&root).map(|path| hub::absolute(environment, project, path));
        hub::path_of_variable(environment, project, root.variable()).or_else(of_file)
    }

    pub(super) fn hub_caches(&self, environment: &EnvironmentLookup, project: &Path) -> Vec<PathBuf> {
        hub::caches(environment, project, self.roots.get(&StorageRoot::HfSnapshots).map(String::as_str))
    }
}

impl Asset {
    fn read(kind: AssetKind, written: WrittenAsset, folder: &Path) -> Result<Self> {
        let name = written.name;
        check_name("name", &name)?;
        let shelf = Path::new(kind.plural());
        // A dataset's link is its source-data; an archive goes anywhere into its folder.
        let (base, default) = match kind {
            AssetKind::Model => (shelf.to_owned(), shelf.join(&name)),
            AssetKind::Dataset => (shelf.join(&name).join(SOURCE_DATA), shelf.join(&name).join(SOURCE_DATA)),
        };
        let target = match &written.target {
            Some(text) => path("target", text)?,
            None => default,
        };
        if !target.starts_with(&base) || (kind == AssetKind::Model && target == base) {
            return Err(misplaced(&target, &base));
        }
        let within = if kind == AssetKind::Model { shelf.to_owned() } else { shelf.join(&name) };
        let mut extract = Vec::new();
        for item in written.extract {
            let into = path("into", &item.into)?;
            if !into.starts_with(&within) || into == within {
                return Err(misplaced(&into, &within));
            }
            let default = Limits::default();
            let limits = Limits {
                max_bytes: item.max_bytes.unwrap_or(default.max_bytes),
                max_entries: item.max_entries.unwrap_or(default.max_entries),
                max_ratio: item.max_ratio.unwrap_or(default.max_ratio),
            };
            extract.push(Extraction { archive: path("archive", &item.archive)?, into, limits });
        }
        for required in &written.required {
            pattern(required).map_err(|problem| refused("required", required, &problem))?;
        }
        let sha256 = match written.sha256 {
            None => Vec::new(),
            Some(WrittenChecksums::Map(map)) => {
                let pairs = map.into_iter().map(|(file, hash)| checksum(&file, &hash));
                pairs.collect::<Result<_>>()?
            }
            Some(WrittenChecksums::File(name)) => checksums_of(&folder.join(path("sha256", &name)?))?,
        };
        let source = source_of(written.source)?;
        Ok(Asset { name, kind, target, source, required: written.required, sha256, extract })
    }
}

fn refused(key: &str, value: &str, problem: &str) -> ProjectError {
    let value: String = value.chars().take(200).collect();
    ProjectError::usage(format!("{key}: '{value}' {problem}"))
}

fn path(key: &str, text: &str) -> Result<PathBuf> {
    plain_path(text).map_err(|problem| refused(key, text, problem))
}

fn misplaced(target: &Path, base: &Path) -> ProjectError {
    ProjectError::usage(format!("the target '{}' must be below {}/", target.display(), base.display()))
}

fn source_of(written: WrittenSource) -> Result<AssetSource> {
    let WrittenSource { root, path: below, hub, revision } = written;
    match (root, below, hub) {
        (Some(root), Some(below), None) if revision.is_none() => {
            Ok(AssetSource::Path { root, path: path("source.path", &below)? })
        }
        (None, None, Some(repository)) => {
            if !hub::is_repository_id(&repository) {
                let problem = "is not a repository id, such as 'organization/name'";
                return Err(refused("source.hub", &repository, problem));
            }
            let revision = revision.unwrap_or_else(|| "main".to_owned());
            path("source.revision", &revision)?;
            Ok(AssetSource::Hub { repository, revision })
        }
        _ => Err(ProjectError::usage(
            "source needs either 'root' and 'path', or 'hub' and an optional 'revision'",
        )),
    }
}

fn checksum(file: &str, hash: &str) -> Result<(PathBuf, String)> {
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok((path("sha256", file)?, hash.to_ascii_lowercase()));
    }
    Err(refused("sha256", hash, "is not a SHA-256 of 64 hexadecimal digits"))
}

/// A list as `sha256sum` writes it: a hash, a blank, a blank or a star, and a file.
fn checksums_of(list: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut checksums = Vec::new();
    for (number, line) in (1..).zip(read_text(list)?.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let parts =
            line.split_once(' ').and_then(|(hash, file)| Some((hash, file.strip_prefix([' ', '*'])?)));
        let place = format!("{}:{number}", list.display());
        let (hash, file) = parts.ok_or_else(|| refused(&place, line, "is not a hash and a file"))?;
        checksums.push(checksum(file.strip_prefix("./").unwrap_or(file), hash)?);
    }
    Ok(checksums)
}

/// No two places can be equal or nested: a link inside a linked folder would be written into the storage behind it.
fn check_overlaps(assets: &[Asset]) -> Result<()> {
    let mut taken: Vec<&Path> = Vec::new();
    for (index, asset) in assets.iter().enumerate() {
        if assets[..index].iter().any(|other| other.kind == asset.kind && other.name == asset.name) {
            return Err(ProjectError::usage(format!(
                "two {} are named '{}'",
                asset.kind.plural(),
                asset.name
            )));
        }
        let places = asset.extract.iter().map(|extraction| extraction.into.as_path());
        for place in std::iter::once(asset.target.as_path()).chain(places) {
            if let Some(other) =
                taken.iter().find(|other| other.starts_with(place) || place.starts_with(other))
            {
                let message = format!("'{}' and '{}' would be nested", other.display(), place.display());
                return Err(ProjectError::usage(message));
            }
            taken.push(place);
        }
    }
    Ok(())
}

fn pattern(text: &str) -> std::result::Result<Pattern, String> {
    plain_path(text)?;
    Pattern::new(text).map_err(|error| error.msg.to_owned())
}

/// Whether a path matches a glob: `*` stays within a folder, `**` matches several.
pub(super) fn matches(glob: &str, path: &str) -> bool {
    let options = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    pattern(glob).is_ok_and(|pattern| pattern.matches_with(path, options))
}
