//! `rooflens config`, from what was typed to what is shown.

pub mod folders;
pub mod host;
mod json;
pub mod migrate;
pub mod old_names;
mod origins;
pub mod told;

use std::path::PathBuf;

use rooflens_compose::{Composer, Composition, Launch, Mode, Request, View};
use serde::Serialize;

use self::folders::Prepared;
use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::output;

/// A config, and who reads the answer.
pub struct Question {
    /// Folder of the configs.
    pub folder: PathBuf,
    /// Name of the primary config.
    pub name: String,
    /// Overrides, as typed.
    pub overrides: Vec<String>,
    /// Whether to compose every job of a sweep.
    pub multirun: bool,
    /// Whether a program reads it.
    pub json: bool,
    /// Whether it is for a run, which takes old names; else it is composed as Hydra does, whatever keys it has.
    pub for_run: bool,
}

impl Question {
    /// The composer, and what to ask it.
    fn asked(&self, console: &Console) -> Result<(Composer, Request), CliError> {
        if !self.folder.is_dir() {
            return Err(CliError::NoConfigFolder { path: self.folder.clone() });
        }
        let today = match self.for_run {
            true => old_names::today(&self.folder, &self.name, &self.overrides, console)?,
            false => old_names::as_written(&self.folder, &self.overrides),
        };
        let mode = if self.multirun { Mode::Multirun } else { Mode::Run };
        let request = Request { mode, ..Request::new(&self.name, today.overrides) };
        Ok((Composer::new(today.search_path).with_host(host::here()), request))
    }
}

/// What is shown of a composition.
pub enum Shown {
    /// The config, or a part of it.
    Config {
        /// Which part.
        view: View,
        /// Only what stands at this path.
        package: Option<String>,
        /// Whether interpolations are replaced.
        resolve: bool,
    },
    /// Each value with its place.
    Origins {
        /// Which part.
        view: View,
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

#[derive(Serialize)]
struct Groups {
    schema: SchemaTag,
    groups: Vec<Group>,
}

#[derive(Serialize)]
struct Group {
    name: String,
    options: Vec<String>,
}

#[derive(Serialize)]
struct Written {
    schema: SchemaTag,
    jobs: Vec<Prepared>,
}

/// Shows a composed config, or those of a sweep's jobs.
pub fn show(question: &Question, shown: &Shown, console: &Console) -> Result<(), CliError> {
    let (composer, request) = question.asked(console)?;
    if question.multirun {
        return show_sweep(&composer, &request, question, shown, console);
    }
    let composition = composer.compose(&request).map_err(CliError::Compose)?;
    warn(&composition, console);
    if question.json {
        let document = json::document(&composition, shown).map_err(CliError::Compose)?;
        return output::json(&document, console.is_read_by_people());
    }
    output::text(&text(&composition, shown)?)
}

fn show_sweep(
    composer: &Composer,
    request: &Request,
    question: &Question,
    shown: &Shown,
    console: &Console,
) -> Result<(), CliError> {
    let multirun = composer.multirun(request).map_err(CliError::Compose)?;
    warn(&multirun.master, console);
    let mut jobs = Vec::new();
    for job in multirun.batches.iter().flatten() {
        let composition = composer.job(&multirun, job).map_err(CliError::Compose)?;
        if question.json {
            jobs.push(json::job(job, &composition, shown).map_err(CliError::Compose)?);
        } else {
            let head = format!("# job {}: {}\n", job.number, job.overrides.join(" "));
            output::text(&(head + &text(&composition, shown)?))?;
        }
    }
    if question.json { output::json(&json::sweep(jobs), console.is_read_by_people()) } else { Ok(()) }
}

/// Makes the folder of every job, with the files that say how it was composed.
pub fn write(question: &Question, with_hydra: bool, console: &Console) -> Result<(), CliError> {
    let (composer, request) = question.asked(console)?;
    let launch = composer.launch(&request).map_err(CliError::Compose)?;
    let first = match &launch {
        Launch::Run(composition) => composition,
        Launch::Sweep(multirun) => &multirun.master,
    };
    warn(first, console);
    let jobs = folders::prepare(&composer, launch, with_hydra)?;
    if question.json {
        let written = Written { schema: schema("config-written"), jobs };
        return output::json(&written, console.is_read_by_people());
    }
    let lines = jobs.iter().map(|job| format!("{}\n", job.folder.display()));
    output::text(&lines.collect::<String>())
}

/// Says what was odd about a config.
pub fn warn(composition: &Composition, console: &Console) {
    for warning in &composition.warnings {
        console.say(&format!("warning: {warning}"));
    }
}

fn text(composition: &Composition, shown: &Shown) -> Result<String, CliError> {
    let text = match shown {
        Shown::Config { view, package, resolve } => {
            composition.show(*view, package.as_deref(), *resolve).map_err(CliError::Compose)?
        }
        Shown::Origins { view, resolve: false } => origins::text(&composition.view(*view)),
        Shown::Origins { view, resolve: true } => {
            origins::text(&composition.resolved_view(*view).map_err(CliError::Compose)?)
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
pub fn groups(question: &Question, console: &Console) -> Result<(), CliError> {
    let (composer, _) = question.asked(console)?;
    let own = |name: &str| name != "hydra" && !name.starts_with("hydra/");
    let groups: Vec<Group> = composer
        .search_path()
        .groups()
        .into_iter()
        .filter(|(name, options)| own(name) && !options.is_empty())
        .map(|(name, options)| Group { name, options })
        .collect();
    if question.json {
        return output::json(
            &Groups { schema: schema("config-groups"), groups },
            console.is_read_by_people(),
        );
    }
    let lines = groups.iter().map(|group| format!("{}: {}\n", group.name, group.options.join(", ")));
    output::text(&lines.collect::<String>())
}
