//! Variants of datasets: folders next to `source-data`, each with its `metadata.yaml`.
//!
//! | variant | holds | made by |
//! | --- | --- | --- |
//! | a subset | `files.txt`: paths of its parent's files, epoch after epoch | [`plan_subset`], by drawing |
//! | transformed data | its own files, in `data/` | [`write_variant`], by a command of the user's |
//!
//! A subset copies no file. The same request on the same files gives the same list on every machine. [`locate_variant`]
//! finds the samples of either kind; [`verify_variants`] compares both with their metadata.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use rooflens_compose::clock::LocalTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use super::AssetObserver;
use super::archive::Staging;
use super::disk::{
    Kind, ListedFile, Listing, Project, check_name, folders_in, kind, kind_behind, list, plain_path,
    read_text,
};
use super::sampler::{GENERATOR, epoch_indices};
use super::verify::{FileProblem, Problem, Report, Verdict, hash};
use crate::package::hex;
use crate::project::error::{ProjectError, Result, list_of};
use crate::project::yaml_data::{from_yaml, to_yaml};

/// The name of a variant's metadata.
pub const METADATA: &str = "metadata.yaml";
const FILE_LIST: &str = "files.txt";
const README: &str = "README.md";
const DATA: &str = "data";
/// The dataset as others made it, which is no variant.
pub(super) const SOURCE: &str = "source-data";
const MAX_SAMPLES: u64 = 10_000_000;
const SCHEMA: u32 = 1;

/// A subset to draw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubsetRequest {
    /// The dataset.
    pub dataset: String,
    /// The variant's name.
    pub variant: String,
    /// The folder or variant of the dataset to draw from.
    pub parent: String,
    /// A list of the files to draw from, one path per line from the parent's folder. Without one, all files of the
    /// parent, sorted by the bytes of their paths.
    pub list: Option<PathBuf>,
    /// Number of passes over the parent.
    pub epochs: u64,
    /// Files per pass; all if absent.
    pub samples_per_epoch: Option<u64>,
    /// Whether to draw in random order, different in each epoch.
    pub shuffle: bool,
    /// Seed of the random order.
    pub seed: u64,
    /// The time to record, in UTC.
    pub created: LocalTime,
}

/// A subset, to be written or already there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Subset {
    /// Its folder, from the project's.
    pub folder: PathBuf,
    /// Whether the same subset exists.
    pub is_there: bool,
    /// Where it comes from.
    pub metadata: SubsetMetadata,
    /// Its files, epoch after epoch.
    pub files: Vec<String>,
}

/// `metadata.yaml` of a subset. With the parent's files, it can be drawn again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubsetMetadata {
    /// The version of this document.
    pub(crate) schema: u32,
    /// The dataset.
    pub(crate) dataset: String,
    /// The subset's name.
    pub(crate) variant: String,
    /// The folder or variant of the dataset that it was drawn from.
    pub parent: String,
    /// The folder of the dataset that the paths in the file list start from.
    pub root: String,
    /// When it was drawn, in UTC.
    pub created: String,
    /// How it was drawn.
    pub transform: Sampling,
    /// Its size.
    pub size: SubsetSize,
    /// Seed of the random order; null without shuffling.
    pub seed: Option<u64>,
    /// The list of its files.
    pub(crate) files: FileList,
}

/// How a subset was drawn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sampling {
    /// Always `sample`.
    pub(crate) kind: String,
    /// The name of the steps by which files were drawn.
    pub(crate) generator: String,
    /// Number of passes over the parent.
    pub epochs: u64,
    /// Files per pass.
    pub(crate) samples_per_epoch: usize,
    /// Whether in random order.
    pub(crate) shuffle: bool,
    /// Number of files to draw from.
    pub parent_files: usize,
    /// SHA-256 of their list.
    pub(crate) parent_sha256: String,
}

/// The size of a subset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubsetSize {
    /// Different files.
    pub files: usize,
    /// Lines of the file list.
    pub samples: usize,
    /// Bytes of the different files.
    pub bytes: u64,
}

/// The files of a variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct FileList {
    /// The list, or the folder with the data, from the variant's folder; `.` if the data is directly in it.
    pub(crate) path: String,
    /// SHA-256 of the list; of data, the list has lines as `sha256sum` writes them, sorted by path.
    pub(crate) sha256: String,
}

