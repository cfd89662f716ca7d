//! A folder of its own for every job, even where two programs start in the same second: names of runs end
//! with the time.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use rooflens_collect::execute::find_program;
use rooflens_collect::package as python;

use super::Question;
use super::job;
use super::launch::{self, Planned};
use super::power;
use crate::config::folders;
use crate::console::{Console, Verbosity};
use crate::error::CliError;

/// How often the clock is looked at while the next second is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Looks until the time has become another, for certain.
const LOOKS: usize = 30;

/// Plans the jobs and reserves their folders. Where a folder is taken whose name has the time in it, the next
/// second gives another.
pub fn reserve(question: &Question, console: &Console) -> Result<Planned, CliError> {
    let mut planned = launch::plan(question, console)?;
    loop {
        match prepare(&planned, question) {
            Err(CliError::RunExists { path }) => {
                planned =
                    with_other_folders(&planned, question, console)?.ok_or(CliError::RunExists { path })?;
            }
            done => return done.map(|()| planned),
        }
    }
}

/// The same jobs in other folders, as soon as the time gives them; none where the names have no time in them.
fn with_other_folders(
    planned: &Planned,
    question: &Question,
    console: &Console,
) -> Result<Option<Planned>, CliError> {
    // What it warns of was said when it was planned first.
    let quiet = Console { verbosity: Verbosity::Quiet, ..*console };
    for _ in 0..LOOKS {
        std::thread::sleep(LOOK_EVERY);
        let again = launch::plan(question, &quiet)?;
        if folders_of(&again) != folders_of(planned) {
            return Ok(Some(again));
        }
    }
    Ok(None)
}

fn folders_of(planned: &Planned) -> BTreeSet<&Path> {
    planned.jobs.iter().map(|job| job.places.run.as_path()).collect()
}

/// Everything that can be known to fail fails before anything is made.
fn prepare(planned: &Planned, question: &Question) -> Result<(), CliError> {
    let mut starts_any = false;
    for job in &planned.jobs {
        let settings = &job.settings;
        if let Some(environment) = &settings.runtime.environment {
            environment.check(&job.places)?;
        }
        if job.plan.commands().next().is_some() {
            power::check(settings)?;
        }
        for (_, command) in job.plan.commands() {
            find_program(command, &job.places)?;
            starts_any = true;
        }
    }
    let taken = |root: &&Path| root.join(job::PLAN).exists() || root.join(folders::OWN_FOLDER).exists();
    if let Some(root) = folders_of(planned).into_iter().find(taken) {
        return Err(CliError::RunExists { path: root.to_owned() });
    }
    folders_of(planned).into_iter().try_for_each(claim)?;
    if starts_any {
        python::unpack(&python::cache_folder())?;
    }
    match &planned.sweep {
        Some((folder, file)) if question.with_hydra => folders::make_sweep(folder, file),
        _ => Ok(()),
    }
}

/// Makes the folder that says whose it is; of two programs that try, one fails.
fn claim(root: &Path) -> Result<(), CliError> {
    let path = root.join(folders::OWN_FOLDER);
    match std::fs::create_dir_all(root).and_then(|()| std::fs::create_dir(&path)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {
            Err(CliError::RunExists { path: root.to_owned() })
        }
        made => made.map_err(|source| CliError::Unwritable { path, source }),
    }
}
