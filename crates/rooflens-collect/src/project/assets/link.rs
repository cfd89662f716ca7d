//! Links and unpacked archives: what is missing, how to make it, and what is there.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use rooflens_compose::EnvironmentLookup;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AssetObserver;
use super::archive::{self, Extracted, Limits, Record, is_leftover, staging_name};
use super::bootstrap::{Asset, AssetKind, AssetSource, Bootstrap, Extraction, StorageRoot};
use super::disk::{AssetSize, Ignored, Kind, Project, ignore_hint, ignored, kind, kind_behind, list};
use super::verify::{Required, check_required};
use crate::project::error::{FaultClass, ProjectError, Result};
use crate::project::hub;

/// One change that an asset needs, or why nothing is changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetStep {
    /// The asset.
    pub asset: String,
    /// Its kind.
    pub(crate) kind: AssetKind,
    /// What to do.
    pub action: Action,
    /// The link or folder, from the project's folder.
    pub path: PathBuf,
    /// What the link points to, or the archive that is unpacked.
    pub to: Option<PathBuf>,
    /// What an existing link points to now.
    pub from: Option<PathBuf>,
    /// Size of the archive.
    pub archive_bytes: Option<u64>,
    /// Why nothing can be done.
    pub problem: Option<ProjectError>,
    #[serde(skip)]
    limits: Limits,
}

/// What to do for an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Create a link.
    Link,
    /// The link is right.
    KeepLink,
    /// Replace a link that points elsewhere.
    Relink,
    /// Unpack an archive.
    Extract,
    /// The archive is unpacked.
    KeepExtracted,
    /// The asset is not where it should be stored.
    MissingSource,
    /// Something else is in the way; it is not changed.
    Conflict,
    /// It must not be done: the path leads out of the project, cannot be read, or git would track it.
    Refused,
}

impl Action {
    /// Whether it changes something.
    pub fn is_change(self) -> bool {
        matches!(self, Action::Link | Action::Relink | Action::Extract)
    }
}

/// A step and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetOutcome {
    /// The step.
    #[serde(flatten)]
    pub step: AssetStep,
    /// Its result.
    pub result: StepResult,
    /// What an archive contained.
    pub extracted: Option<Extracted>,
    /// What went wrong.
    pub error: Option<ProjectError>,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepResult {
    /// It was done.
    Done,
    /// There was nothing to do.
    Unchanged,
    /// The step has a problem.
    Impossible,
    /// It failed.
    Failed,
    /// The user stopped before it began.
    NotReached,
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
    /// What is there.
    pub state: AssetState,
    /// What the link points to.
    pub to: Option<PathBuf>,
    /// Where it is stored; null if it was not found.
    pub source: Option<PathBuf>,
    /// The commit of a hub repository.
    pub(crate) commit: Option<String>,
    /// Why it was not found, or why its place cannot be read.
    pub problem: Option<ProjectError>,
    /// The files that it must have.
    pub required: Vec<Required>,
    /// Its size; null if nothing is there.
    pub size: Option<AssetSize>,
    /// Its archives.
    pub(crate) extractions: Vec<ExtractionStatus>,
    /// What needs attention.
    pub warnings: Vec<String>,
}

/// What is at an asset's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetState {
    /// A link to the asset's source.
    Linked,
    /// A link to something else.
    LinkedElsewhere,
    /// A link that leads nowhere, or in a circle.
    BrokenLink,
    /// Nothing.
    Missing,
    /// A real file or folder.
    Real,
    /// It cannot be read, or is outside the project.
    Unreadable,
}

/// An archive of an asset.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExtractionStatus {
    /// The archive, from the asset's source.
    pub(crate) archive: PathBuf,
    /// The folder that it becomes.
    pub(crate) into: PathBuf,
    /// Whether it is unpacked.
    pub(crate) state: ExtractionState,
}

/// Whether an archive is unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionState {
    /// It is.
    Extracted,
    /// It is not.
    Missing,
    /// Something else is in its place.
    Other,
}

impl AssetStatus {
    /// Whether it is at its place, as a link or real.
    pub fn is_there(&self) -> bool {
        matches!(self.state, AssetState::Linked | AssetState::Real)
    }

    /// Whether every archive is unpacked.
    pub fn is_unpacked(&self) -> bool {
        self.extractions.iter().all(|extraction| extraction.state == ExtractionState::Extracted)
    }
}

struct Located {
    path: PathBuf,
    commit: Option<String>,
}