/// A variant of transformed data to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantRequest {
    /// The dataset.
    pub dataset: String,
    /// The variant's name.
    pub variant: String,
    /// The folder or variant of the dataset that it is made from.
    pub parent: String,
    /// How it is made, or was.
    pub transform: VariantOrigin,
    /// The time to record, in UTC.
    pub created: LocalTime,
}

/// What making a variant would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantPlan {
    /// The variant's folder, from the project's.
    pub folder: PathBuf,
    /// The folder that the parent's paths start from, from the project's.
    pub parent_root: PathBuf,
    /// The parent's list of files, if it is a subset.
    pub parent_list: Option<PathBuf>,
}

/// `metadata.yaml` of transformed data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantMetadata {
    /// The version of this document.
    pub(crate) schema: u32,
    /// The dataset.
    pub(crate) dataset: String,
    /// The variant's name.
    pub(crate) variant: String,
    /// The folder or variant of the dataset that it was made from.
    pub parent: String,
    /// When it was made or recorded, in UTC.
    pub(crate) created: String,
    /// How it was made.
    pub(crate) transform: VariantOrigin,
    /// Its size.
    pub size: VariantSize,
    /// Its data.
    pub(crate) files: FileList,
}

/// The size of transformed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSize {
    /// Number of files.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// How a variant was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum VariantOrigin {
    /// By a command that was started for it.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
    },
    /// Elsewhere, as the user describes it.
    Description {
        /// The description.
        text: String,
    },
}

/// Where the samples of a variant are. Paths start like the dataset's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariantFiles {
    /// The folder that paths of samples start from.
    pub root: PathBuf,
    /// Its list of files; without one, the files below `root`.
    pub list: Option<PathBuf>,
}

/// Whether a variant is what its metadata says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantVerification {
    /// The dataset.
    pub dataset: String,
    /// The variant.
    pub variant: String,
    /// The result.
    pub verdict: Verdict,
    /// How many files were checked.
    pub files_checked: usize,
    /// What is wrong.
    pub findings: Vec<FileProblem>,
}

/// The folder of a dataset, from the project's.
pub(super) fn dataset_folder(project: &Project, name: &str) -> Result<PathBuf> {
    check_name("dataset", name)?;
    let folder = Path::new("datasets").join(name);
    // What is written below it must stay in the project.
    project.inside(&folder.join("variant"))?;
    if project.root().join(&folder).is_dir() {
        return Ok(folder);
    }
    let names = folders_in(&project.root().join("datasets"));
    let message = format!("there is no dataset '{name}'{}", list_of(&names));
    Err(ProjectError::usage(message).suggest(name, names.iter().map(String::as_str)))
}

fn is_file(path: &Path) -> bool {
    matches!(kind(path), Ok(Kind::File(_)))
}

fn find_parent(
    project: &Project,
    dataset: &Path,
    name: &str,
    parent: &str,
    variant: &str,
) -> Result<VariantFiles> {
    check_name("parent", parent)?;
    let root = dataset.join(parent);
    let place = project.root().join(&root);
    if !place.is_dir() || parent == variant {
        let names = folders_in(&project.root().join(dataset));
        let message = format!("the dataset '{name}' has no '{parent}'{}", list_of(&names));
        return Err(ProjectError::usage(message).suggest(parent, names.iter().map(String::as_str)));
    }
    // Source data is as others made it, whatever files it has.
    if parent != SOURCE && place.join(METADATA).is_file() {
        return locate_variant(project.root(), &root, parent);
    }
    Ok(VariantFiles { root, list: None })
}

