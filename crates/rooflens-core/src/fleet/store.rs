//! What is done to a store, from start to end.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use rooflens_store::{Audited, ChangedDay, Store, StoreError, StoredRun};
use serde_json::Value as Json;

use super::documents::{
    StoreChangedDocument, StoreRemovedDocument, StoreRunsDocument, StoreVacuumedDocument,
    StoreVerifiedDocument,
};
use super::runs::characters_of_an_id;
use crate::error::{Error, FleetError, RunsError};
use crate::observer::{Event, SharedObserver, Stop};
use crate::run_index::{IndexedRun, RunFilter, is_tag};

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

/// The runs of a store that match, newest first.
pub fn runs(address: &str, filter: &RunFilter) -> Result<StoreRunsDocument, Error> {
    let all = stored(address)?;
    let characters = characters_of_an_id(&all);
    Ok(StoreRunsDocument::new(address, characters, filter.choose(address, all)?))
}

/// All of them, newest first.
pub(super) fn stored(address: &str) -> Result<Vec<IndexedRun>, Error> {
    Ok(as_stored(address)?.into_iter().map(IndexedRun::from).collect())
}

/// The same, as they stand in the store.
pub(super) fn as_stored(address: &str) -> Result<Vec<StoredRun>, Error> {
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

/// Fewest characters of an id that name a run to be removed: a typing error is not to cost one.
const LEAST_OF_AN_ID: usize = 8;

/// Runs of a store, by their ids or the beginnings of them, of one tenant or of any. Nothing is changed.
pub fn find(address: &str, ids: &[String], tenant: Option<&str>) -> Result<Vec<IndexedRun>, Error> {
    let store = open(address)?;
    let found = ids.iter().map(|id| Ok(block_on(store.find(id, tenant))?.into()));
    found.collect()
}

/// Gives runs of a store a label, which is their only tag; one that has another keeps it, and that is an error.
pub fn tag(
    address: &str,
    ids: &[String],
    tenant: Option<&str>,
    tag: &str,
) -> Result<StoreRunsDocument, Error> {
    if !is_tag(tag) {
        return Err(RunsError::Tag { word: tag.to_owned() }.into());
    }
    let found = find(address, ids, tenant)?;
    if let Some(other) = found.iter().find(|run| run.tags.iter().any(|label| label != tag)) {
        let (run, label) = (other.text("run_id"), other.tags.join(", "));
        return Err(RunsError::OtherLabel { run, label }.into());
    }
    relabel(address, &found, tag, |run| run.tags.is_empty())
}

/// Takes a label from runs of a store. A run that does not have it stays as it is.
pub fn untag(
    address: &str,
    ids: &[String],
    tenant: Option<&str>,
    tag: &str,
) -> Result<StoreRunsDocument, Error> {
    let found = find(address, ids, tenant)?;
    relabel(address, &found, "", |run| run.tags.iter().any(|label| label == tag))
}

fn relabel(
    address: &str,
    found: &[IndexedRun],
    label: &str,
    is_changed: impl Fn(&IndexedRun) -> bool,
) -> Result<StoreRunsDocument, Error> {
    let values = [("label".to_owned(), label.to_owned())].into();
    let mut now = Vec::new();
    for run in found {
        match is_changed(run) {
            false => now.push(run.clone()),
            true => now.extend(set(address, &run.text("run_id"), run.tenant.as_deref(), &values, "")?.runs),
        }
    }
    Ok(StoreRunsDocument::new(address, characters_of_an_id(&now), now))
}

/// Removes runs, by their ids or the beginnings of them, of one tenant or of any.
pub fn remove(
    address: &str,
    ids: &[String],
    tenant: Option<&str>,
    reason: &str,
) -> Result<StoreRemovedDocument, Error> {
    if let Some(short) = ids.iter().find(|id| id.len() < LEAST_OF_AN_ID) {
        let why =
            format!("'{short}' is too short: give at least {LEAST_OF_AN_ID} characters of the run's id");
        return Err(FleetError::Choice(why).into());
    }
    let store = open(address)?;
    let found = ids.iter().map(|id| block_on(store.find(id, tenant))).collect::<Result<Vec<_>, _>>()?;
    for run in &found {
        block_on(store.remove(run, &audited(reason)))?;
    }
    Ok(StoreRemovedDocument::new(address, &found))
}

/// Sets columns of `runs` for a run of a store, as its label.
pub fn set(
    address: &str,
    id: &str,
    tenant: Option<&str>,
    values: &BTreeMap<String, String>,
    reason: &str,
) -> Result<StoreRunsDocument, Error> {
    let store = open(address)?;
    let found = block_on(store.find(id, tenant))?;
    block_on(store.set(&found, values, &audited(reason)))?;
    let now = block_on(store.find(&found.entry.run_id, Some(&found.tenant)))?;
    Ok(StoreRunsDocument::new(address, now.entry.run_id.len(), vec![now.into()]))
}

fn audited(reason: &str) -> Audited {
    Audited { by: user(), reason: reason.to_owned(), unix_ns: now() }
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
        let why = format!(
            "--rollups {rollups} must not be less than --events {events}: sums are kept at least as long as events"
        );
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