/// Where an asset is stored; the error says where it was looked for.
fn locate(
    asset: &Asset,
    bootstrap: &Bootstrap,
    environment: &EnvironmentLookup,
    project: &Project,
) -> Result<Located> {
    let found = match &asset.source {
        AssetSource::Path { root, path } => {
            let folder = bootstrap.root(*root, environment, project.root());
            locate_path(*root, &folder.ok_or_else(|| no_root(*root))?.join(path))
        }
        AssetSource::Hub { repository, revision } => {
            let caches = bootstrap.hub_caches(environment, project.root());
            let folder = hub::repository_folder(asset.kind.plural(), repository);
            let kind = if asset.kind == AssetKind::Dataset { " --repo-type dataset" } else { "" };
            locate_repository(&caches, &folder, revision)
                .map_err(|error| error.hint(format!("hf download {repository}{kind} --revision {revision}")))
        }
    }?;
    // `project/../data` in a link would be right, but hard to read.
    let climbs = found.path.components().any(|part| part == Component::ParentDir);
    let path = if climbs { fs::canonicalize(&found.path).unwrap_or(found.path) } else { found.path };
    Ok(Located { path, ..found })
}

fn no_root(root: StorageRoot) -> ProjectError {
    let variable = root.variable();
    ProjectError::data(format!("neither ${variable} nor roots.{variable} in bootstrap.yaml is set"))
        .hint(format!("set {variable} to the folder, or write roots.{variable} in bootstrap.yaml"))
}

fn locate_path(root: StorageRoot, path: &Path) -> Result<Located> {
    let shown = path.display();
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
    let is_repository =
        (name.starts_with("models--") || name.starts_with("datasets--")) && path.join("snapshots").is_dir();
    match kind_behind(path) {
        Ok(Kind::Folder) if is_repository => match hub::snapshot(path, "main") {
            Ok(snapshot) => Ok(Located { path: snapshot.folder, commit: Some(snapshot.commit) }),
            Err(error) => Err(ProjectError::data(format!("{}: {shown}", error.why))),
        },
        Ok(Kind::File(_) | Kind::Folder) => Ok(Located { path: path.to_owned(), commit: None }),
        Ok(Kind::Missing) => {
            Err(ProjectError::data(format!("there is no {shown}"))
                .hint(format!("is {} right?", root.variable())))
        }
        Ok(Kind::Link | Kind::Other) => {
            Err(ProjectError::data(format!("it is neither a file nor a folder: {shown}")))
        }
        Err(error) => Err(ProjectError::data(format!("it cannot be read: {error}: {shown}"))),
    }
}

fn locate_repository(caches: &[PathBuf], folder: &str, revision: &str) -> Result<Located> {
    if caches.is_empty() {
        return Err(ProjectError::data(
            "no hub cache is known: neither $HF_SNAPSHOTS_ROOT, $HF_HUB_CACHE, $HF_HOME nor $HOME is set",
        ));
    }
    // A cache that has the repository without the revision says more than a cache without either.
    let mut why = None;
    for cache in caches {
        let repository = cache.join(folder);
        match kind_behind(&repository) {
            Ok(Kind::Folder) => match hub::snapshot(&repository, revision) {
                Ok(snapshot) => return Ok(Located { path: snapshot.folder, commit: Some(snapshot.commit) }),
                Err(error) => why = Some(error.why),
            },
            Ok(_) => {}
            Err(error) => why = why.or(Some(format!("it cannot be read: {error}"))),
        }
    }
    let places: Vec<String> = caches.iter().map(|cache| cache.join(folder).display().to_string()).collect();
    Err(ProjectError::data(match why {
        Some(why) => format!("{why}: {}", places.join(", ")),
        None => format!("there is no {}", places.join(", nor ")),
    }))
}

/// Compares what a project needs with what is there. Reads only.
pub fn plan(project: &Project, bootstrap: &Bootstrap, environment: &EnvironmentLookup) -> Vec<AssetStep> {
    let mut steps = Vec::new();
    for asset in &bootstrap.assets {
        let located = locate(asset, bootstrap, environment, project);
        steps.push(link_step(project, asset, &located));
        steps.extend(
            asset.extract.iter().map(|extraction| extract_step(project, asset, extraction, &located)),
        );
    }
    steps
}

fn step(asset: &Asset, action: Action, path: &Path) -> AssetStep {
    AssetStep {
        asset: asset.name.clone(),
        kind: asset.kind,
        action,
        path: path.to_owned(),
        to: None,
        from: None,
        archive_bytes: None,
        problem: None,
        limits: Limits::default(),
    }
}

fn problem(asset: &Asset, action: Action, path: &Path, problem: ProjectError) -> AssetStep {
    AssetStep { problem: Some(problem), ..step(asset, action, path) }
}

fn conflict(asset: &Asset, path: &Path, why: &str) -> AssetStep {
    let error = ProjectError::environment(why).hint(format!("move '{}' away and run again", path.display()));
    problem(asset, Action::Conflict, path, error)
}

