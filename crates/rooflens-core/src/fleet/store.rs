//! What is done to a store, from start to end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rooflens_schema::RunDir;
use rooflens_store::{AddOptions, AddedRun, ChangedDay, Removal, Store, StoreError, StoredRun};
use serde_json::Value as Json;

use super::documents::{
    FailedRun, StoreAddedDocument, StoreChangedDocument, StoreRemovedDocument, StoreRunsDocument,
    StoreVacuumedDocument, StoreVerifiedDocument,
};
use super::runs::StoreFilter;
use crate::error::{Error, ErrorKind, FleetError};
use crate::observer::{Event, SharedObserver, Stop};
use crate::run::Run;
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
    /// Only say what would go.
    pub is_dry: bool,
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

/// Adds runs to a store, one after the other; each is visible as soon as it is whole. One that cannot be added does not
/// keep the others from it.
pub fn add(request: &AddRunsRequest, observer: &SharedObserver) -> Result<StoreAddedDocument, Error> {
    let store = open(&request.store)?;
    let (mut added, mut failed): (Vec<AddedRun>, Vec<FailedRun>) = Default::default();
    let runs: Vec<PathBuf> = request.runs.iter().flat_map(|path| run_folders(path)).collect();
    for folder in &runs {
        if observer.stop() != Stop::No {
            let why = "stopped before its turn".to_owned();
            failed.push(FailedRun { run: folder.display().to_string(), why });
            continue;
        }
        observer.event(&Event::Working { what: &format!("adding {}", folder.display()) });
        let run = RunDir::new(folder);
        let kept = saved::read_json(&run.report().join(saved::METRICS));
        let options = AddOptions {
            tenant: request.tenant.clone(),
            day: request.day.clone(),
            set: told(&kept).into_iter().chain(request.set.clone()).collect(),
            metrics: metrics(&run, &kept),
            now_unix_ns: now(),
        };
        match block_on(store.add(&run, &options)) {
            Ok(run) => added.push(run),
            // A store out of reach fails for all; of one run the error itself says more.
            Err(error) if runs.len() == 1 || error.kind() == ErrorKind::Environment => return Err(error),
            Err(error) => {
                let run = folder.display().to_string();
                failed.push(FailedRun { run, why: error.to_string() });
            }
        }
    }
    Ok(StoreAddedDocument::new(&request.store, added, failed))
}

/// Where a load test was told what runs behind the server: the device, and how many.
fn told(kept: &Json) -> BTreeMap<String, String> {
    let efficiency = &kept["efficiency"];
    // Only load tests have it; other runs say themselves what they ran on.
    let devices = efficiency["tensor_parallel"].as_u64().map(|count| count.to_string());
    let device = efficiency["device"].as_str().filter(|_| devices.is_some()).map(str::to_owned);
    let named = [("hardware", device), ("tp", devices.clone()), ("devices", devices)];
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What `compare` says of a run, and how far it was from the device's peaks.
fn metrics(run: &RunDir, kept: &Json) -> BTreeMap<String, f64> {
    let samples = Run::of(run.clone()).samples();
    let headline = samples.into_iter().map(|(metric, sample)| (metric.key.to_owned(), sample.value()));
    headline.chain(shares_of_peak(kept)).filter(|(_, value)| value.is_finite()).collect()
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

fn shares_of_peak(kept: &Json) -> BTreeMap<String, f64> {
    let share = |&(key, path): &(&str, &str)| Some((key.to_owned(), kept.pointer(path)?.as_f64()?));
    SHARES_OF_PEAK.iter().filter_map(share).collect()
}

/// The runs of a store that are so, newest first.
pub fn runs(address: &str, filter: &StoreFilter) -> Result<StoreRunsDocument, Error> {
    Ok(StoreRunsDocument::new(address, filter.choose(address)?))
}

/// The same, as they stand in the store.
pub(super) fn stored(address: &str) -> Result<Vec<StoredRun>, Error> {
    let mut runs = block_on(open(address)?.runs())?;
    // What does not say when it began is of its day, in the order in which it was added.
    let began = |run: &StoredRun| {
        let start = run.entry.row.get("start_unix_ns").and_then(Json::as_i64);
        (start.or_else(|| rooflens_store::start_of(&run.day)), run.entry.added_unix_ns)
    };
    runs.sort_by_key(|run| (Reverse(began(run)), run.entry.run_id.clone()));
    Ok(runs)
}

/// Reads every file that counts and holds it to its checksum.
pub fn verify(address: &str, observer: &SharedObserver) -> Result<StoreVerifiedDocument, Error> {
    let store = open(address)?;
    let read = |bytes| {
        observer.event(&Event::Read { bytes });
        observer.stop() == Stop::No
    };
    let found = block_on(store.verify(read))?;
    Ok(StoreVerifiedDocument::new(address, found))
}

/// Removes runs, by their ids or the beginnings of them, of one tenant or of any.
pub fn remove(
    address: &str,
    ids: &[String],
    tenant: Option<&str>,
    reason: &str,
) -> Result<StoreRemovedDocument, Error> {
    let store = open(address)?;
    let removal = Removal { by: user(), reason: reason.to_owned(), unix_ns: now() };
    let found = ids.iter().map(|id| block_on(store.find(id, tenant))).collect::<Result<Vec<_>, _>>()?;
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
        let wanted = observer.stop() == Stop::No && until.is_none_or(|until| partition.day.as_str() <= until);
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
    if let (Some(events), Some(rollups)) = (request.events_days, request.rollups_days)
        && rollups < events
    {
        let why =
            format!("sums are kept for {rollups} days, and events, which they are made of, for {events}");
        return Err(FleetError::Choice(why).into());
    }
    let store = open(address)?;
    let today = rooflens_store::day_of(now());
    let first = |days: Option<i64>| days.and_then(|days| rooflens_store::days_before(&today, days));
    let (events, rollups) = (first(request.events_days), first(request.rollups_days));
    let changed: Vec<ChangedDay> =
        block_on(store.retain(events.as_deref(), rollups.as_deref(), now(), request.is_dry))?;
    Ok(StoreChangedDocument::new(address, changed))
}

/// Deletes files that no longer count and are older than so many seconds.
pub fn vacuum(address: &str, older_than_s: i64) -> Result<StoreVacuumedDocument, Error> {
    let store = open(address)?;
    let before = now().saturating_sub(older_than_s.saturating_mul(1_000_000_000));
    let vacuumed = block_on(store.vacuum(before))?;
    Ok(StoreVacuumedDocument::new(address, vacuumed))
}

/// Who is at the keyboard: by name, else by the number of the user.
fn user() -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    let number = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata("/proc/self").map(|own| format!("uid {}", own.uid())).ok()
    };
    named.filter(|name| !name.is_empty()).or_else(number).unwrap_or_else(|| "unknown".to_owned())
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
