//! `rooflens run`, from what was typed to what is shown: compose, plan, take the steps, analyse,
//! tell.

mod analysis;
mod chosen;
mod csv_tables;
mod document;
mod files;
mod follow;
mod job;
mod join;
mod launch;
pub mod metrics;
mod page;
mod power;
mod reserve;
mod row;
mod samples;
mod sampling;
mod static_cost;
mod summary;
mod sweep;

use rooflens_collect::execute::Processes;
use rooflens_collect::plan::Places;
use rooflens_collect::{Settings, package as python};

pub use self::document::{RunDocument, describe, rewrite};
pub use self::files::{rewrite as rewrite_files, settings};
pub use self::follow::Follower;
use self::job::Done;
pub use self::join::{context, join_floor};
use self::launch::Planned;
pub use self::sweep::rewrite as rewrite_sweep;
use crate::config::folders;
use crate::console::{Color, Console, Verbosity};
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Presses;
use crate::output;
use crate::project::from_here;

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
const PACKAGE: &str = "rooflens run --python-package";

/// The settings of the project around here, and where things are; nothing where there is no such project.
pub fn project_settings() -> Option<(Settings, Places)> {
    let question = Question {
        config_dir: None,
        config_name: "config".to_owned(),
        overrides: Vec::new(),
        multirun: false,
        with_hydra: false,
        json: false,
    };
    let quiet = Console { verbosity: Verbosity::Quiet, color: Color::Never };
    let planned = launch::plan(&question, &quiet).ok()?;
    let job = planned.jobs.into_iter().next()?;
    Some((job.settings, job.places))
}

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
    let planned = reserve::reserve(question, console)?;
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

fn show(planned: &Planned, done: &[Done], question: &Question, console: &Console) -> Result<(), CliError> {
    let swept = planned.is_sweep.then(|| sweep::sweep(planned, done));
    if let Some(page) = swept.as_ref().map(|swept| sweep::write(planned, swept)).transpose()?.flatten() {
        console.say(&format!("report: {}", from_here(&page).display()));
    }
    if question.json {
        return match (done, &swept) {
            ([one], None) => output::json(&one.document, console.is_read_by_people()),
            (_, swept) => output::json(swept, console.is_read_by_people()),
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

/// Whether a run was made by `rooflens run`: then it knows its model.
pub fn is_own(run: &rooflens_schema::RunDir) -> bool {
    run.root().join(job::PLAN).is_file()
}
