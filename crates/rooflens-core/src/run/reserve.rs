//! A folder of its own for every job, even where several programs start in the same second.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use rooflens_collect::execute::find_program;
use rooflens_collect::package as python;
use rooflens_compose::CompositionView;

use super::RunRequest;
use super::job;
use super::launch::{self, Planned};
use super::power;
use crate::config::folders;
use crate::error::Error;
use crate::observer::{SharedObserver, Unobserved};

/// Runs of one second that are told apart; a sane machine starts fewer.
const MOST_IN_A_SECOND: usize = 1_000;

/// Plans the jobs and reserves their folders. Names of folders end with the second: of runs that begin in the same
/// one, the later get a number behind it.
pub fn reserve(request: &RunRequest, observer: &SharedObserver) -> Result<Planned, Error> {
    let first = launch::plan(request, observer)?;
    let path = match prepare(&first, request) {
        Err(Error::RunExists { path }) if is_dated(&first) => path,
        done => return done.map(|()| first),
    };
    for number in 2..MOST_IN_A_SECOND {
        // What it warns of was said when it was planned first.
        let planned = launch::plan(&numbered(request, &first, number), &Unobserved::shared())?;
        match prepare(&planned, request) {
            Err(Error::RunExists { .. }) => {}
            done => return done.map(|()| planned),
        }
    }
    Err(Error::RunExists { path })
}

/// Whether the name of the folder has the time in it.
fn is_dated(planned: &Planned) -> bool {
    let place = if planned.is_sweep { "hydra.sweep" } else { "hydra.run" };
    let written = planned
        .jobs
        .first()
        .and_then(|job| job.composed.composition.show(CompositionView::Hydra, Some(place), false).ok());
    written.is_some_and(|text| text.contains("${now:"))
}

/// The same request for a folder of its own.
fn numbered(request: &RunRequest, first: &Planned, number: usize) -> RunRequest {
    let (key, folder) = match (&first.sweep, first.jobs.first()) {
        (Some((folder, _)), _) => ("sweep", folder.clone()),
        (None, job) => ("run", job.map(|job| job.places.run.clone()).unwrap_or_default()),
    };
    let mut request = request.clone();
    request.overrides.retain(|text| !launch::sets_folder(text, key));
    request.overrides.push(launch::folder_override(key, &folder, &format!("-{number}")));
    request
}

fn folders_of(planned: &Planned) -> BTreeSet<&Path> {
    planned.jobs.iter().map(|job| job.places.run.as_path()).collect()
}

/// Everything that can be known to fail fails before anything is made.
fn prepare(planned: &Planned, request: &RunRequest) -> Result<(), Error> {
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
        return Err(Error::RunExists { path: root.to_owned() });
    }
    folders_of(planned).into_iter().try_for_each(claim)?;
    if starts_any {
        python::unpack(&python::cache_folder())?;
    }
    match &planned.sweep {
        Some((folder, file)) if request.with_hydra => folders::make_sweep(folder, file),
        _ => Ok(()),
    }
}

/// Makes the folder that says whose it is; of two programs that try, one fails.
fn claim(root: &Path) -> Result<(), Error> {
    let path = root.join(folders::OWN_FOLDER);
    match std::fs::create_dir_all(root).and_then(|()| std::fs::create_dir(&path)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {
            Err(Error::RunExists { path: root.to_owned() })
        }
        made => made.map_err(|source| Error::Unwritable { path, source }),
    }
}
