//! `rooflens config`, from what was typed to what is shown.

mod json;
mod origins;

use std::path::PathBuf;

use rooflens_compose::sources::{SearchPath, Source};
use rooflens_compose::{Composer, Composition, Mode, Request, View};
use serde::Serialize;

use crate::console::Console;
use crate::document::{SchemaTag, schema};
use crate::error::CliError;
use crate::output;

/// What is asked of a project's configs.
pub struct Question {
    /// Folder of the configs.
    pub folder: PathBuf,
    /// Name of the primary config.
    pub name: String,
    /// Overrides, as typed.
    pub overrides: Vec<String>,
    /// Whether to compose every job of a sweep.
    pub multirun: bool,
    /// What of it is shown.
    pub shown: Shown,
    /// Whether a program reads it.
    pub json: bool,
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
    /// Groups and their options.
    Groups,
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

/// Answers a question.
pub fn answer(question: &Question, console: &Console) -> Result<(), CliError> {
    if !question.folder.is_dir() {
        return Err(CliError::NoConfigFolder { path: question.folder.clone() });
    }
    let composer = Composer::new(SearchPath::new(Source::folder(&question.folder)));
    if matches!(question.shown, Shown::Groups) {
        return groups(&composer, question.json, console);
    }
    let mode = if question.multirun { Mode::Multirun } else { Mode::Run };
    let request = Request { mode, ..Request::new(&question.name, question.overrides.clone()) };
    if !question.multirun {
        let composition = composer.compose(&request).map_err(CliError::Compose)?;
        warn(&composition, console);
        return show(&composition, question, console);
    }
    let multirun = composer.multirun(&request).map_err(CliError::Compose)?;
    warn(&multirun.master, console);
    for job in multirun.batches.iter().flatten() {
        let composition = composer.job(&multirun, job).map_err(CliError::Compose)?;
        if !question.json {
            output::text(&format!("# job {}: {}\n", job.number, job.overrides.join(" ")))?;
        }
        show(&composition, question, console)?;
    }
    Ok(())
}

fn warn(composition: &Composition, console: &Console) {
    for warning in &composition.warnings {
        console.say(&format!("warning: {warning}"));
    }
}

fn show(composition: &Composition, question: &Question, console: &Console) -> Result<(), CliError> {
    if question.json {
        let document = json::document(composition, &question.shown).map_err(CliError::Compose)?;
        return output::json(&document, console.is_read_by_people());
    }
    let text = match &question.shown {
        Shown::Config { view, package, resolve } => {
            composition.show(*view, package.as_deref(), *resolve).map_err(CliError::Compose)?
        }
        Shown::Origins { view, resolve } => {
            let node = if *resolve {
                composition.resolved_view(*view).map_err(CliError::Compose)?
            } else {
                composition.view(*view)
            };
            origins::text(&node)
        }
        Shown::Defaults => composition.defaults_text(),
        Shown::DefaultsTree => composition.defaults_tree_text(),
        Shown::SearchPath => composition.search_path_text(),
        Shown::Groups => String::new(),
    };
    let end = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
    output::text(&format!("{text}{end}"))
}

fn groups(composer: &Composer, json: bool, console: &Console) -> Result<(), CliError> {
    let own = |name: &str| name != "hydra" && !name.starts_with("hydra/");
    let groups: Vec<Group> = composer
        .search_path()
        .groups()
        .into_iter()
        .filter(|(name, options)| own(name) && !options.is_empty())
        .map(|(name, options)| Group { name, options })
        .collect();
    if json {
        return output::json(
            &Groups { schema: schema("config-groups"), groups },
            console.is_read_by_people(),
        );
    }
    let lines = groups.iter().map(|group| format!("{}: {}\n", group.name, group.options.join(", ")));
    output::text(&lines.collect::<String>())
}
