//! `bootstrap.yaml`: what a project needs from outside.

mod asset;
mod checksums;
mod fields;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_compose::value::Origin;
use rooflens_compose::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::Limits;
use super::error::{AssetError, AssetFault};
use super::files::FileSystem;
use super::roots::StorageRoot;
use fields::{Document, FILE, Fields};

/// What a project needs from outside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bootstrap {
    /// Where the roots are when no environment variable says otherwise, as written.
    pub roots: BTreeMap<StorageRoot, String>,
    /// Models, then datasets, in the order of writing.
    pub assets: Vec<Asset>,
}

/// A model or a dataset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Asset {
    /// Its name, unique among its kind.
    pub name: String,
    /// Whether it is a model or a dataset.
    pub kind: AssetKind,
    /// Where it appears, from the project's folder.
    pub target: PathBuf,
    /// Where it is stored.
    pub source: AssetSource,
    /// Globs of files that must be there.
    pub required: Vec<String>,
    /// What files must hash to.
    pub sha256: Vec<Checksum>,
    /// Archives to unpack.
    pub extract: Vec<Extraction>,
    /// Where it is written.
    #[serde(skip)]
    pub origin: Origin,
}

/// A model or a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetKind {
    /// A model: weights, a config, a tokenizer.
    Model,
    /// A dataset.
    Dataset,
}

impl AssetKind {
    /// The folder and the section of its kind.
    #[must_use]
    pub fn plural(self) -> &'static str {
        match self {
            AssetKind::Model => "models",
            AssetKind::Dataset => "datasets",
        }
    }
}

/// Where an asset is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "from")]
pub enum AssetSource {
    /// A file or folder below a root.
    Path {
        /// The root.
        root: StorageRoot,
        /// The path from there.
        path: PathBuf,
    },
    /// A repository in a Hugging Face hub cache.
    Hub {
        /// Its id, `organisation/name`.
        repository: String,
        /// A branch, a tag or a commit.
        revision: String,
    },
}

/// What a file must hash to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checksum {
    /// The file, from the asset's folder.
    pub file: PathBuf,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
}

/// An archive to unpack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extraction {
    /// The archive, from the asset's source.
    pub archive: PathBuf,
    /// The folder it becomes, from the project's folder.
    pub into: PathBuf,
    /// How much it may hold.
    pub limits: Limits,
}

/// The version of the file that is understood.
const SCHEMA: u64 = 1;
/// The most bytes of a file of this kind; larger ones are mistakes.
const MAX_FILE_BYTES: u64 = 16 << 20;

impl Bootstrap {
    /// Reads a file; lists of checksums that it names are read from beside it.
    ///
    /// # Errors
    /// When it cannot be read or is not what it should be.
    pub fn load(path: &Path, files: &dyn FileSystem) -> Result<Self, AssetError> {
        let text = read_text(path, files)?;
        let shown = path.display().to_string();
        let beside = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::read(&text, &shown, &|name| read_text(&beside.join(name), files))
    }

    /// Reads a text. `shown` is the name errors give it; `beside` reads the files it names.
    ///
    /// # Errors
    /// When it is not what it should be.
    pub fn read(
        text: &str,
        shown: &str,
        beside: &dyn Fn(&Path) -> Result<String, AssetError>,
    ) -> Result<Self, AssetError> {
        let node = yaml::load(text, Arc::from(shown)).map_err(AssetError::yaml)?;
        let document = Document { text, beside };
        let fields = Fields::of(&document, &node, FILE, &["schema", "roots", "models", "datasets"])?;
        match fields.whole("schema")? {
            Some(SCHEMA) => {}
            Some(_) => return Err(fields.refuse("schema", "is not a known version; expected 1")),
            None => return Err(fields.missing("schema")),
        }
        let roots = match fields.get("roots") {
            Some(node) => read_roots(&Fields::of(&document, node, "roots", StorageRoot::VARIABLES)?)?,
            None => BTreeMap::new(),
        };
        let mut assets = Vec::new();
        for kind in [AssetKind::Model, AssetKind::Dataset] {
            for (index, node) in fields.list(kind.plural())?.iter().enumerate() {
                assets.push(asset::read(&document, node, kind, index)?);
            }
        }
        check_overlaps(&document, &assets)?;
        Ok(Self { roots, assets })
    }

    /// Only the assets with these names; all where none are given.
    ///
    /// # Errors
    /// When no asset has a name.
    pub fn select(mut self, names: &[String]) -> Result<Self, AssetError> {
        let known: Vec<String> = self.assets.iter().map(|asset| asset.name.clone()).collect();
        for name in names {
            if !known.contains(name) {
                let fault = AssetFault::UnknownAsset { name: name.clone(), names: known.clone() };
                return Err(AssetError::new(fault).suggest(name, known.iter().map(String::as_str)));
            }
        }
        self.assets.retain(|asset| names.is_empty() || names.contains(&asset.name));
        Ok(self)
    }
}

fn read_roots(fields: &Fields<'_>) -> Result<BTreeMap<StorageRoot, String>, AssetError> {
    let mut roots = BTreeMap::new();
    for root in StorageRoot::ALL {
        if let Some(path) = fields.text(root.variable())? {
            if path.is_empty() {
                return Err(fields.refuse(root.variable(), "is empty"));
            }
            roots.insert(*root, path.to_owned());
        }
    }
    Ok(roots)
}

/// Every place may be taken once, and no place may lie in another: a link inside a linked folder
/// would be written into the storage behind it.
fn check_overlaps(document: &Document<'_>, assets: &[Asset]) -> Result<(), AssetError> {
    let mut taken: Vec<&Path> = Vec::new();
    for (index, asset) in assets.iter().enumerate() {
        let same = |other: &Asset| other.kind == asset.kind && other.name == asset.name;
        if assets[..index].iter().any(same) {
            let fault = AssetFault::DuplicateName { name: asset.name.clone(), kind: asset.kind.plural() };
            return Err(AssetError::at(fault, &asset.origin, document.text));
        }
        let places = asset.extract.iter().map(|extraction| extraction.into.as_path());
        for place in std::iter::once(asset.target.as_path()).chain(places) {
            let nested = |other: &&&Path| other.starts_with(place) || place.starts_with(other);
            if let Some(other) = taken.iter().find(nested) {
                let fault = AssetFault::Overlap { first: other.to_path_buf(), second: place.to_owned() };
                return Err(AssetError::at(fault, &asset.origin, document.text));
            }
            taken.push(place);
        }
    }
    Ok(())
}

pub(super) fn read_text(path: &Path, files: &dyn FileSystem) -> Result<String, AssetError> {
    let bytes = files.head(path, MAX_FILE_BYTES + 1).map_err(|error| AssetError::unreadable(path, error))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
        let fault = AssetFault::TooLarge { path: path.to_owned(), limit: MAX_FILE_BYTES };
        return Err(AssetError::new(fault));
    }
    String::from_utf8(bytes).map_err(|_| AssetError::new(AssetFault::NotText { path: path.to_owned() }))
}
