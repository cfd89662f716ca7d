//! A folder of its own for every job, even where several programs start in the same second.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use rooflens_collect::RunSettings;
use rooflens_collect::execute::find_program;
use rooflens_collect::package as python;
use rooflens_collect::sample::Watched;
use rooflens_collect::sample::nvml::NvmlSource;
use rooflens_compose::CompositionView;

use super::RunRequest;
use super::config;
use super::launch::{self, Planned};
use crate::config::folders;
use crate::environment::nvml_library;
use crate::error::{Cause, Error};
use crate::observer::{SharedObserver, Unobserved};

/// Runs of one second that are told apart; a sane machine starts fewer.
const MOST_IN_A_SECOND: usize = 1_000;

/// Plans the jobs and reserves their folders. Names of folders end with the second: of runs that begin in the same
/// one, the later get a number behind it.
pub fn reserve(request: &RunRequest, observer: &SharedObserver) -> Result<Planned, Error> {
    let first = launch::plan(request, observer)?;
    let taken = match prepare(&first, request) {
        Err(taken) if taken.is(Cause::RunExists) && is_dated(&first) => taken,
        done => return done.map(|()| first),
    };
    for number in 2..MOST_IN_A_SECOND {
        // What it warns of was said when it was planned first.
        let planned = launch::plan(&numbered(request, &first, number), &Unobserved::shared())?;
        match prepare(&planned, request) {
            Err(taken) if taken.is(Cause::RunExists) => {}
            done => return done.map(|()| planned),
        }
    }
    Err(taken)
}

fn is_dated(planned: &Planned) -> bool {
    let place = if planned.is_sweep { "hydra.sweep" } else { "hydra.run" };
    let written = planned
        .jobs
        .first()
        .and_then(|job| job.composed.composition.show(CompositionView::Hydra, Some(place), false).ok());
    written.is_some_and(|text| text.contains("${now:"))
}

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
            check_power_limit(settings)?;
        }
        for (_, command) in job.plan.commands() {
            find_program(command, &job.places)?;
            starts_any = true;
        }
    }
    let taken = |root: &&Path| root.join(config::PLAN).exists() || root.join(folders::OWN_FOLDER).exists();
    if let Some(root) = folders_of(planned).into_iter().find(taken) {
        return Err(exists(root));
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

fn exists(root: &Path) -> Error {
    Error::usage(format!("{} already has a run: nothing was started", root.display()))
        .words("choose another: hydra.run.dir=FOLDER, or hydra.sweep.dir=FOLDER for a sweep")
        .because(Cause::RunExists)
}

/// Makes the folder that says whose it is; of two programs that try, one fails.
fn claim(root: &Path) -> Result<(), Error> {
    let path = root.join(folders::OWN_FOLDER);
    match std::fs::create_dir_all(root).and_then(|()| std::fs::create_dir(&path)) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Err(exists(root)),
        made => made.map_err(|source| Error::unwritable(path, source)),
    }
}

/// Limits nearer than this are the same: devices take whole watts.
const SAME_W: f64 = 0.5;

const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";

/// Checks that every device of a run enforces the power limit that its config asks for. Rooflens never sets it: that
/// needs an administrator, and outlives the run.
fn check_power_limit(settings: &RunSettings) -> Result<(), Error> {
    let Some(wanted) = settings.hardware.power_limit_w else { return Ok(()) };
    let wrong = |what: String, hint: String| {
        Err(Error::environment(format!("hardware.power_limit_w is {wanted}, but {what}")).words(hint))
    };
    let device = settings.hardware.device.as_str();
    if !["auto", "cuda"].contains(&device.split(':').next().unwrap_or_default()) {
        let hint = "power limits can only be read from NVIDIA devices: set hardware.power_limit_w=null";
        return wrong(format!("hardware.device is {device}"), hint.to_owned());
    }
    let source = match NvmlSource::open(nvml_library().as_deref(), &Watched::default()) {
        Ok(source) => source,
        Err(missing) => {
            return wrong(format!("no limit can be read: {}", missing.fact), missing.hint.into_owned());
        }
    };
    let limits = source.power_limits();
    let told = settings.runtime.env.get(VISIBLE).cloned().or_else(|| std::env::var(VISIBLE).ok());
    for index in indices(device, settings.hardware.count, told.as_deref()) {
        let (what, hint) = match limits.iter().find(|(known, ..)| *known == index) {
            None => (format!("there is no device {index}"), "nvidia-smi -L lists the devices".to_owned()),
            Some((_, _, Ok(limit))) if (limit - wanted).abs() < SAME_W => continue,
            Some((_, name, Ok(limit))) => (
                format!("device {index} ({name}) enforces {limit} W"),
                format!("sudo nvidia-smi -i {index} -pl {wanted}"),
            ),
            Some((_, name, Err(why))) => (
                format!("device {index} ({name}) reports no limit: {why}"),
                "hardware.power_limit_w=null".to_owned(),
            ),
        };
        return wrong(what, hint);
    }
    Ok(())
}

/// The devices of a run as the driver numbers them. CUDA numbers those that it may see from 0; where it is told
/// their ids instead of numbers, the order is the driver's own.
fn indices(device: &str, count: u64, visible: Option<&str>) -> Vec<i32> {
    let seen: Option<Vec<i32>> =
        visible.and_then(|list| list.split(',').map(|index| index.trim().parse().ok()).collect());
    let first: usize = device.split_once(':').and_then(|(_, index)| index.parse().ok()).unwrap_or(0);
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(1024);
    (first..first.saturating_add(count))
        .filter_map(|index| match &seen {
            Some(seen) => seen.get(index).copied(),
            None => i32::try_from(index).ok(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_as_cuda_sees_them() {
        assert_eq!(indices("auto", 1, None), [0]);
        assert_eq!(indices("cuda:2", 2, None), [2, 3]);
        assert_eq!(indices("cuda", 2, Some("5, 3")), [5, 3]);
        assert_eq!(indices("cuda:1", 1, Some("5,3")), [3]);
        assert_eq!(indices("cuda", 1, Some("GPU-8a1b")), [0]);
    }
}
