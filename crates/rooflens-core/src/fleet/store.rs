//! What is done to a store, from start to end.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rooflens_analyze::compare::trend::TrendOptions;
use rooflens_schema::tables::PhaseKind;
use rooflens_store::{Audited, ChangedDay, Store, StoreError, StoredRun, Vacuumed, VerifiedStore};
use serde_json::Value as Json;

use super::documents::{
    StoreChangedDocument, StoreRemovedDocument, StoreRunsDocument, StoreVacuumedDocument,
    StoreVerifiedDocument,
};
use crate::document::SchemaTag;
use crate::error::{Cause, Error, Hint};
use crate::observer::{Event, SharedObserver, Stop};
use crate::run_index::{IndexedRun, RunFilter, is_tag, no_such_value, not_a_tag, oldest_first};
use crate::shell::word;
use crate::trend::{Trend, trend_of_runs};

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

fn stored(address: &str) -> Result<Vec<IndexedRun>, Error> {
    Ok(as_stored(address)?.into_iter().map(IndexedRun::from).collect())
}

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
    let VerifiedStore { runs, files, bytes, damaged } = block_on(store.verify(read))?;
    let (schema, store) = (SchemaTag::new("store-verified"), address.to_owned());
    Ok(StoreVerifiedDocument { schema, store, runs, files, bytes, damaged })
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
        return Err(not_a_tag(tag));
    }
    let found = find(address, ids, tenant)?;
    if let Some(other) = found.iter().find(|run| run.tags.iter().any(|label| label != tag)) {
        let (run, label) = (other.text("run_id"), other.tags.join(", "));
        let message = format!("run {run} has the label {label:?} already, and a run of a store has only one");
        let untag = format!("rooflens runs untag {run} {} --store STORE", word(Path::new(&label)));
        return Err(Error::usage(message).hinted(Hint::leading("remove the other first:", untag)));
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
        return Err(Error::usage(why));
    }
    let store = open(address)?;
    let found = ids.iter().map(|id| block_on(store.find(id, tenant))).collect::<Result<Vec<_>, _>>()?;
    for run in &found {
        block_on(store.remove(run, &audited(reason)))?;
    }
    let removed = found.into_iter().map(|run| run.entry.run_id).collect();
    let (schema, store) = (SchemaTag::new("store-removed"), address.to_owned());
    Ok(StoreRemovedDocument { schema, store, removed })
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
        return Err(Error::usage(why));
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
    let Vacuumed { files, bytes } = block_on(store.vacuum(before))?;
    let (schema, store) = (SchemaTag::new("store-vacuumed"), address.to_owned());
    Ok(StoreVacuumedDocument { schema, store, files, bytes })
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
    Store::open(address).map_err(failed)
}

pub(super) fn block_on<T>(work: impl Future<Output = Result<T, StoreError>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let failure =
        |error| Error::environment(format!("no thread for input and output can be started: {error}"));
    runtime.map_err(failure)?.block_on(work).map_err(failed)
}

fn failed(error: StoreError) -> Error {
    let message = error.to_string();
    let data = |hint: Hint| Error::data(&message).hinted(hint);
    match &error {
        StoreError::Access { why, .. } if why == "access was denied" => Error::environment(message).words(
            "credentials come from where the provider's own tools take them, as AWS_PROFILE or AWS_ACCESS_KEY_ID",
        ),
        StoreError::NoClouds { .. } => Error::environment(message).hinted(Hint::feature("clouds")),
        StoreError::Access { .. } | StoreError::Scratch { .. } | StoreError::Raced { .. } => {
            Error::environment(message)
        }
        StoreError::Value { .. } | StoreError::Address { .. } => Error::usage(message),
        StoreError::Stopped => Error::stopped(message),
        StoreError::Absent { url } => data(Hint::leading(
            "the first run that is added makes one:",
            format!("rooflens store add RUN --store {url}"),
        ))
        .because(Cause::NoStore),
        StoreError::NotAddable { path, .. } if path.exists() => data(Hint::leading(
            "of a trace, write the run directory first:",
            format!("rooflens analyze {} -o runs/one", word(path)),
        )),
        StoreError::NoSuchRun { .. } => data(Hint::command("rooflens runs STORE")),
        StoreError::Differs { run } => data(Hint::leading(
            "it was added with other values of --set, or analyzed with other options; to correct a value:",
            format!("rooflens store set {run} label=… --store STORE"),
        )),
        StoreError::Elsewhere { run, .. } => data(Hint::leading(
            "to file it under another day, remove it first:",
            format!("rooflens store rm {run} --store STORE"),
        )),
        StoreError::Removed { .. } => data(Hint::words(
            "a run that was removed, or dropped by `rooflens store retain`, cannot be added again",
        )),
        StoreError::Manifest { .. } | StoreError::Table { .. } => data(Hint::command("rooflens store verify --store STORE")),
        _ => Error::data(message),
    }
}

pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

const SHORT: usize = 8;

/// How many characters tell runs apart by their ids.
pub fn characters_of_an_id(runs: &[IndexedRun]) -> usize {
    let mut ids: Vec<&str> = runs.iter().filter_map(|run| run.run_id.as_deref()).collect();
    ids.sort_unstable();
    ids.dedup();
    let shared = |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    ids.windows(2).map(|pair| shared(pair) + 1).max().unwrap_or_default().max(SHORT)
}

fn known_values(runs: &[IndexedRun], columns: &[&str]) -> BTreeSet<String> {
    let values = runs.iter().flat_map(|run| columns.iter().map(|column| run.text(column)));
    values.filter(|value| !value.is_empty()).collect()
}

/// What no run of a store has, of values that were given for columns of `runs`.
pub(super) fn unknown_values(store: &str, given: &BTreeMap<String, String>) -> Result<Vec<String>, Error> {
    let runs = stored(store)?;
    let mut unknown = Vec::new();
    for (name, wanted) in given.iter().filter(|(_, wanted)| !wanted.is_empty()) {
        let columns: &[&str] = match name.as_str() {
            "hardware" => &["hardware"],
            "model" => &["model"],
            "runtime" => &["runtime"],
            "base" | "other" => &["runtime_build", "runtime_version", "label"],
            "release" => &["label", "runtime_build", "runtime_version"],
            "phase" => &[],
            _ => continue,
        };
        let known = match name.as_str() {
            "phase" => PhaseKind::ALL.iter().map(|phase| phase.as_str().to_owned()).collect(),
            _ => known_values(&runs, columns),
        };
        if !known.contains(wanted) {
            unknown.push(no_such_value(name, columns, wanted, &known));
        }
    }
    Ok(unknown)
}

/// Finds where a metric of the runs of a store changed, in the order in which they began.
pub fn store_trend(
    store: &str,
    filter: &RunFilter,
    key: &str,
    options: TrendOptions,
) -> Result<Trend, Error> {
    let mut runs = filter.choose(store, stored(store)?)?;
    runs.reverse();
    // What does not say when it began stays where its day is.
    if runs.iter().all(|run| run.start_unix_ns().is_some()) {
        oldest_first(&mut runs);
    }
    // A run that two tenants have is one run.
    let mut seen = BTreeSet::new();
    runs.retain(|run| seen.insert(run.run_id.clone()));
    trend_of_runs(store, &runs, key, options)
}
