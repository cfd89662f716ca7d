//! The files that a variant is drawn from.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_compose::yaml;

use super::{FILE_LIST, Metadata, SubsetRequest, file_list};
use crate::assets::bootstrap::read_text;
use crate::assets::error::{AssetError, AssetFault};
use crate::assets::files::{Disk, FileKind, FileSystem};
use crate::assets::project::{Project, plain_name, plain_path};
use crate::assets::variant::{DATA, SOURCE};
use crate::assets::walk::{self, ListedFile, MAX_FILES};

/// The files to draw from, and the folder their paths start from.
pub(super) struct Parent {
    pub(super) root: String,
    pub(super) files: Vec<ListedFile>,
}

pub(in crate::assets) fn dataset_folder(project: &Project, name: &str) -> Result<PathBuf, AssetError> {
    check_name("dataset", name)?;
    let datasets = Path::new("datasets");
    let folder = datasets.join(name);
    // Something that is written below it must stay in the project.
    project.inside(&folder.join("variant"), &Disk)?;
    if matches!(Disk.kind_behind(&project.root().join(&folder)), Ok(FileKind::Folder)) {
        return Ok(folder);
    }
    let names = folders_in(&project.root().join(datasets));
    let fault = AssetFault::UnknownDataset { name: name.to_owned(), names: names.clone() };
    Err(AssetError::new(fault).suggest(name, names.iter().map(String::as_str)))
}

pub(super) fn find_parent(
    project: &Project,
    dataset: &Path,
    request: &SubsetRequest,
) -> Result<Parent, AssetError> {
    check_name("parent", &request.parent)?;
    let dataset = project.root().join(dataset);
    let folder = dataset.join(&request.parent);
    if !matches!(Disk.kind_behind(&folder), Ok(FileKind::Folder)) || request.parent == request.variant {
        let (parent, names) = (request.parent.clone(), folders_in(&dataset));
        let fault = AssetFault::NoParent { dataset: request.dataset.clone(), parent, names: names.clone() };
        return Err(AssetError::new(fault).suggest(&request.parent, names.iter().map(String::as_str)));
    }
    let metadata = folder.join(Metadata::FILE);
    let is_variant = matches!(Disk.kind(&metadata), Ok(FileKind::File { .. }))
        && matches!(Disk.kind(&folder.join(FILE_LIST)), Ok(FileKind::File { .. }));
    let (root, list) = if is_variant {
        (root_of(&metadata)?, Some(folder.join(FILE_LIST)))
    } else if request.parent != SOURCE && metadata.is_file() && folder.join(DATA).is_dir() {
        // Transformed data: what describes them is no sample.
        (format!("{}/{DATA}", request.parent), None)
    } else {
        (request.parent.clone(), None)
    };
    let base = dataset.join(&root);
    let files = match (request.list.as_ref(), list) {
        (Some(list), _) => read_list(list, &base)?,
        (None, Some(list)) => read_variant_list(&list, &base)?,
        (None, None) => list_folder(&base)?,
    };
    Ok(Parent { root, files })
}

fn list_folder(folder: &Path) -> Result<Vec<ListedFile>, AssetError> {
    let listing = walk::list(folder, MAX_FILES);
    if !listing.is_complete {
        let fault = AssetFault::TooManyFiles { path: folder.to_owned(), limit: MAX_FILES };
        return Err(AssetError::new(fault));
    }
    // A file left out in silence would make another sample of the same name.
    let odd = listing.files.iter().map(|file| &file.path).find(|path| plain_path(path).is_err());
    if let Some(entry) = odd.or(listing.unreadable.first()) {
        let problem = "cannot be in a list: it cannot be read, or its name is not plain UTF-8";
        return Err(AssetError::new(AssetFault::ListEntry { entry: entry.clone(), problem }));
    }
    Ok(listing.files)
}

fn read_list(list: &Path, base: &Path) -> Result<Vec<ListedFile>, AssetError> {
    file_list::read(&read_long_text(list)?, list, base)
}

/// The list of a variant names a file once for every epoch that has it; it is drawn from once.
fn read_variant_list(list: &Path, base: &Path) -> Result<Vec<ListedFile>, AssetError> {
    let text = read_long_text(list)?;
    let mut seen = HashSet::new();
    let once: Vec<&str> = text.lines().filter(|line| seen.insert(*line)).collect();
    file_list::read(&file_list::write(&once), list, base)
}

fn read_long_text(path: &Path) -> Result<String, AssetError> {
    fs::read_to_string(path).map_err(|error| AssetError::unreadable(path, error))
}

/// The folder that the paths of a variant start from.
fn root_of(metadata: &Path) -> Result<String, AssetError> {
    recorded_root(metadata)?.ok_or_else(|| {
        AssetError::new(AssetFault::MissingKey { key: "root", within: metadata.display().to_string() })
    })
}

/// The folder of the dataset that the paths of a variant start from, where its metadata say so.
pub(in crate::assets) fn recorded_root(metadata: &Path) -> Result<Option<String>, AssetError> {
    let text = read_text(metadata, &Disk)?;
    let node = yaml::load(&text, Arc::from(metadata.display().to_string())).map_err(AssetError::yaml)?;
    let Some(root) = node.get(&["root"]) else { return Ok(None) };
    let name = root.as_str().unwrap_or("");
    plain_path(name).map_err(|problem| {
        let (within, value) = ("root".to_owned(), name.to_owned());
        AssetError::at(AssetFault::FieldValue { within, value, problem }, &root.origin, &text)
    })?;
    Ok(Some(name.to_owned()))
}

pub(in crate::assets) fn check_name(within: &str, name: &str) -> Result<(), AssetError> {
    plain_name(name).map_err(|problem| {
        let (within, value) = (within.to_owned(), name.to_owned());
        AssetError::new(AssetFault::FieldValue { within, value, problem })
    })
}

/// The names of the folders in a folder, sorted.
pub(in crate::assets) fn folders_in(folder: &Path) -> Vec<String> {
    let names = Disk.names(folder).unwrap_or_default();
    let names = names.into_iter().filter_map(|name| name.into_string().ok());
    names.filter(|name| !name.starts_with('.') && folder.join(name).is_dir()).collect()
}