/// Refuses a change that git would track: what is linked from outside stays out of the project's history.
fn unless_tracked(project: &Project, asset: &Asset, change: AssetStep) -> AssetStep {
    let is_folder = change.action == Action::Extract;
    if ignored(project.root(), &change.path, is_folder) != Ignored::No {
        return change;
    }
    let error = ProjectError::usage("git would track it").hint(ignore_hint(&change.path));
    problem(asset, Action::Refused, &change.path, error)
}

fn look(project: &Project, path: &Path) -> Result<(PathBuf, Kind)> {
    let place = project.inside(path)?;
    let found = kind(&place).map_err(|error| ProjectError::unreadable(&place, error))?;
    Ok((place, found))
}

fn link_step(project: &Project, asset: &Asset, located: &Result<Located>) -> AssetStep {
    let link = &asset.target;
    let (place, found) = match look(project, link) {
        Ok(found) => found,
        Err(error) => return problem(asset, Action::Refused, link, error),
    };
    if !matches!(found, Kind::Missing | Kind::Link) {
        return conflict(asset, link, "it is not a link, and only links are replaced");
    }
    let to = match located {
        Ok(located) => &located.path,
        Err(error) => return problem(asset, Action::MissingSource, link, error.clone()),
    };
    // A link must not lead to itself or to a folder around it.
    let is_nested = to.starts_with(&place)
        || fs::canonicalize(to).is_ok_and(|to| to.starts_with(&place) || place.starts_with(&to));
    if is_nested {
        return conflict(asset, link, "its source is inside it, or it is inside its source");
    }
    let with = |action, from| AssetStep { to: Some(to.clone()), from, ..step(asset, action, link) };
    if found == Kind::Missing {
        return unless_tracked(project, asset, with(Action::Link, None));
    }
    let from = fs::read_link(&place).unwrap_or_default();
    // Two paths can lead to one place, by a mount or a link of the storage.
    let is_same = from == *to
        || matches!((fs::canonicalize(&place), fs::canonicalize(to)), (Ok(now), Ok(then)) if now == then);
    match is_same {
        true => AssetStep { to: Some(from), ..step(asset, Action::KeepLink, link) },
        false => unless_tracked(project, asset, with(Action::Relink, Some(from))),
    }
}

fn extract_step(
    project: &Project,
    asset: &Asset,
    extraction: &Extraction,
    located: &Result<Located>,
) -> AssetStep {
    let into = &extraction.into;
    let (place, found) = match look(project, into) {
        Ok(found) => found,
        Err(error) => return problem(asset, Action::Refused, into, error),
    };
    let archive = located.as_ref().map(|located| located.path.join(&extraction.archive));
    let bytes = archive.as_ref().ok().and_then(|archive| match kind_behind(archive) {
        Ok(Kind::File(bytes)) => Some(bytes),
        _ => None,
    });
    match (found, Record::read(&place)) {
        (Kind::Missing, _) => {}
        // Without the archive there is nothing to compare with.
        (Kind::Folder, Some(record))
            if bytes.is_none_or(|bytes| record.is_of(&extraction.archive, bytes)) =>
        {
            return step(asset, Action::KeepExtracted, into);
        }
        (Kind::Folder, Some(_)) => {
            return conflict(asset, into, "it was created from another version of the archive");
        }
        (Kind::Folder, None) => return conflict(asset, into, "it was not created by extracting an archive"),
        _ => return conflict(asset, into, "it is not a link, and only links are replaced"),
    }
    match (archive, bytes) {
        (Err(error), _) => problem(asset, Action::MissingSource, into, error.clone()),
        (Ok(archive), None) => {
            let error = ProjectError::data(format!("there is no {}", archive.display()));
            problem(asset, Action::MissingSource, into, error)
        }
        (Ok(archive), archive_bytes) => {
            let (to, limits) = (Some(archive), extraction.limits);
            let change = AssetStep { to, archive_bytes, limits, ..step(asset, Action::Extract, into) };
            unless_tracked(project, asset, change)
        }
    }
}

/// Does what a plan says. A step that fails does not stop the others. The disk can have changed since the plan was
/// made, so each step looks again before it writes.
pub fn apply(project: &Project, steps: &[AssetStep], watch: &mut dyn AssetObserver) -> Vec<AssetOutcome> {
    let outcome = |step: &AssetStep| {
        let (mut extracted, mut error) = (None, step.problem.clone());
        let result = if error.is_some() {
            StepResult::Impossible
        } else if !step.action.is_change() {
            StepResult::Unchanged
        } else if watch.should_stop() {
            error = Some(ProjectError::stopped());
            StepResult::NotReached
        } else {
            match perform(project, step, watch) {
                Ok(made) => {
                    extracted = made;
                    StepResult::Done
                }
                Err(failure) => {
                    error = Some(failure);
                    StepResult::Failed
                }
            }
        };
        AssetOutcome { step: step.clone(), result, extracted, error }
    };
    steps.iter().map(outcome).collect()
}