/// Draws the files of a subset. Reads only.
pub fn plan_subset(project: &Project, request: &SubsetRequest) -> Result<Subset> {
    let dataset = dataset_folder(project, &request.dataset)?;
    check_name("variant", &request.variant)?;
    let parent = find_parent(project, &dataset, &request.dataset, &request.parent, &request.variant)?;
    let base = project.root().join(&parent.root);
    let population = match (&request.list, &parent.list) {
        (Some(list), _) => read_list(list, &base, false)?,
        (None, Some(list)) => read_list(&project.root().join(list), &base, true)?,
        (None, None) => files_below(&base)?,
    };
    let count = population.len();
    let per_epoch = sample_count(request, count)?;
    let draw = |epoch| epoch_indices(count, per_epoch, request.shuffle, request.seed, epoch);
    let drawn: Vec<usize> = (0..request.epochs).flat_map(draw).collect();
    let different: HashMap<usize, u64> =
        drawn.iter().map(|index| (*index, population[*index].bytes)).collect();
    let files: Vec<String> = drawn.iter().map(|index| population[*index].path.clone()).collect();
    let all = lines(population.iter().map(|file| file.path.as_str()));
    let list = lines(files.iter().map(String::as_str));
    let root = parent.root.strip_prefix(&dataset).unwrap_or(&parent.root).to_string_lossy().into_owned();
    let mut metadata = SubsetMetadata {
        schema: SCHEMA,
        dataset: request.dataset.clone(),
        variant: request.variant.clone(),
        parent: request.parent.clone(),
        root,
        created: time(&request.created),
        transform: Sampling {
            kind: "sample".to_owned(),
            generator: GENERATOR.to_owned(),
            epochs: request.epochs,
            samples_per_epoch: per_epoch,
            shuffle: request.shuffle,
            parent_files: count,
            parent_sha256: sha256(&all),
        },
        size: SubsetSize { files: different.len(), samples: drawn.len(), bytes: different.values().sum() },
        seed: request.shuffle.then_some(request.seed),
        files: FileList { path: FILE_LIST.to_owned(), sha256: sha256(&list) },
    };
    let folder = dataset.join(&request.variant);
    let place = project.root().join(&folder);
    let is_there = !matches!(kind(&place), Ok(Kind::Missing));
    if is_there {
        let text = fs::read_to_string(place.join(METADATA)).unwrap_or_default();
        let there = from_yaml::<SubsetMetadata>(&text, METADATA).ok();
        // The same subset keeps the time it was drawn at.
        metadata.created = there.as_ref().map(|there| there.created.clone()).unwrap_or_default();
        let is_same = there.is_some_and(|there| there == metadata)
            && fs::read_to_string(place.join(FILE_LIST)).is_ok_and(|text| text == list);
        if !is_same {
            return Err(exists(&folder));
        }
    }
    Ok(Subset { folder, is_there, metadata, files })
}

impl SubsetMetadata {
    /// The text of the file.
    pub fn to_yaml(&self) -> String {
        to_yaml(self)
    }
}

/// Writes a subset, all of it or nothing. A subset that exists is not changed.
pub fn write_subset(project: &Project, subset: &Subset) -> Result<()> {
    if subset.is_there {
        return Ok(());
    }
    let place = project.inside(&subset.folder)?;
    let staging = Staging::next_to(&place)?;
    let list = lines(subset.files.iter().map(String::as_str));
    for (name, text) in [(FILE_LIST, list), (METADATA, subset.metadata.to_yaml())] {
        fs::write(staging.folder().join(name), text)
            .map_err(|error| ProjectError::unwritable(&subset.folder.join(name), error))?;
    }
    staging.become_folder(&place)
}

fn exists(folder: &Path) -> ProjectError {
    let message = format!("'{}' already exists and differs from the request", folder.display());
    ProjectError::environment(message).hint("choose another variant name, or move it away")
}

fn time(created: &LocalTime) -> String {
    created.format("%Y-%m-%dT%H:%M:%SZ")
}

fn sample_count(request: &SubsetRequest, count: usize) -> Result<usize> {
    let available = count as u64;
    let wanted = request.samples_per_epoch.unwrap_or(available);
    if wanted > available || available == 0 {
        let wanted = wanted.max(1);
        let message =
            format!("{wanted} samples per epoch were requested, but there are only {available} files");
        return Err(ProjectError::usage(message).hint(format!("ask for at most {available}")));
    }
    let samples = u128::from(wanted.max(1)) * u128::from(request.epochs);
    if samples > u128::from(MAX_SAMPLES) {
        return Err(ProjectError::usage(format!("a list of {samples} samples is longer than {MAX_SAMPLES}")));
    }
    Ok(usize::try_from(wanted).unwrap_or(count))
}

fn lines<'a>(files: impl Iterator<Item = &'a str>) -> String {
    files.flat_map(|file| [file, "\n"]).collect()
}

fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn unlisted(entry: &str, problem: &str) -> ProjectError {
    let entry: String = entry.chars().take(200).collect();
    ProjectError::usage(format!("'{entry}' {problem}"))
}

