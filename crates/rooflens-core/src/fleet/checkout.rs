//! Runs of a store as run directories, for commands that read those.

use std::path::PathBuf;

use rooflens_analyze::compare::headline;
use rooflens_schema::RunDir;
use rooflens_store::StoredRun;
use serde_json::Value as Json;
use tempfile::TempDir;

use super::store::{as_stored, block_on, open};
use crate::disk;
use crate::error::Error;
use crate::observer::{Event, SharedObserver};
use crate::run_index::{IndexedRun, RunFilter};

/// Inputs of a command; those that came from a store are gone when this is dropped.
pub struct Checkout {
    /// A path for each input, in their order.
    pub paths: Vec<PathBuf>,
    /// What those from the store lack, in words.
    pub notes: Vec<String>,
    /// Runs of which the store has no kernels.
    pub without_kernels: Vec<String>,
    _folder: TempDir,
}

const FROM_STORE: &str = "runs of a store have no operators, runtime calls and annotations: where a step begins, why the device \
                          was idle, and advice that follows from that can differ from those of the run directory";

/// The headline metrics of a run where a run directory has them: what its events no longer tell, as times of tokens, is
/// known by them.
fn kept_metrics(run: &StoredRun) -> Json {
    let mut kept = Json::Null;
    for metric in headline::ALL {
        let value = run.entry.row.get("metrics").and_then(|metrics| metrics.get(metric.key));
        let Some(value) = value.filter(|value| value.is_number()) else { continue };
        let mut place = &mut kept;
        for part in metric.path.split('/').filter(|part| !part.is_empty()) {
            place = &mut place[part];
        }
        *place = value.clone();
    }
    kept
}

/// What a report calls it: its id, and its label and tenant where they tell something.
fn name_of(run: &StoredRun) -> String {
    let label = run.entry.row.get("label").and_then(Json::as_str).unwrap_or_default();
    let tenant = Some(run.tenant.as_str()).filter(|tenant| *tenant != rooflens_store::DEFAULT_TENANT);
    let more = [label, tenant.unwrap_or_default()].map(|word| word.replace(['/', '\\'], "_"));
    let more: Vec<&str> = more.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    match more.is_empty() {
        true => run.entry.run_id.clone(),
        false => format!("{} {}", run.entry.run_id, more.join(" ")),
    }
}

/// Finds each input: a path that exists is itself; else it is the id of a run, its beginning, or `COLUMN=VALUE,…`, which
/// means the newest run that matches.
pub fn checkout(store: &str, inputs: &[PathBuf], observer: &SharedObserver) -> Result<Checkout, Error> {
    let folder = disk::scratch()?;
    let opened = open(store)?;
    let mut all: Option<Vec<StoredRun>> = None;
    let mut paths = Vec::new();
    let (mut notes, mut without_kernels) = (Vec::new(), Vec::new());
    for input in inputs {
        if input.exists() {
            paths.push(input.clone());
            continue;
        }
        let text = input.to_string_lossy();
        let run = match text.contains('=') {
            false => block_on(opened.find(&text, None))?,
            true => {
                let conditions: Vec<String> = text.split(',').map(str::to_owned).collect();
                let filter = RunFilter::parse(&conditions)?;
                let runs = match &mut all {
                    Some(runs) => runs,
                    None => all.insert(as_stored(store)?),
                };
                let listed: Vec<IndexedRun> = runs.iter().cloned().map(IndexedRun::from).collect();
                let found = listed.iter().position(|run| filter.takes(run)).and_then(|at| runs.get(at));
                found.cloned().ok_or_else(|| filter.nothing_meant(store, &listed))?
            }
        };
        observer.event(&Event::Working { what: &format!("reading run {} of the store", run.entry.run_id) });
        // Reports name a run by its folder. The same run may be asked for twice, of one tenant or of two.
        let mut path = folder.path().join(name_of(&run));
        if path.exists() {
            path = folder.path().join(format!("{} ({})", name_of(&run), paths.len() + 1));
        }
        let folder = RunDir::new(&path);
        let fetched = block_on(opened.fetch(&run, &folder))?;
        if fetched.kernels == 0 {
            without_kernels.push(run.entry.run_id.clone());
        }
        if fetched.events_dropped {
            let id = &run.entry.run_id;
            notes.push(format!(
                "the events of {id} were dropped by `rooflens store retain`: its metrics are left"
            ));
        } else if fetched.kernels > 0 && notes.is_empty() {
            notes.push(FROM_STORE.to_owned());
        }
        disk::make(&folder.report())?;
        disk::write_json(folder.report().join(disk::METRICS), &kept_metrics(&run))?;
        paths.push(path);
    }
    Ok(Checkout { paths, notes, without_kernels, _folder: folder })
}