fn perform(project: &Project, step: &AssetStep, watch: &mut dyn AssetObserver) -> Result<Option<Extracted>> {
    let place = project.inside(&step.path)?;
    let Some(to) = &step.to else { return Ok(None) };
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).map_err(|error| ProjectError::unwritable(parent, error))?;
    }
    match step.action {
        Action::Extract => {
            watch.unpacks(to);
            return archive::extract(to, &place, step.limits, watch).map(Some);
        }
        // Fails if anything is there: a link never replaces something.
        Action::Link => symlink(to, &place).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ProjectError::changed(&step.path),
            _ => ProjectError::unwritable(&step.path, error),
        })?,
        Action::Relink => {
            if fs::read_link(&place).ok() != step.from {
                return Err(ProjectError::changed(&step.path));
            }
            // Renamed over the old link, so that there always is one.
            let new = place.with_file_name(staging_name(&place));
            let replaced = symlink(to, &new).and_then(|()| fs::rename(&new, &place));
            replaced.map_err(|error| {
                let _ = fs::remove_file(&new);
                ProjectError::unwritable(&step.path, error)
            })?;
        }
        _ => {}
    }
    Ok(None)
}

/// Looks at what is there of each asset. Reads only.
pub fn status(project: &Project, bootstrap: &Bootstrap, environment: &EnvironmentLookup) -> Vec<AssetStatus> {
    let status = |asset: &Asset| asset_status(project, asset, locate(asset, bootstrap, environment, project));
    bootstrap.assets.iter().map(status).collect()
}

fn asset_status(project: &Project, asset: &Asset, located: Result<Located>) -> AssetStatus {
    let place = project.root().join(&asset.target);
    let real = |path: &Path| fs::canonicalize(path).ok();
    let (state, unreadable) = match look(project, &asset.target) {
        Err(error) => (AssetState::Unreadable, Some(error)),
        Ok((_, Kind::Missing)) => (AssetState::Missing, None),
        Ok((_, Kind::Link)) => match (real(&place), &located) {
            (None, _) => (AssetState::BrokenLink, None),
            (end, Ok(located)) if real(&located.path) == end => (AssetState::Linked, None),
            _ => (AssetState::LinkedElsewhere, None),
        },
        Ok(_) => (AssetState::Real, None),
    };
    let to = fs::read_link(&place).ok().filter(|_| state != AssetState::Unreadable);
    let mut warnings = Vec::new();
    if to.is_some() && ignored(project.root(), &asset.target, false) == Ignored::No {
        let (target, hint) = (asset.target.display(), ignore_hint(&asset.target));
        warnings.push(format!("git would track '{target}'; {hint}"));
    }
    let has_files = matches!(state, AssetState::Linked | AssetState::LinkedElsewhere | AssetState::Real);
    let listing = if has_files { list(&place) } else { Default::default() };
    if let Some(first) = listing.unreadable.first() {
        warnings.push(format!("{} entries cannot be read, '{first}' among them", listing.unreadable.len()));
    }
    let mut extractions = Vec::new();
    for Extraction { archive, into, .. } in &asset.extract {
        let place = project.root().join(into);
        let state = match kind(&place) {
            Ok(Kind::Missing) => ExtractionState::Missing,
            Ok(Kind::Folder) if Record::read(&place).is_some() => ExtractionState::Extracted,
            _ => ExtractionState::Other,
        };
        extractions.push(ExtractionStatus { archive: archive.clone(), into: into.clone(), state });
        let own = format!(".{}.", into.file_name().unwrap_or_default().to_string_lossy());
        for entry in
            place.parent().and_then(|parent| fs::read_dir(parent).ok()).into_iter().flatten().flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(&own) && is_leftover(&name) {
                let path = into.with_file_name(name);
                let path = path.display();
                warnings
                    .push(format!("'{path}' is left over from an interrupted extraction; it can be removed"));
            }
        }
    }
    let (source, commit, absence) = match located {
        Ok(located) => (Some(located.path), located.commit, None),
        Err(error) => (None, None, Some(error)),
    };
    AssetStatus {
        name: asset.name.clone(),
        kind: asset.kind,
        target: asset.target.clone(),
        state,
        to,
        source,
        commit,
        problem: unreadable.or(absence),
        required: check_required(&asset.required, &listing),
        size: has_files.then(|| listing.size()),
        extractions,
        warnings,
    }
}

/// The class of the first failure of a plan; a stop comes first.
pub fn failure(outcomes: &[AssetOutcome]) -> Option<FaultClass> {
    let classes: Vec<FaultClass> = outcomes.iter().filter_map(|it| Some(it.error.as_ref()?.class)).collect();
    classes.iter().find(|class| **class == FaultClass::Interrupted).or(classes.first()).copied()
}