fn files_below(folder: &Path) -> Result<Vec<ListedFile>> {
    let listing = list(folder);
    if !listing.is_complete {
        let message = format!("'{}' has more than {} files", folder.display(), listing.files.len());
        return Err(ProjectError::usage(message));
    }
    // A file that is left out silently would make another sample of the same name.
    let odd = listing.files.iter().map(|file| &file.path).find(|path| plain_path(path).is_err());
    match odd.or(listing.unreadable.first()) {
        Some(odd) => {
            Err(unlisted(odd, "cannot be in a list: it cannot be read, or its name is not plain UTF-8"))
        }
        None => Ok(listing.files),
    }
}

/// Reads a list of files below a folder. Blank lines are skipped; there are no comments, since a file can be named `#1`.
/// The list of a variant names a file once per epoch: `may_repeat`.
fn read_list(path: &Path, folder: &Path, may_repeat: bool) -> Result<Vec<ListedFile>> {
    let text = fs::read_to_string(path).map_err(|error| ProjectError::unreadable(path, error))?;
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |problem: &str| unlisted(line, &format!("{problem} ({}:{number})", path.display()));
        let file = plain_path(line).map_err(wrong)?;
        if !seen.insert(line) {
            if may_repeat {
                continue;
            }
            return Err(wrong("is listed twice"));
        }
        match kind_behind(&folder.join(file)) {
            Ok(Kind::File(bytes)) => files.push(ListedFile { path: line.to_owned(), bytes }),
            _ => return Err(wrong("is not a file of the dataset")),
        }
    }
    Ok(files)
}

/// Checks that a variant can be made. Reads only.
pub fn plan_variant(project: &Project, request: &VariantRequest) -> Result<VariantPlan> {
    let dataset = dataset_folder(project, &request.dataset)?;
    check_name("variant", &request.variant)?;
    let folder = dataset.join(&request.variant);
    let place = project.inside(&folder)?;
    let new = match &request.transform {
        VariantOrigin::Command { .. } => place,
        VariantOrigin::Description { .. } if data_folder(&place).is_none() => return Err(empty(&folder)),
        VariantOrigin::Description { .. } => place.join(METADATA),
    };
    if !matches!(kind(&new), Ok(Kind::Missing)) {
        return Err(exists(&folder));
    }
    let parent = find_parent(project, &dataset, &request.dataset, &request.parent, &request.variant)?;
    Ok(VariantPlan { folder, parent_root: parent.root, parent_list: parent.list })
}

fn empty(folder: &Path) -> ProjectError {
    ProjectError::usage(format!("'{}' has neither files.txt nor data", folder.display()))
        .hint("put its files into data/ there; rooflens assets subset makes one of the parent's files")
}

/// Makes a variant, all of it or nothing. `run` starts the command of the request, with the absolute paths of the parent
/// and of the empty folder that it writes to; it is not called if the data exists.
pub fn write_variant(
    project: &Project,
    request: &VariantRequest,
    plan: &VariantPlan,
    run: &mut dyn FnMut(&VariantFiles, &Path) -> Result<()>,
    watch: &mut dyn AssetObserver,
) -> Result<VariantMetadata> {
    let place = project.inside(&plan.folder)?;
    if let VariantOrigin::Description { .. } = &request.transform {
        let path = data_folder(&place).unwrap_or_default();
        let metadata = describe(request, &place.join(path), path, watch)?;
        write_metadata(&place, &metadata)?;
        return Ok(metadata);
    }
    let staging = Staging::next_to(&place)?;
    let output = staging.folder().join(DATA);
    fs::create_dir(&output).map_err(|error| ProjectError::unwritable(&output, error))?;
    let list = plan.parent_list.as_ref().map(|list| project.root().join(list));
    run(&VariantFiles { root: project.root().join(&plan.parent_root), list }, &output)?;
    let metadata = describe(request, &output, DATA, watch)?;
    if metadata.size.files == 0 {
        let message = format!("the command wrote no file for '{}'", plan.folder.display());
        return Err(ProjectError::environment(message)
            .hint("it must write to the folder in ROOFLENS_OUTPUT; nothing was kept"));
    }
    write_metadata(staging.folder(), &metadata)?;
    staging.become_folder(&place)?;
    Ok(metadata)
}

fn write_metadata(folder: &Path, metadata: &VariantMetadata) -> Result<()> {
    let path = folder.join(METADATA);
    fs::write(&path, to_yaml(metadata)).map_err(|error| ProjectError::unwritable(&path, error))
}

