//! `rooflens run`, from what was typed to what is shown: compose, plan, take the steps, analyse,
//! tell.

mod analysis;
mod document;
mod follow;
mod job;
mod join;
mod launch;
pub mod metrics;
mod page;
mod static_cost;
mod summary;

use rooflens_collect::execute::{Processes, find_program};
use rooflens_collect::package as python;

pub use self::document::{describe, rewrite};
use self::follow::Follower;
use self::job::Done;
use self::launch::Planned;
use crate::config::folders;
use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Presses;
use crate::output;

/// A config to run.
pub struct Question {
    /// Folder of the configs, where it was said.
    pub config_dir: Option<std::path::PathBuf>,
    /// Name of the primary config.
    pub config_name: String,
    /// Overrides, as typed.
    pub overrides: Vec<String>,
    /// Whether to run every job of a sweep.
    pub multirun: bool,
    /// Whether to write what Hydra would.
    pub with_hydra: bool,
    /// Whether a program reads the answer.
    pub json: bool,
}

/// How a shell gets the folder of the Python package.
const PACKAGE: &str = "rooflens run --package";

/// Unpacks the Python package and prints where.
pub fn package() -> Result<Exit, CliError> {
    let folder = python::unpack(&python::cache_folder())?;
    output::text(&format!("{}\n", folder.display())).map(|()| Exit::Fine)
}

/// Prints what would be done. Nothing is written.
pub fn dry_run(question: &Question, console: &Console) -> Result<Exit, CliError> {
    let planned = launch::plan(question, console)?;
    for job in &planned.jobs {
        match question.json {
            true => output::text(&job.plan.to_json())?,
            false => output::text(&job.plan.to_shell(&job.places, PACKAGE))?,
        }
    }
    Ok(Exit::Fine)
}

/// Runs every job.
pub fn run(question: &Question, console: &Console) -> Result<Exit, CliError> {
    let planned = launch::plan(question, console)?;
    prepare(&planned, question)?;
    let presses = Presses::watch(console);
    let follower = Follower::new(console, presses.clone());
    let mut done: Vec<Done> = Vec::new();
    for job in &planned.jobs {
        if presses.count() > 0 {
            break;
        }
        folders::make(&job.composed, question.with_hydra)?;
        let mut one = job::take(job, &Processes::default(), &follower, console)?;
        one.overrides.retain(|text| !planned.is_shared(text));
        if planned.is_sweep {
            console.say(&summary::line(&one));
        }
        one.tell_failure(console);
        done.push(one);
    }
    show(&planned, &done, question, console)?;
    Ok(exit(&done, presses.count() > 0))
}

/// Everything that can be known to fail fails before anything is made.
fn prepare(planned: &Planned, question: &Question) -> Result<(), CliError> {
    let mut starts_any = false;
    for job in &planned.jobs {
        for (_, command) in job.plan.commands() {
            find_program(command, &job.places)?;
            starts_any = true;
        }
        let root = &job.places.run;
        if root.join(job::PLAN).exists() || root.join(folders::OWN_FOLDER).exists() {
            return Err(CliError::RunExists { path: root.clone() });
        }
    }
    if starts_any {
        python::unpack(&python::cache_folder())?;
    }
    match &planned.sweep {
        Some((folder, file)) if question.with_hydra => folders::make_sweep(folder, file),
        _ => Ok(()),
    }
}

fn show(planned: &Planned, done: &[Done], question: &Question, console: &Console) -> Result<(), CliError> {
    if question.json {
        let documents: Vec<_> = done.iter().map(|one| &one.document).collect();
        return match documents.as_slice() {
            [one] if !planned.is_sweep => output::json(one, console.is_read_by_people()),
            all => output::json(&document::sweep(all), console.is_read_by_people()),
        };
    }
    match done {
        [one] if !planned.is_sweep => output::text(&summary::screen(one, &console.screen(5))),
        all => output::text(&summary::table(all)),
    }
}

/// The first failure counts; a stop by the user counts more.
fn exit(done: &[Done], stopped: bool) -> Exit {
    if stopped {
        return Exit::Interrupted;
    }
    done.iter().map(Done::exit).find(|exit| *exit != Exit::Fine).unwrap_or(Exit::Fine)
}
