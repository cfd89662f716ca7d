//! What is done to a store, from start to end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rooflens_schema::RunDir;
use rooflens_store::{AddOptions, AddedRun, ChangedDay, Removal, Store, StoreError, StoredRun};
use serde_json::Value as Json;

use super::documents::{
    StoreAddedDocument, StoreChangedDocument, StoreRemovedDocument, StoreRunsDocument, StoreVacuumedDocument,
    StoreVerifiedDocument,
};
use crate::error::{Error, FleetError};
use crate::observer::{Event, SharedObserver};
use crate::saved;

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

/// How long to keep what.
#[derive(Debug, Clone, Default)]
pub struct RetainRequest {
    /// Days for which events are kept.
    pub events_days: Option<i64>,
    /// Days for which roll-ups are kept.
    pub rollups_days: Option<i64>,
}

/// Where a run's `metrics.json` has how far it was from the device's peaks: of a run, then of a load test.
const SHARES_OF_PEAK: &[(&str, &str)] = &[
    ("mfu_prefill", "/efficiency/phases/prefill/mfu"),
    ("mbu_prefill", "/efficiency/phases/prefill/mbu"),
    ("mfu_decode", "/efficiency/phases/decode/mfu"),
    ("mbu_decode", "/efficiency/phases/decode/mbu"),
    ("mfu_decode", "/efficiency/mfu"),
    ("mbu_decode", "/efficiency/mbu"),
];

/// Adds runs to a store, one after the other; each is visible as soon as it is whole.
pub fn add(request: &AddRunsRequest, observer: &SharedObserver) -> Result<StoreAddedDocument, Error> {
    let store = open(&request.store)?;
    let mut added: Vec<AddedRun> = Vec::new();
    let runs = request.runs.iter().flat_map(|path| run_folders(path));
    for folder in runs.collect::<Vec<_>>() {
        observer.event(&Event::Working { what: &format!("adding {}", folder.display()) });
        let run = RunDir::new(&folder);
        let options = AddOptions {
            tenant: request.tenant.clone(),
            day: request.day.clone(),
            set: request.set.clone(),
            metrics: shares_of_peak(&run),
            now_unix_ns: now(),
        };
        added.push(block_on(store.add(&run, &options))?);
    }
    Ok(StoreAddedDocument::new(&request.store, added))
}

/// The folder itself, or those of the levels of a load test in it.
fn run_folders(path: &Path) -> Vec<PathBuf> {
    let is_run = |folder: &Path| RunDir::new(folder).table("runs").is_file();
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

fn shares_of_peak(run: &RunDir) -> BTreeMap<String, f64> {
    let metrics: Json = saved::read_json(&run.report().join(saved::METRICS));
    let share = |&(key, path): &(&str, &str)| Some((key.to_owned(), metrics.pointer(path)?.as_f64()?));
    SHARES_OF_PEAK.iter().filter_map(share).collect()
}

/// The runs of a store, newest first.
pub fn runs(address: &str) -> Result<StoreRunsDocument, Error> {
    Ok(StoreRunsDocument::new(address, stored(address)?))
}

/// The same, as they stand in the store.
pub(super) fn stored(address: &str) -> Result<Vec<StoredRun>, Error> {
    let mut runs = block_on(open(address)?.runs())?;
    let start = |run: &StoredRun| run.entry.row.get("start_unix_ns").and_then(Json::as_i64);
    runs.sort_by_key(|run| (std::cmp::Reverse(start(run)), run.entry.run_id.clone()));
    Ok(runs)
}

/// Reads every file that counts and holds it to its checksum.
pub fn verify(address: &str, observer: &SharedObserver) -> Result<StoreVerifiedDocument, Error> {
    let store = open(address)?;
    let read = |bytes| observer.event(&Event::Read { bytes });
    let found = block_on(store.verify(read))?;
    Ok(StoreVerifiedDocument::new(address, found))
}

/// Removes runs, by their ids or the beginnings of them.
pub fn remove(address: &str, ids: &[String], reason: &str) -> Result<StoreRemovedDocument, Error> {
    let store = open(address)?;
    let by = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
    let removal = Removal { by, reason: reason.to_owned(), unix_ns: now() };
    let found = ids.iter().map(|id| block_on(store.find(id))).collect::<Result<Vec<_>, _>>()?;
    for run in &found {
        block_on(store.remove(run, &removal))?;
    }
    Ok(StoreRemovedDocument::new(address, &found))
}

/// Joins the small files of each day.
pub fn compact(
    address: &str,
    until: Option<&str>,
    observer: &SharedObserver,
) -> Result<StoreChangedDocument, Error> {
    let store = open(address)?;
    let changed = block_on(store.compact(now(), |partition| {
        let wanted = until.is_none_or(|until| partition.day.as_str() <= until);
        if wanted {
            let what = format!("compacting {} of tenant {}", partition.day, partition.tenant);
            observer.event(&Event::Working { what: &what });
        }
        wanted
    }))?;
    Ok(StoreChangedDocument::new(address, changed))
}

/// Lets old days go.
pub fn retain(address: &str, request: &RetainRequest) -> Result<StoreChangedDocument, Error> {
    let store = open(address)?;
    let today = rooflens_store::day_of(now());
    let first = |days: Option<i64>| days.and_then(|days| rooflens_store::days_before(&today, days));
    let (events, rollups) = (first(request.events_days), first(request.rollups_days));
    let changed: Vec<ChangedDay> = block_on(store.retain(events.as_deref(), rollups.as_deref(), now()))?;
    Ok(StoreChangedDocument::new(address, changed))
}

/// Deletes files that no longer count and are older than so many seconds.
pub fn vacuum(address: &str, older_than_s: i64) -> Result<StoreVacuumedDocument, Error> {
    let store = open(address)?;
    let before = now().saturating_sub(older_than_s.saturating_mul(1_000_000_000));
    let vacuumed = block_on(store.vacuum(before))?;
    Ok(StoreVacuumedDocument::new(address, vacuumed))
}

pub(super) fn open(address: &str) -> Result<Store, Error> {
    Store::open(address).map_err(|error| FleetError::Store(error).into())
}

/// Waits for work of a store.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| FleetError::Engine {
        fact: format!("no thread for input and output can be started: {error}"),
        hint: None,
    })?;
    runtime.block_on(work).map_err(|error| FleetError::Store(error).into())
}

pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