fn describe(
    request: &VariantRequest,
    data: &Path,
    path: &str,
    watch: &mut dyn AssetObserver,
) -> Result<VariantMetadata> {
    let listing = samples(data, path);
    if let Some(entry) = listing.unreadable.first() {
        return Err(unlisted(entry, "cannot be read, or its name is not UTF-8"));
    }
    let size = listing.size();
    let path = if path.is_empty() { ".".to_owned() } else { path.to_owned() };
    Ok(VariantMetadata {
        schema: SCHEMA,
        dataset: request.dataset.clone(),
        variant: request.variant.clone(),
        parent: request.parent.clone(),
        created: time(&request.created),
        transform: request.transform.clone(),
        size: VariantSize { files: size.files, bytes: size.bytes },
        files: FileList { path, sha256: digest(&listing, watch)? },
    })
}

/// The files of a variant's data. Directly in its folder, the files that describe it are not samples.
fn samples(data: &Path, path: &str) -> Listing {
    let mut listing = list(data);
    if path.is_empty() {
        listing.files.retain(|file| ![METADATA, README].contains(&file.path.as_str()));
    }
    listing
}

/// SHA-256 of a list of files: lines as `sha256sum` writes them, sorted by path.
fn digest(listing: &Listing, watch: &mut dyn AssetObserver) -> Result<String> {
    let mut list = Sha256::new();
    for file in &listing.files {
        let digest = hash(&listing.folder.join(&file.path), watch)?;
        let digest = digest.ok_or_else(|| unlisted(&file.path, "cannot be read"))?;
        list.update(format!("{digest}  {}\n", file.path));
    }
    Ok(hex(&list.finalize()))
}

/// The folder of a variant's own data, from its folder; `None` if it has none.
fn data_folder(place: &Path) -> Option<&'static str> {
    if place.join(DATA).is_dir() {
        return Some(DATA);
    }
    let names = fs::read_dir(place).into_iter().flatten().flatten();
    let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let is_sample = |name: String| !name.starts_with('.') && ![METADATA, README].contains(&name.as_str());
    names.any(is_sample).then_some("")
}

fn variants_in(dataset: &Path) -> Vec<String> {
    let is_variant = |name: &String| {
        let place = dataset.join(name);
        // What a link leads to is the dataset as others made it.
        name != SOURCE
            && matches!(kind(&place), Ok(Kind::Folder))
            && (is_file(&place.join(METADATA))
                || is_file(&place.join(FILE_LIST))
                || place.join(DATA).is_dir())
    };
    folders_in(dataset).into_iter().filter(is_variant).collect()
}

/// Finds a variant of the dataset whose samples are in `root`, a path from the project's folder.
pub fn locate_variant(project: &Path, root: &Path, variant: &str) -> Result<VariantFiles> {
    check_name("dataset.variant", variant)?;
    let dataset = dataset_of(root);
    let folder = dataset.join(variant);
    let place = project.join(&folder);
    if !place.is_dir() {
        let names = variants_in(&project.join(&dataset));
        let name = dataset.file_name().unwrap_or(dataset.as_os_str()).to_string_lossy();
        let message = format!("the dataset '{name}' has no variant '{variant}'{}", list_of(&names));
        let hint = format!(
            "rooflens assets subset {name} NAME creates one by sampling; rooflens assets variant creates others"
        );
        let error = ProjectError::usage(message).hint(hint);
        return Err(error.suggest(variant, names.iter().map(String::as_str)));
    }
    if is_file(&place.join(FILE_LIST)) {
        let root = match recorded_root(&place.join(METADATA))? {
            Some(recorded) => dataset.join(recorded),
            None => root.to_owned(),
        };
        return Ok(VariantFiles { root, list: Some(folder.join(FILE_LIST)) });
    }
    match data_folder(&place) {
        Some("") => Ok(VariantFiles { root: folder, list: None }),
        Some(data) => Ok(VariantFiles { root: folder.join(data), list: None }),
        None => Err(empty(&folder)),
    }
}

/// The folder of the dataset that the paths of a subset start from, if its metadata names one.
fn recorded_root(metadata: &Path) -> Result<Option<PathBuf>> {
    if !is_file(metadata) {
        return Ok(None);
    }
    let text: Json = from_yaml(&read_text(metadata)?, &metadata.display().to_string())?;
    let Some(root) = text.get("root") else { return Ok(None) };
    let root = root.as_str().unwrap_or_default();
    let wrong = |problem| ProjectError::usage(format!("{}: root: '{root}' {problem}", metadata.display()));
    plain_path(root).map(Some).map_err(wrong)
}

