//! Adding runs to a store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_schema::RunDir;
use rooflens_store::{AddOptions, AddedRun};

use super::documents::{FailedRun, StoreAddedDocument};
use super::store::{block_on, now, open};
use crate::document::SchemaTag;
use crate::error::{Cause, Error, ErrorKind};
use crate::observer::{Event, SharedObserver, Stop};
use crate::run::Run;
use crate::run_index::KeptNumbers;

/// Runs to add.
#[derive(Debug, Clone)]
pub struct AddRunsRequest {
    /// Run directories, or load tests with several runs in them.
    pub runs: Vec<PathBuf>,
    /// Address of the store.
    pub store: String,
    /// Whose runs they are.
    pub tenant: String,
    /// The day that they are filed under; by default that on which each began.
    pub day: Option<String>,
    /// Columns of `runs` that they do not tell themselves.
    pub set: BTreeMap<String, String>,
}

/// Adds runs to a store, one after the other; each is visible as soon as it is whole. One that cannot be added does not
/// keep the others from it.
pub fn add(request: &AddRunsRequest, observer: &SharedObserver) -> Result<StoreAddedDocument, Error> {
    if is_run(Path::new(&request.store)) {
        let why = format!("{} is a run directory: give the store a folder of its own", request.store);
        return Err(Error::usage(why));
    }
    let store = open(&request.store)?;
    // Whoever may not list all tenants is not told.
    let is_new = block_on(store.tenants()).is_err_and(|error| error.is(Cause::NoStore));
    let (mut added, mut failed): (Vec<AddedRun>, Vec<FailedRun>) = Default::default();
    let runs: Vec<PathBuf> = request.runs.iter().flat_map(|path| run_folders(path)).collect();
    for folder in &runs {
        if observer.stop() != Stop::No {
            let why = "stopped before its turn".to_owned();
            failed.push(FailedRun { run: folder.display().to_string(), why, hint: None });
            continue;
        }
        observer.event(&Event::Working { what: &format!("adding {}", folder.display()) });
        let run = RunDir::new(folder);
        let kept = KeptNumbers::of(&run);
        let options = AddOptions {
            tenant: request.tenant.clone(),
            day: request.day.clone(),
            set: kept.columns().into_iter().chain(request.set.clone()).collect(),
            metrics: metrics(&run, &kept),
            now_unix_ns: now(),
        };
        match block_on(store.add(&run, &options)) {
            Ok(run) => added.push(run),
            // A store out of reach fails for all; of one run the error itself says more.
            Err(error) if runs.len() == 1 || error.kind() == ErrorKind::Environment => return Err(error),
            Err(error) => {
                let run = folder.display().to_string();
                let hint = error.hint().map(|hint| hint.to_string());
                failed.push(FailedRun { run, why: error.to_string(), hint });
            }
        }
    }
    let (schema, store) = (SchemaTag::new("store-added"), request.store.clone());
    Ok(StoreAddedDocument { schema, store, is_new, runs: added, failed })
}

/// What `compare` says of a run, how far it was from the device's peaks, and what a trace tells of its steps.
fn metrics(run: &RunDir, kept: &KeptNumbers) -> BTreeMap<String, f64> {
    let samples = Run::of(run.clone()).samples();
    let headline = samples.into_iter().map(|(metric, sample)| (metric.key.to_owned(), sample.value()));
    headline.chain(kept.further()).filter(|(_, value)| value.is_finite()).collect()
}

fn is_run(folder: &Path) -> bool {
    RunDir::new(folder).table("runs").is_file()
}

/// The folder itself, or those of the levels of a load test in it.
fn run_folders(path: &Path) -> Vec<PathBuf> {
    if is_run(path) {
        return vec![path.to_owned()];
    }
    let mut inside: Vec<PathBuf> = Vec::new();
    for level in ["rates", "levels", "jobs", "."] {
        let entries = std::fs::read_dir(path.join(level)).into_iter().flatten().flatten();
        inside.extend(entries.map(|entry| entry.path()).filter(|folder| is_run(folder)));
    }
    inside.sort();
    if inside.is_empty() { vec![path.to_owned()] } else { inside }
}
