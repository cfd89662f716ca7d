//! Making a variant of transformed data: a command of the user's writes it, or has written it.

use std::fs;
use std::path::{Path, PathBuf};

use rooflens_compose::clock::LocalTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::locate::{data_folder, locate_variant};
use super::metadata::{VariantMetadata, VariantOrigin};
use super::verify::digest;
use super::{DATA, SOURCE, VariantFiles};
use crate::assets::archive::Staging;
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::files::{Disk, FileKind, FileSystem};
use crate::assets::project::Project;
use crate::assets::subset::{check_name, dataset_folder, folders_in};
use crate::assets::walk::{self, Listing, MAX_FILES};
use crate::assets::watch::AssetObserver;

/// A variant that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantRequest {
    /// The dataset.
    pub dataset: String,
    /// The variant's name.
    pub variant: String,
    /// The folder or variant of the dataset it is made from.
    pub parent: String,
    /// How it is made, or was.
    pub transform: VariantOrigin,
    /// The time to write down, in UTC.
    pub created: LocalTime,
}

/// What would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantPlan {
    /// The variant's folder, from the project's.
    pub folder: PathBuf,
    /// The folder that the parent's paths start from, from the project's.
    pub parent_root: PathBuf,
    /// The parent's list of files, where it is a subset.
    pub parent_list: Option<PathBuf>,
}

/// What a command needs to know.
#[derive(Debug, Clone, Copy)]
pub struct Transforming<'a> {
    /// The folder of the parent's files.
    pub parent_root: &'a Path,
    /// The parent's list of files, where it is a subset.
    pub parent_list: Option<&'a Path>,
    /// The empty folder that it writes to.
    pub output: &'a Path,
}

/// Checks that a variant can be made. Reads only.
///
/// # Errors
/// When the dataset or the parent is not there, or something has the variant's name that is not to be
/// recorded.
pub fn plan_variant(project: &Project, request: &VariantRequest) -> Result<VariantPlan, AssetError> {
    let dataset = dataset_folder(project, &request.dataset)?;
    check_name("variant", &request.variant)?;
    check_name("parent", &request.parent)?;
    let folder = dataset.join(&request.variant);
    let place = project.inside(&folder, &Disk)?;
    let is_free = match &request.transform {
        VariantOrigin::Command { .. } => matches!(Disk.kind(&place), Ok(FileKind::Missing)),
        VariantOrigin::Description { .. } if data_folder(&place).is_none() => {
            return Err(AssetError::new(AssetFault::EmptyVariant { path: folder }));
        }
        VariantOrigin::Description { .. } => {
            matches!(Disk.kind(&place.join(VariantMetadata::FILE)), Ok(FileKind::Missing))
        }
    };
    if !is_free {
        return Err(AssetError::new(AssetFault::VariantExists { path: folder }));
    }
    let parent = parent(project, &dataset, request)?;
    Ok(VariantPlan { folder, parent_root: parent.root, parent_list: parent.list })
}

fn parent(project: &Project, dataset: &Path, request: &VariantRequest) -> Result<VariantFiles, AssetError> {
    let root = dataset.join(&request.parent);
    let place = project.root().join(&root);
    if !matches!(Disk.kind_behind(&place), Ok(FileKind::Folder)) || request.parent == request.variant {
        let names = folders_in(&project.root().join(dataset));
        let (dataset, parent) = (request.dataset.clone(), request.parent.clone());
        let fault = AssetFault::NoParent { dataset, parent, names: names.clone() };
        return Err(AssetError::new(fault).suggest(&request.parent, names.iter().map(String::as_str)));
    }
    // Source data are as others made them, whatever files they have.
    if request.parent != SOURCE && place.join(VariantMetadata::FILE).is_file() {
        return locate_variant(project.root(), &root, &request.parent);
    }
    Ok(VariantFiles { root, list: None })
}

/// Makes a variant, all of it or nothing. `run` starts the command of the request, and is not called
/// where the data are there already.
///
/// # Errors
/// When the command fails or writes nothing, or something has come into the variant's place.
pub fn write_variant(
    project: &Project,
    request: &VariantRequest,
    plan: &VariantPlan,
    run: &mut dyn FnMut(&Transforming<'_>) -> Result<(), AssetError>,
    watch: &mut dyn AssetObserver,
) -> Result<VariantMetadata, AssetError> {
    let place = project.inside(&plan.folder, &Disk)?;
    if let VariantOrigin::Description { .. } = &request.transform {
        let path = data_folder(&place).unwrap_or_default();
        let metadata = metadata(request, &place.join(path), path, watch)?;
        write_metadata(&place, &metadata)?;
        return Ok(metadata);
    }
    let staging = Staging::beside(&place)?;
    let output = staging.folder().join(DATA);
    fs::create_dir(&output).map_err(|error| AssetError::unwritable(&output, error))?;
    let parent_list = plan.parent_list.as_ref().map(|list| project.root().join(list));
    run(&Transforming {
        parent_root: &project.root().join(&plan.parent_root),
        parent_list: parent_list.as_deref(),
        output: &output,
    })?;
    let metadata = metadata(request, &output, DATA, watch)?;
    if metadata.files == 0 {
        return Err(AssetError::new(AssetFault::NothingMade { path: plan.folder.clone() }));
    }
    write_metadata(staging.folder(), &metadata)?;
    staging.become_folder(&place)?;
    Ok(metadata)
}

fn write_metadata(folder: &Path, metadata: &VariantMetadata) -> Result<(), AssetError> {
    let path = folder.join(VariantMetadata::FILE);
    fs::write(&path, metadata.to_yaml()).map_err(|error| AssetError::unwritable(&path, error))
}

fn metadata(
    request: &VariantRequest,
    data: &Path,
    path: &str,
    watch: &mut dyn AssetObserver,
) -> Result<VariantMetadata, AssetError> {
    let listing = samples(data, path);
    if let Some(entry) = listing.unreadable.first() {
        let problem = "cannot be read, or its name is not UTF-8";
        return Err(AssetError::new(AssetFault::ListEntry { entry: entry.clone(), problem }));
    }
    let size = listing.size();
    Ok(VariantMetadata {
        schema: crate::assets::SCHEMA_VERSION,
        dataset: request.dataset.clone(),
        variant: request.variant.clone(),
        parent: request.parent.clone(),
        created: request.created.format("%Y-%m-%dT%H:%M:%SZ"),
        transform: request.transform.clone(),
        files: size.files,
        bytes: size.bytes,
        path: if path.is_empty() { ".".to_owned() } else { path.to_owned() },
        sha256: digest(&listing, watch)?,
    })
}

/// The files of a variant's data. Where they stand in its own folder, what describes it is none of them.
pub(super) fn samples(data: &Path, path: &str) -> Listing {
    let mut listing = walk::list(data, MAX_FILES);
    if path.is_empty() || path == "." {
        listing.files.retain(|file| file.path != VariantMetadata::FILE && file.path != "README.md");
    }
    listing
}
