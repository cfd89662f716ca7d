//! What is there of each asset.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::{Record, is_leftover};
use super::bootstrap::{Asset, AssetKind, Bootstrap, Extraction};
use super::error::{AssetError, ErrorReport};
use super::files::{FileKind, FileSystem};
use super::plan::Surroundings;
use super::project::Project;
use super::required::{self, Required};
use super::roots::Roots;
use super::source::{Located, locate};
use super::tracking::{Ignored, ignore_line};
use super::walk::{self, AssetSize, MAX_FILES};

/// What is there of each asset.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetStatusReport {
    /// The version of this document.
    pub schema_version: u32,
    /// One for each asset, in order.
    pub assets: Vec<AssetStatus>,
}

/// What exists of an asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetStatus {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: AssetKind,
    /// Where it appears, from the project's folder.
    pub target: PathBuf,
    /// What is at the path.
    #[serde(flatten)]
    pub state: LinkState,
    /// Where it is stored.
    pub source: Located,
    /// The files it must have.
    pub required: Vec<Required>,
    /// How large it is; none where nothing is there.
    pub size: Option<AssetSize>,
    /// Its unpacked archives.
    pub extractions: Vec<ExtractionStatus>,
    /// What needs attention.
    pub warnings: Vec<AssetWarning>,
}

/// What stands where an asset should appear.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum LinkState {
    /// A link to the asset's source.
    Linked {
        /// What it says.
        to: PathBuf,
    },
    /// A link to something else.
    LinkedElsewhere {
        /// What it says.
        to: PathBuf,
    },
    /// A link that leads nowhere, or in a circle.
    BrokenLink {
        /// What it says.
        to: PathBuf,
    },
    /// Nothing.
    Missing,
    /// A real file or folder.
    Real {
        /// What it is.
        found: FileKind,
    },
    /// It cannot be looked at, or lies outside the project.
    Unreadable {
        /// Why.
        error: ErrorReport,
    },
}

/// What exists of an archive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractionStatus {
    /// The archive, from the asset's source.
    pub archive: PathBuf,
    /// The folder it becomes.
    pub into: PathBuf,
    /// Whether it has.
    pub state: ExtractionState,
}

/// Whether an archive is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionState {
    /// It is.
    Extracted,
    /// It is not.
    Missing,
    /// Something else is at the path.
    Other,
}

/// What needs attention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "warning")]
pub enum AssetWarning {
    /// Git would track a link to storage outside the project.
    #[error("git would track '{}'", path.display())]
    GitWouldTrack {
        /// The link.
        path: PathBuf,
        /// What to add to `.gitignore`.
        ignore_line: String,
    },
    /// An extraction was interrupted for good.
    #[error("'{}' is left over from an interrupted extraction", path.display())]
    Leftover {
        /// The folder, which may be removed.
        path: PathBuf,
    },
    /// Files that cannot be read, broken links among them.
    #[error("{count} entries cannot be read, '{first}' among them")]
    Unreadable {
        /// How many.
        count: usize,
        /// One of them.
        first: String,
    },
}

impl AssetStatus {
    /// Whether nothing is left to do: it is there, and has what it must have.
    #[must_use]
    pub fn is_fine(&self) -> bool {
        matches!(self.state, LinkState::Linked { .. } | LinkState::Real { .. })
            && self.required.iter().all(Required::is_met)
            && self.extractions.iter().all(|extraction| extraction.state == ExtractionState::Extracted)
    }
}

/// Looks at what is there of each asset.
#[must_use]
pub fn status(project: &Project, bootstrap: &Bootstrap, around: &Surroundings<'_>) -> AssetStatusReport {
    let roots = Roots { bootstrap, environment: around.environment, project: project.root() };
    let assets = bootstrap.assets.iter().map(|asset| {
        let located = locate(asset, &roots, around.files);
        asset_status(project, asset, located, around)
    });
    AssetStatusReport { schema_version: super::SCHEMA_VERSION, assets: assets.collect() }
}

fn asset_status(project: &Project, asset: &Asset, source: Located, around: &Surroundings<'_>) -> AssetStatus {
    let place = project.root().join(&asset.target);
    let state = link_state(project, &asset.target, &source, around.files);
    let mut warnings = Vec::new();
    let is_link = matches!(
        state,
        LinkState::Linked { .. } | LinkState::LinkedElsewhere { .. } | LinkState::BrokenLink { .. }
    );
    if is_link && around.tracking.ignored(project.root(), &asset.target, false) == Ignored::No {
        let ignore_line = ignore_line(&asset.target);
        warnings.push(AssetWarning::GitWouldTrack { path: asset.target.clone(), ignore_line });
    }
    let is_there = matches!(
        state,
        LinkState::Linked { .. } | LinkState::LinkedElsewhere { .. } | LinkState::Real { .. }
    );
    let listing = if is_there { walk::list(&place, MAX_FILES) } else { walk::Listing::default() };
    if let Some(first) = listing.unreadable.first() {
        warnings.push(AssetWarning::Unreadable { count: listing.unreadable.len(), first: first.clone() });
    }
    let extractions = asset.extract.iter().map(|extraction| {
        warnings.extend(leftovers(project, extraction, around.files));
        extraction_status(project, extraction, around.files)
    });
    let extractions = extractions.collect();
    AssetStatus {
        name: asset.name.clone(),
        kind: asset.kind,
        target: asset.target.clone(),
        source,
        required: required::check(&asset.required, &listing),
        size: is_there.then(|| listing.size()),
        state,
        extractions,
        warnings,
    }
}

fn link_state(project: &Project, target: &Path, source: &Located, files: &dyn FileSystem) -> LinkState {
    let looked = project.inside(target, files).and_then(|place| {
        let found = files.kind(&place).map_err(|error| AssetError::unreadable(target, error))?;
        Ok((place, found))
    });
    let (place, found) = match looked {
        Ok(looked) => looked,
        Err(error) => return LinkState::Unreadable { error: error.report() },
    };
    let place = place.as_path();
    match found {
        FileKind::Missing => LinkState::Missing,
        FileKind::Link => {
            let to = files.link_text(place).unwrap_or_default();
            let Ok(end) = files.resolved(place) else { return LinkState::BrokenLink { to } };
            match source {
                Located::At { path, .. } if files.resolved(path).is_ok_and(|path| path == end) => {
                    LinkState::Linked { to }
                }
                _ => LinkState::LinkedElsewhere { to },
            }
        }
        found => LinkState::Real { found },
    }
}

fn extraction_status(project: &Project, extraction: &Extraction, files: &dyn FileSystem) -> ExtractionStatus {
    let place = project.root().join(&extraction.into);
    let state = match files.kind(&place) {
        Ok(FileKind::Missing) => ExtractionState::Missing,
        Ok(FileKind::Folder) if Record::read(&place, files).is_some() => ExtractionState::Extracted,
        _ => ExtractionState::Other,
    };
    ExtractionStatus { archive: extraction.archive.clone(), into: extraction.into.clone(), state }
}

fn leftovers(project: &Project, extraction: &Extraction, files: &dyn FileSystem) -> Vec<AssetWarning> {
    let Some(parent) = extraction.into.parent() else { return Vec::new() };
    let own = format!(".{}.", extraction.into.file_name().unwrap_or_default().to_string_lossy());
    let names = files.names(&project.root().join(parent)).unwrap_or_default();
    let names = names.iter().filter_map(|name| name.to_str());
    let names = names.filter(|name| name.starts_with(&own) && is_leftover(name));
    names.map(|name| AssetWarning::Leftover { path: parent.join(name) }).collect()
}
