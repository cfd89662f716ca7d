//! Where the samples of a variant are.

use std::path::{Component, Path, PathBuf};

use super::{DATA, SOURCE};
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::files::{Disk, FileKind, FileSystem};
use crate::assets::subset::{FILE_LIST, Metadata, check_name, folders_in, recorded_root};

/// What stands in a variant's folder and is no sample.
const NO_SAMPLES: &[&str] = &[Metadata::FILE, "README.md"];

/// Where the samples of a variant are. Paths start where that of the dataset starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantFiles {
    /// The folder that paths of samples start from.
    pub root: PathBuf,
    /// Its list of files; without one, the files below `root`.
    pub list: Option<PathBuf>,
}

/// Finds a variant of the dataset whose samples are in `root`, a path from the project's folder.
///
/// # Errors
/// When there is no such variant, or it holds neither a list nor data.
pub fn locate_variant(project: &Path, root: &Path, variant: &str) -> Result<VariantFiles, AssetError> {
    check_name("dataset.variant", variant)?;
    let dataset = dataset_of(root);
    let folder = dataset.join(variant);
    let place = project.join(&folder);
    if !place.is_dir() {
        let names = variants_in(&project.join(&dataset));
        let name = dataset.file_name().unwrap_or(dataset.as_os_str()).to_string_lossy().into_owned();
        let fault =
            AssetFault::UnknownVariant { dataset: name, variant: variant.to_owned(), names: names.clone() };
        return Err(AssetError::new(fault).suggest(variant, names.iter().map(String::as_str)));
    }
    if is_file(&place.join(FILE_LIST)) {
        let metadata = place.join(Metadata::FILE);
        let recorded = if is_file(&metadata) { recorded_root(&metadata)? } else { None };
        let root = recorded.map_or_else(|| root.to_owned(), |recorded| dataset.join(recorded));
        return Ok(VariantFiles { root, list: Some(folder.join(FILE_LIST)) });
    }
    data_folder(&place)
        .map(|data| if data.is_empty() { folder.clone() } else { folder.join(data) })
        .map(|root| VariantFiles { root, list: None })
        .ok_or_else(|| AssetError::new(AssetFault::EmptyVariant { path: folder }))
}

/// Where a variant's own data are, from its folder; nothing where it has none.
pub(super) fn data_folder(place: &Path) -> Option<&'static str> {
    if place.join(DATA).is_dir() {
        return Some(DATA);
    }
    let names = Disk.names(place).unwrap_or_default();
    let is_sample = |name: &str| !name.starts_with('.') && !NO_SAMPLES.contains(&name);
    names.iter().filter_map(|name| name.to_str()).any(is_sample).then_some("")
}

/// The names of a dataset's variants.
pub(super) fn variants_in(dataset: &Path) -> Vec<String> {
    let holds = |name: &String| {
        let place = dataset.join(name);
        is_file(&place.join(Metadata::FILE)) || is_file(&place.join(FILE_LIST)) || place.join(DATA).is_dir()
    };
    // What a link leads to is the dataset as others made it.
    let is_own =
        |name: &String| name != SOURCE && matches!(Disk.kind(&dataset.join(name)), Ok(FileKind::Folder));
    folders_in(dataset).into_iter().filter(is_own).filter(holds).collect()
}

fn is_file(path: &Path) -> bool {
    matches!(Disk.kind(path), Ok(FileKind::File { .. }))
}

/// The folder of the dataset: `datasets/<name>`, or what is around a folder that lies elsewhere.
fn dataset_of(root: &Path) -> PathBuf {
    let plain: PathBuf = root.components().filter(|part| *part != Component::CurDir).collect();
    let mut parts = plain.components();
    match (parts.next(), parts.next()) {
        (Some(first), Some(name)) if first.as_os_str() == "datasets" => Path::new("datasets").join(name),
        _ => plain.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_a_folder_of_datasets_or_what_is_around_its_samples() {
        for (root, dataset) in [
            ("datasets/coco/source-data", "datasets/coco"),
            ("./datasets/coco/source-data/val", "datasets/coco"),
            ("datasets/coco", "datasets/coco"),
            ("/store/coco/source-data", "/store/coco"),
            ("samples", ""),
        ] {
            assert_eq!(dataset_of(Path::new(root)), Path::new(dataset), "{root}");
        }
    }
}