/// The folder of the dataset: `datasets/<name>`, or the parent of a folder that is elsewhere.
fn dataset_of(root: &Path) -> PathBuf {
    let plain: PathBuf = root.components().filter(|part| *part != Component::CurDir).collect();
    let mut parts = plain.components();
    match (parts.next(), parts.next()) {
        (Some(first), Some(name)) if first.as_os_str() == "datasets" => Path::new("datasets").join(name),
        _ => plain.parent().map(Path::to_owned).unwrap_or_default(),
    }
}

/// Checks the variants of these datasets; of all if none are given. A variant without `metadata.yaml` is skipped.
pub fn verify_variants(
    project: &Project,
    datasets: &[String],
    watch: &mut dyn AssetObserver,
) -> Result<Vec<VariantVerification>> {
    let folder = project.root().join("datasets");
    let mut found = Vec::new();
    for dataset in folders_in(&folder) {
        if !datasets.is_empty() && !datasets.contains(&dataset) {
            continue;
        }
        for variant in variants_in(&folder.join(&dataset)) {
            let Some(report) = check_variant(&folder.join(&dataset), &variant, watch)? else { continue };
            let Report { files_checked, findings } = report;
            let verdict = if findings.is_empty() { Verdict::Sound } else { Verdict::Faulty };
            let dataset = dataset.clone();
            found.push(VariantVerification { dataset, variant, verdict, files_checked, findings });
        }
    }
    Ok(found)
}

/// Compares a variant with its metadata; `None` without metadata. People write metadata by hand: absent keys are not
/// compared.
fn check_variant(dataset: &Path, name: &str, watch: &mut dyn AssetObserver) -> Result<Option<Report>> {
    let place = dataset.join(name);
    let Ok(text) = fs::read_to_string(place.join(METADATA)) else { return Ok(None) };
    let mut report = Report::default();
    let metadata: Json = match from_yaml(&text, METADATA) {
        Ok(metadata) => metadata,
        Err(error) => {
            report.find(METADATA, Problem::Malformed, format!("is not YAML: {error}"));
            return Ok(Some(report));
        }
    };
    let word = |path: &str| metadata.pointer(path).and_then(Json::as_str);
    if let Some(parent) = word("/parent")
        && !plain_path(parent).is_ok_and(|parent| dataset.join(parent).is_dir())
    {
        report.find(METADATA, Problem::Missing, format!("names the parent '{parent}', which is missing"));
    }
    let (file, files, bytes);
    if place.join(FILE_LIST).is_file() {
        file = FILE_LIST;
        let list = fs::read_to_string(place.join(FILE_LIST)).unwrap_or_default();
        report.checksum(FILE_LIST, word("/files/sha256").unwrap_or(&sha256(&list)), &sha256(&list));
        let root = dataset.join(word("/root").or(word("/parent")).unwrap_or(SOURCE));
        let mut names: Vec<&str> = list.lines().filter(|line| !line.trim().is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        let mut sum = 0;
        for name in &names {
            match plain_path(name).map(|path| kind_behind(&root.join(path))) {
                Ok(Ok(Kind::File(bytes))) => sum += bytes,
                _ => report.unreadable(name),
            }
        }
        report.files_checked += 1 + names.len();
        (files, bytes) = (names.len(), sum);
    } else {
        file = METADATA;
        let path = data_folder(&place).unwrap_or(DATA);
        let listing = samples(&place.join(path), path);
        listing.unreadable.iter().for_each(|file| report.unreadable(file));
        let size = listing.size();
        report.files_checked += size.files;
        (files, bytes) = (size.files, size.bytes);
        // Without a digest to compare with, large files are not read.
        if let Some(expected) = word("/files/sha256") {
            report.checksum(METADATA, expected, &digest(&listing, watch)?);
        }
    }
    for (unit, found) in [("files", files as u64), ("bytes", bytes)] {
        let expected = metadata.pointer(&format!("/size/{unit}")).and_then(Json::as_u64);
        if let Some(expected) = expected.filter(|expected| *expected != found) {
            report.find(file, Problem::Amount, format!("has {found} {unit}, but should have {expected}"));
        }
    }
    Ok(Some(report))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dataset_is_a_folder_of_datasets_or_the_parent_of_its_samples() {
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
