//! `rooflens config`, from what was typed to what is shown.

pub(crate) mod migrate;

use std::path::PathBuf;

use rooflens_compose::{ComposeRequest, Composer, Composition, CompositionView, Mode, Multirun, RunOrSweep};
use rooflens_core::config::document::{
    ComposedJob, ComposedPart, ConfigDocument, ConfigGroup, ConfigGroupsDocument, ConfigSweepDocument,
    ConfigWrittenDocument,
};
use rooflens_core::config::{folders, old_names, origins, this_host};
use rooflens_core::error::Error;
use rooflens_core::observer::SharedObserver;

use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

pub(crate) struct ConfigRequest {
    pub(crate) folder: PathBuf,
    pub(crate) name: String,
    pub(crate) overrides: Vec<String>,
    pub(crate) multirun: bool,
    pub(crate) json: bool,
    /// Whether it is for a run, which takes old names; else it is composed as Hydra does, whatever keys it has.
    pub(crate) for_run: bool,
}

impl ConfigRequest {
    fn asked(&self, observer: &SharedObserver) -> Result<(Composer, ComposeRequest), CliError> {
        if !self.folder.is_dir() {
            return Err(Error::no_config_folder(&self.folder).into());
        }
        let today = match self.for_run {
            true => old_names::today(&self.folder, &self.name, &self.overrides, observer)?,
            false => old_names::as_written(&self.folder, &self.overrides),
        };
        let mode = if self.multirun { Mode::Multirun } else { Mode::Run };
        let request = ComposeRequest { mode, ..ComposeRequest::new(&self.name, today.overrides) };
        Ok((Composer::new(today.search_path).with_host(this_host()), request))
    }
}

pub(crate) enum Shown {
    Config {
        view: CompositionView,
        /// Only what stands at this path.
        package: Option<String>,
        resolve: bool,
    },
    Origins {
        view: CompositionView,
        resolve: bool,
    },
    Defaults,
    DefaultsTree,
    /// Where configs are looked for.
    SearchPath,
    Everything,
}

impl Shown {
    /// What of it is for programs, who get the defaults and the places of values in one document.
    fn part(&self) -> ComposedPart<'_> {
        match self {
            Shown::Config { view, package, resolve } => {
                let package = package.as_deref();
                ComposedPart { view: *view, package, resolve: *resolve, with_origins: false }
            }
            Shown::Origins { view, resolve } => {
                ComposedPart { view: *view, package: None, resolve: *resolve, with_origins: true }
            }
            _ => ComposedPart {
                view: CompositionView::Job,
                package: None,
                resolve: false,
                with_origins: false,
            },
        }
    }
}

pub(crate) fn show(question: &ConfigRequest, shown: &Shown, console: &Console) -> Result<(), CliError> {
    let observer = progress::observer(console, progress::READING);
    let (composer, request) = question.asked(&observer)?;
    if question.multirun {
        let multirun = composer.multirun(&request).map_err(Error::compose)?;
        old_names::warn(&multirun.master, &observer);
        return show_sweep(&composer, &multirun, question, shown);
    }
    let composition = composer.compose(&request).map_err(Error::compose)?;
    old_names::warn(&composition, &observer);
    if question.json {
        let document = ConfigDocument::new(&composition, shown.part()).map_err(Error::compose)?;
        return output::json(&document);
    }
    output::text(&text(&composition, shown)?)
}

fn show_sweep(
    composer: &Composer,
    multirun: &Multirun,
    question: &ConfigRequest,
    shown: &Shown,
) -> Result<(), CliError> {
    let mut jobs = Vec::new();
    for job in multirun.batches.iter().flatten() {
        let composition = composer.job(multirun, job).map_err(Error::compose)?;
        if question.json {
            jobs.push(ComposedJob::new(job, &composition, shown.part()).map_err(Error::compose)?);
        } else {
            let head = format!("# job {}: {}\n", job.number, job.overrides.join(" "));
            output::text(&(head + &text(&composition, shown)?))?;
        }
    }
    if question.json { output::json(&ConfigSweepDocument::new(jobs)) } else { Ok(()) }
}

/// Makes the folder of every job, with the files that say how it was composed.
pub(crate) fn write(question: &ConfigRequest, with_hydra: bool, console: &Console) -> Result<(), CliError> {
    let observer = progress::observer(console, progress::READING);
    let (composer, request) = question.asked(&observer)?;
    let launch = composer.launch(&request).map_err(Error::compose)?;
    let first = match &launch {
        RunOrSweep::Run(composition) => composition,
        RunOrSweep::Sweep(multirun) => &multirun.master,
    };
    old_names::warn(first, &observer);
    let jobs = folders::prepare(&composer, launch, with_hydra)?;
    let lines: String = jobs.iter().map(|job| format!("{}\n", job.folder.display())).collect();
    output::answer(question.json, &ConfigWrittenDocument::new(jobs), || lines)
}

fn text(composition: &Composition, shown: &Shown) -> Result<String, CliError> {
    let text = match shown {
        Shown::Config { view, package, resolve } => {
            composition.show(*view, package.as_deref(), *resolve).map_err(Error::compose)?
        }
        Shown::Origins { view, resolve: false } => origins::text(&composition.view(*view)),
        Shown::Origins { view, resolve: true } => {
            origins::text(&composition.resolved_view(*view).map_err(Error::compose)?)
        }
        Shown::Defaults => composition.defaults_text(),
        Shown::DefaultsTree => composition.defaults_tree_text(),
        Shown::SearchPath => composition.search_path_text(),
        Shown::Everything => [
            composition.search_path_text(),
            composition.defaults_tree_text(),
            composition.defaults_text(),
            composition.job_yaml(),
        ]
        .join("\n"),
    };
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    Ok(text + end)
}

pub(crate) fn groups(question: &ConfigRequest, console: &Console) -> Result<(), CliError> {
    let (composer, _) = question.asked(&progress::observer(console, progress::READING))?;
    let own = |name: &str| name != "hydra" && !name.starts_with("hydra/");
    let groups: Vec<ConfigGroup> = composer
        .search_path()
        .groups()
        .into_iter()
        .filter(|(name, options)| own(name) && !options.is_empty())
        .map(|(name, options)| ConfigGroup { name, options })
        .collect();
    let line = |group: &ConfigGroup| format!("{}: {}\n", group.name, group.options.join(", "));
    output::answer(question.json, &ConfigGroupsDocument::new(&groups), || groups.iter().map(line).collect())
}
