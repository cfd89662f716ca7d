//! `rooflens config`, from what was typed to what is shown.

pub(crate) mod migrate;

use std::path::PathBuf;

use rooflens_compose::{ComposeRequest, Composer, Composition, CompositionView, Mode, Multirun, RunOrSweep};
use rooflens_core::config::document::{
    ComposedJob, ComposedPart, ConfigDocument, ConfigGroup, ConfigGroupsDocument, ConfigSweepDocument,
    ConfigWrittenDocument,
};
use rooflens_core::config::{folders, host, old_names, origins};
use rooflens_core::error::Error;
use rooflens_core::observer::SharedObserver;

use crate::console::Console;
use crate::error::CliError;
use crate::{output, progress};

/// A config, and who reads the answer.
pub(crate) struct ConfigRequest {
    /// Folder of the configs.
    pub(crate) folder: PathBuf,
    /// Name of the primary config.
    pub(crate) name: String,
    /// Overrides, as typed.
    pub(crate) overrides: Vec<String>,
    /// Whether to compose every job of a sweep.
    pub(crate) multirun: bool,
    /// Whether a program reads it.
    pub(crate) json: bool,
    /// Whether it is for a run, which takes old names; else it is composed as Hydra does, whatever keys it has.
    pub(crate) for_run: bool,
}

impl ConfigRequest {
    /// The composer, and what to ask it.
    fn asked(&self, observer: &SharedObserver) -> Result<(Composer, ComposeRequest), CliError> {
        if !self.folder.is_dir() {
            return Err(Error::NoConfigFolder { path: self.folder.clone() }.into());
        }
        let today = match self.for_run {
            true => old_names::today(&self.folder, &self.name, &self.overrides, observer)?,
            false => old_names::as_written(&self.folder, &self.overrides),
        };
        let mode = if self.multirun { Mode::Multirun } else { Mode::Run };
        let request = ComposeRequest { mode, ..ComposeRequest::new(&self.name, today.overrides) };
        Ok((Composer::new(today.search_path).with_host(host::here()), request))
    }
}

/// What is shown of a composition.
pub(crate) enum Shown {
    /// The config, or a part of it.
    Config {
        /// Which part.
        view: CompositionView,
        /// Only what stands at this path.
        package: Option<String>,
        /// Whether interpolations are replaced.
        resolve: bool,
    },
    /// Each value with its place.
    Origins {
        /// Which part.
        view: CompositionView,
        /// Whether interpolations are replaced.
        resolve: bool,
    },
    /// The defaults list.
    Defaults,
    /// The same as a tree.
    DefaultsTree,
    /// Where configs are looked for.
    SearchPath,
    /// All of this, then the config.
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

/// Shows a composed config, or those of a sweep's jobs.
pub(crate) fn show(question: &ConfigRequest, shown: &Shown, console: &Console) -> Result<(), CliError> {
    let observer = progress::observer(console, progress::READING);
    let (composer, request) = question.asked(&observer)?;
    if question.multirun {
        let multirun = composer.multirun(&request).map_err(Error::Compose)?;
        old_names::warn(&multirun.master, &observer);
        return show_sweep(&composer, &multirun, question, shown, console);
    }
    let composition = composer.compose(&request).map_err(Error::Compose)?;
    old_names::warn(&composition, &observer);
    if question.json {
        let document = ConfigDocument::new(&composition, shown.part()).map_err(Error::Compose)?;
        return output::json(&document, console.is_read_by_people());
    }
    output::text(&text(&composition, shown)?)
}

fn show_sweep(
    composer: &Composer,
    multirun: &Multirun,
    question: &ConfigRequest,
    shown: &Shown,
    console: &Console,
) -> Result<(), CliError> {
    let mut jobs = Vec::new();
    for job in multirun.batches.iter().flatten() {
        let composition = composer.job(multirun, job).map_err(Error::Compose)?;
        if question.json {
            jobs.push(ComposedJob::new(job, &composition, shown.part()).map_err(Error::Compose)?);
        } else {
            let head = format!("# job {}: {}\n", job.number, job.overrides.join(" "));
            output::text(&(head + &text(&composition, shown)?))?;
        }
    }
    if question.json {
        output::json(&ConfigSweepDocument::new(jobs), console.is_read_by_people())
    } else {
        Ok(())
    }
}

/// Makes the folder of every job, with the files that say how it was composed.
pub fn write(question: &ConfigRequest, with_hydra: bool, console: &Console) -> Result<(), CliError> {
    let observer = progress::observer(console, progress::READING);
    let (composer, request) = question.asked(&observer)?;
    let launch = composer.launch(&request).map_err(Error::Compose)?;
    let first = match &launch {
        RunOrSweep::Run(composition) => composition,
        RunOrSweep::Sweep(multirun) => &multirun.master,
    };
    old_names::warn(first, &observer);
    let jobs = folders::prepare(&composer, launch, with_hydra)?;
    if question.json {
        return output::json(&ConfigWrittenDocument::new(jobs), console.is_read_by_people());
    }
    let lines = jobs.iter().map(|job| format!("{}\n", job.folder.display()));
    output::text(&lines.collect::<String>())
}

fn text(composition: &Composition, shown: &Shown) -> Result<String, CliError> {
    let text = match shown {
        Shown::Config { view, package, resolve } => {
            composition.show(*view, package.as_deref(), *resolve).map_err(Error::Compose)?
        }
        Shown::Origins { view, resolve: false } => origins::text(&composition.view(*view)),
        Shown::Origins { view, resolve: true } => {
            origins::text(&composition.resolved_view(*view).map_err(Error::Compose)?)
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

/// Lists the groups and their options.
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
    if question.json {
        return output::json(&ConfigGroupsDocument::new(&groups), console.is_read_by_people());
    }
    let lines = groups.iter().map(|group| format!("{}: {}\n", group.name, group.options.join(", ")));
    output::text(&lines.collect::<String>())
}
