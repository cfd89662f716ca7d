//! Variants of datasets: reproducible samples of their files.
//!
//! A variant is a folder `datasets/<name>/<variant>/` with `metadata.yaml`, which says where it comes
//! from, and `files.txt`, a path a line, epoch after epoch. No file is copied. The same request on
//! the same files gives the same list on every machine, for ever.

mod file_list;
mod metadata;
mod parent;
mod sampler;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_compose::clock::LocalTime;
use rooflens_compose::yaml;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use metadata::{FileList, Metadata, Transform, VariantSize};
pub(super) use metadata::{map, text, whole};
pub(super) use parent::{check_name, dataset_folder, folders_in, recorded_root};
pub use sampler::{GENERATOR, epoch_indices};

use super::archive::Staging;
use super::error::{AssetError, AssetFault};
use super::files::{Disk, FileKind, FileSystem};
use super::project::Project;
use super::verify::hex;
use parent::find_parent;

/// The name of the file list.
pub(super) const FILE_LIST: &str = "files.txt";
/// The most lines of a file list.
const MAX_SAMPLES: u64 = 10_000_000;

/// A variant that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubsetRequest {
    /// The dataset.
    pub dataset: String,
    /// The variant's name.
    pub variant: String,
    /// The folder or variant of the dataset to draw from; `source-data`, mostly.
    pub parent: String,
    /// A list of the files to draw from, a path a line from the parent's folder. Without one, all
    /// files of the parent, sorted by the bytes of their paths.
    pub list: Option<PathBuf>,
    /// How to draw.
    pub sampling: SubsetSampling,
    /// The time to write down, in UTC.
    pub created: LocalTime,
}

/// How to draw files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubsetSampling {
    /// How often to go through the parent.
    pub epochs: u64,
    /// How many files each time; all where it is not said.
    pub samples_per_epoch: Option<u64>,
    /// Whether in random order, another one each epoch.
    pub shuffle: bool,
    /// What the generator begins with.
    pub seed: u64,
}

/// A variant, to be written or already there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subset {
    /// Its folder, from the project's.
    pub folder: PathBuf,
    /// Whether the same variant is there already.
    pub is_there: bool,
    /// Where it comes from.
    pub metadata: Metadata,
    /// Its files, epoch after epoch.
    pub files: Vec<String>,
}

/// Draws the files of a variant. Reads only.
///
/// # Errors
/// When the dataset or the parent is not there, a list is wrong, there are too few files, or another
/// variant has the name.
pub fn plan_subset(project: &Project, request: &SubsetRequest) -> Result<Subset, AssetError> {
    let dataset = dataset_folder(project, &request.dataset)?;
    check_name("variant", &request.variant)?;
    let parent = find_parent(project, &dataset, request)?;
    let count = parent.files.len();
    let (per_epoch, samples) = sample_counts(&request.sampling, count)?;

    let mut drawn: Vec<usize> = Vec::with_capacity(samples);
    for epoch in 0..request.sampling.epochs {
        let SubsetSampling { shuffle, seed, .. } = request.sampling;
        drawn.extend(epoch_indices(count, per_epoch, shuffle, seed, epoch));
    }
    let different: HashMap<usize, u64> =
        drawn.iter().map(|index| (*index, parent.files[*index].bytes)).collect();
    let names: Vec<&str> = drawn.iter().map(|index| parent.files[*index].path.as_str()).collect();
    let population: Vec<&str> = parent.files.iter().map(|file| file.path.as_str()).collect();
    let list = file_list::write(&names);
    let metadata = Metadata {
        schema: super::SCHEMA_VERSION,
        dataset: request.dataset.clone(),
        variant: request.variant.clone(),
        parent: request.parent.clone(),
        root: parent.root,
        created: request.created.format("%Y-%m-%dT%H:%M:%SZ"),
        transform: Transform {
            kind: "sample".into(),
            generator: GENERATOR.into(),
            epochs: request.sampling.epochs,
            samples_per_epoch: u64::try_from(per_epoch).unwrap_or(u64::MAX),
            shuffle: request.sampling.shuffle,
            parent_files: count,
            parent_sha256: sha256(&file_list::write(&population)),
        },
        size: VariantSize { files: different.len(), samples: drawn.len(), bytes: different.values().sum() },
        seed: request.sampling.shuffle.then_some(request.sampling.seed),
        files: FileList { path: FILE_LIST.into(), sha256: sha256(&list) },
    };
    let folder = dataset.join(&request.variant);
    let files = names.into_iter().map(str::to_owned).collect();
    let (is_there, metadata) = compare(project, &folder, metadata, &list)?;
    Ok(Subset { folder, is_there, metadata, files })
}

/// Writes a variant, all of it or nothing. One that is there already is left alone.
///
/// # Errors
/// When it cannot be written, or something has come into its place.
pub fn write_subset(project: &Project, subset: &Subset) -> Result<(), AssetError> {
    if subset.is_there {
        return Ok(());
    }
    let place = project.inside(&subset.folder, &Disk)?;
    let staging = Staging::beside(&place)?;
    let names: Vec<&str> = subset.files.iter().map(String::as_str).collect();
    for (name, text) in [(FILE_LIST, file_list::write(&names)), (Metadata::FILE, subset.metadata.to_yaml())] {
        fs::write(staging.folder().join(name), text)
            .map_err(|error| AssetError::unwritable(&subset.folder.join(name), error))?;
    }
    staging.become_folder(&place)
}

fn sample_counts(sampling: &SubsetSampling, count: usize) -> Result<(usize, usize), AssetError> {
    let available = u64::try_from(count).unwrap_or(u64::MAX);
    let per_epoch = sampling.samples_per_epoch.unwrap_or(available);
    if per_epoch > available || available == 0 {
        return Err(AssetError::new(AssetFault::TooFewFiles { wanted: per_epoch.max(1), available }));
    }
    let samples = u128::from(per_epoch) * u128::from(sampling.epochs);
    if samples > u128::from(MAX_SAMPLES) || sampling.epochs > MAX_SAMPLES {
        let samples = samples.max(u128::from(sampling.epochs));
        return Err(AssetError::new(AssetFault::TooManySamples { samples, limit: MAX_SAMPLES }));
    }
    let whole = |number: u128| usize::try_from(number).unwrap_or(usize::MAX);
    Ok((whole(u128::from(per_epoch)), whole(samples)))
}

/// Whether the same variant is there; it keeps the time it was made at.
fn compare(
    project: &Project,
    folder: &Path,
    mut metadata: Metadata,
    list: &str,
) -> Result<(bool, Metadata), AssetError> {
    let place = project.root().join(folder);
    if matches!(Disk.kind(&place), Ok(FileKind::Missing)) {
        return Ok((false, metadata));
    }
    let there = fs::read_to_string(place.join(Metadata::FILE)).unwrap_or_default();
    let node = yaml::load(&there, Arc::from("metadata.yaml")).ok();
    let created = node.as_ref().and_then(|node| node.get(&["created"])?.as_str());
    if let Some(created) = created {
        metadata.created = created.to_owned();
    }
    let is_same = there == metadata.to_yaml()
        && fs::read_to_string(place.join(FILE_LIST)).is_ok_and(|text| text == list);
    if is_same {
        return Ok((true, metadata));
    }
    Err(AssetError::new(AssetFault::VariantExists { path: folder.to_owned() }))
}

pub(super) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}
