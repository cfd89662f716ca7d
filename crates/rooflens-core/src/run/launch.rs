//! From what was typed to planned jobs: nothing is written.

use std::path::{Path, PathBuf};

use rooflens_collect::plan::RunFolders;
use rooflens_collect::{RunPlan, RunSettings, package};
use rooflens_compose::{ComposeRequest, Composer, Host, JobFile, Mode, RunOrSweep};

use super::samples;
use crate::config::folders::{self, Jobs, PlacedJob};
use crate::config::{old_names, this_host};
use crate::error::Error;
use crate::observer::{SharedObserver, Unobserved};
use crate::project;

/// A config to run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// Folder of the configs, where it was said.
    pub config_dir: Option<PathBuf>,
    /// The folder that paths of the config begin at, where it is not the project of the configs.
    pub project: Option<PathBuf>,
    /// Name of the primary config.
    pub config_name: String,
    /// Overrides, as typed.
    pub overrides: Vec<String>,
    /// Whether to run every job of a sweep.
    pub multirun: bool,
    /// Whether to write what Hydra would.
    pub with_hydra: bool,
}

impl Default for RunRequest {
    fn default() -> Self {
        RunRequest {
            config_dir: None,
            project: None,
            config_name: "config".to_owned(),
            overrides: Vec::new(),
            multirun: false,
            with_hydra: false,
        }
    }
}

/// The settings of the project around here, and where things are; nothing where there is no such project.
pub(crate) fn project_settings() -> Option<(RunSettings, RunFolders)> {
    let planned = plan(&RunRequest::default(), &Unobserved::shared()).ok()?;
    let job = planned.jobs.into_iter().next()?;
    Some((job.settings, job.places))
}

/// Everything that is to be run.
pub struct Planned {
    /// The jobs, in order.
    pub jobs: Vec<PlannedJob>,
    /// Whether they are those of a sweep.
    pub is_sweep: bool,
    pub(crate) sweep: Option<(PathBuf, JobFile)>,
    pub(crate) with_hydra: bool,
}

impl Planned {
    /// Whether all jobs of several have an override: it tells none of them apart.
    pub(crate) fn is_shared(&self, text: &String) -> bool {
        let has = |job: &PlannedJob| job.composed.composition.overrides.task.contains(text);
        self.jobs.len() > 1 && self.jobs.iter().all(has)
    }
}

/// A job with its plan.
pub struct PlannedJob {
    pub(crate) composed: PlacedJob,
    /// What is to be done.
    pub plan: RunPlan,
    pub(crate) settings: RunSettings,
    /// Where things are.
    pub places: RunFolders,
}

struct Origin {
    configs: PathBuf,
    project: PathBuf,
    repeated: Option<PathBuf>,
}

/// Composes and plans every job.
pub fn plan(question: &RunRequest, observer: &SharedObserver) -> Result<Planned, Error> {
    let origin = origin(question)?;
    let host = Host { working_folder: origin.project.clone(), ..this_host() };
    let today = old_names::today(&origin.configs, &question.config_name, &question.overrides, observer)?;
    let composer = Composer::new(today.search_path).with_host(host);
    let mode = if question.multirun { Mode::Multirun } else { Mode::Run };
    let mut overrides = today.overrides;
    overrides.extend(folder_of_repetition(&origin, question));
    let request = ComposeRequest { mode, ..ComposeRequest::new(&question.config_name, overrides) };
    let launch = composer.launch(&request).map_err(Error::compose)?;
    let is_sweep = matches!(launch, RunOrSweep::Sweep(_));
    let Jobs { jobs, sweep } = folders::compose(&composer, launch)?;
    if let Some(first) = jobs.first() {
        old_names::warn(&first.composition, observer);
    }
    let jobs: Result<Vec<PlannedJob>, Error> =
        jobs.into_iter().map(|composed| planned(composed, &origin.project)).collect();
    Ok(Planned { jobs: jobs?, is_sweep, sweep, with_hydra: question.with_hydra })
}

fn planned(composed: PlacedJob, project: &Path) -> Result<PlannedJob, Error> {
    let config = composed.composition.resolved().map_err(Error::compose)?;
    let dataset = RunSettings::read_dataset(&config).map_err(Error::plan)?;
    let config = samples::located(&config, &dataset, project).map_err(Error::project)?;
    let (mut settings, made) = rooflens_collect::planned(&config).map_err(Error::plan)?;
    // The workload gets files; what the run records is the variant that was asked for.
    settings.dataset = dataset;
    let places = RunFolders {
        run: composed.folder.clone(),
        project: project.to_owned(),
        package: package::folder(&package::cache_folder()),
    };
    Ok(PlannedJob { composed, plan: made, settings, places })
}

/// A folder of configs that is the `.rooflens` of a run repeats that run: its config is whole and
/// resolved, and names no folder to run in.
fn origin(question: &RunRequest) -> Result<Origin, Error> {
    let configs = question.config_dir.clone().unwrap_or_else(project::configs);
    if !configs.is_dir() {
        return Err(Error::no_config_folder(&configs));
    }
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let full = absolute(&configs);
    let is_own = full.file_name().is_some_and(|name| name == folders::OWN_FOLDER);
    let repeated =
        full.parent().filter(|_| is_own && full.join("rooflens.yaml").is_file()).map(Path::to_owned);
    // The folder of configs itself may look like a project: one looks from above it.
    let above = || full.parent().and_then(project::around).unwrap_or_else(|| absolute(Path::new(".")));
    let project = question.project.clone().unwrap_or_else(above);
    Ok(Origin { configs, project, repeated })
}

fn folder_of_repetition(origin: &Origin, question: &RunRequest) -> Option<String> {
    let beside = origin.repeated.as_ref()?.parent()?;
    let is_told = question.overrides.iter().any(|text| sets_folder(text, "run"));
    (!is_told).then(|| folder_override("run", beside, "/${now:%Y%m%d-%H%M%S}"))
}

/// Whether an override sets the folder of a `run` or of a `sweep`.
pub(super) fn sets_folder(text: &str, key: &str) -> bool {
    text.trim_start_matches('+').starts_with(&format!("hydra.{key}.dir="))
}

/// The override that sets it: a folder, quoted, and what comes behind its name.
pub(super) fn folder_override(key: &str, folder: &Path, end: &str) -> String {
    format!("hydra.{key}.dir='{}{end}'", escaped(&folder.to_string_lossy()))
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
