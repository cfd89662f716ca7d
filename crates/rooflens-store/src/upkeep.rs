//! Keeping a store: finding, removing and relabelling runs, letting old days go, deleting what no longer counts.

use std::collections::{BTreeMap, BTreeSet};
use std::time::UNIX_EPOCH;

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde::Serialize;

use crate::error::StoreError;
use crate::layout::{FORMAT, LogEntry, Place, parse_log};
use crate::location::Store;
use crate::manifest::{FileEntry, RunEntry, StateManifest, sealed};
use crate::run_row;
use crate::state::{Change, ChangedDay, is_event, runs_after};

/// How many runs a message names.
const NAMED: usize = 5;

/// A run of a store, and where it is filed.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Whose run.
    pub tenant: String,
    /// The day that it is filed under.
    pub day: String,
    /// What is known of it.
    pub entry: RunEntry,
}

/// What was deleted because it no longer counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// Objects.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Who changes what is known of a run, and why.
#[derive(Debug, Clone, Serialize)]
pub struct Audited {
    /// Who.
    pub by: String,
    /// Why.
    pub reason: String,
    /// When, since 1970.
    pub unix_ns: i64,
}

#[derive(Serialize)]
struct AuditRecord<'a> {
    rooflens_store: u32,
    action: &'static str,
    run_id: &'a str,
    tenant: &'a str,
    day: &'a str,
    /// The columns that were set, where some were.
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<&'a BTreeMap<String, String>>,
    #[serde(flatten)]
    audited: &'a Audited,
}

impl Store {
    /// Every run that counts, by tenant and day.
    pub async fn runs(&self) -> Result<Vec<StoredRun>, StoreError> {
        let snapshot = self.snapshot().await?;
        let mut runs = Vec::new();
        for (partition, files) in snapshot.files_of(snapshot.partitions().iter()).await? {
            let (tenant, day) = (&partition.tenant, &partition.day);
            let stored = |entry: &RunEntry| StoredRun {
                tenant: tenant.clone(),
                day: day.clone(),
                entry: entry.clone(),
            };
            runs.extend(files.runs.iter().map(stored));
        }
        Ok(runs)
    }

    /// The run of an id, or of the beginning of one, of a tenant or of any.
    pub async fn find(&self, id: &str, tenant: Option<&str>) -> Result<StoredRun, StoreError> {
        let is_meant = |run: &StoredRun| {
            run.entry.run_id.starts_with(id) && tenant.is_none_or(|tenant| run.tenant == tenant)
        };
        let mut found: Vec<StoredRun> = self.runs().await?.into_iter().filter(is_meant).collect();
        if found.iter().any(|run| run.entry.run_id == id) {
            found.retain(|run| run.entry.run_id == id);
        }
        if let [_] = found.as_slice() {
            return Ok(found.swap_remove(0));
        }
        let one = |run: &StoredRun| format!("{} ({}, tenant {})", run.entry.run_id, run.day, run.tenant);
        let more = if found.len() > NAMED { ", …" } else { "" };
        let names: Vec<String> = found.iter().take(NAMED).map(one).collect();
        let why = match found.len() {
            0 => format!("the store has no run {id}"),
            count => format!("'{id}' is ambiguous, {count} runs match: {}{more}", names.join(", ")),
        };
        Err(StoreError::NoSuchRun { why })
    }

    /// Removes a run. It no longer counts once this returns; its bytes go with the next [`Store::vacuum`].
    pub async fn remove(&self, run: &StoredRun, audited: &Audited) -> Result<(), StoreError> {
        let without: BTreeSet<String> = [run.entry.run_id.clone()].into();
        let change = Change { reason: "remove", without: &without, set: None, now_unix_ns: audited.unix_ns };
        self.change(run, &change, audited).await
    }

    /// Sets columns of `runs`, see [`crate::SETTABLE`]; the roll-ups that depend on them follow.
    pub async fn set(
        &self,
        run: &StoredRun,
        values: &BTreeMap<String, String>,
        audited: &Audited,
    ) -> Result<(), StoreError> {
        // What is not allowed is said before anything is written.
        run_row::change(&mut run.entry.row.clone(), values)?;
        let set = Some((run.entry.run_id.as_str(), values));
        let change = Change { reason: "set", without: &BTreeSet::new(), set, now_unix_ns: audited.unix_ns };
        self.change(run, &change, audited).await
    }

    async fn change(
        &self,
        run: &StoredRun,
        change: &Change<'_>,
        audited: &Audited,
    ) -> Result<(), StoreError> {
        let place = Place::new(&run.tenant, &run.day)?;
        let id = run.entry.run_id.as_str();
        let record = AuditRecord {
            rooflens_store: FORMAT,
            action: change.reason,
            run_id: id,
            tenant: &run.tenant,
            day: &run.day,
            set: change.set.map(|(_, values)| values),
            audited,
        };
        let audit = format!("tenant={}/audit/{}-{}-{id}.json", run.tenant, audited.unix_ns, change.reason);
        self.create(&self.place(&audit), sealed(&record)).await?;
        let is_there = |files: &crate::PartitionFiles| files.runs.iter().any(|entry| entry.run_id == id);
        self.rewrite(&place, change, is_there).await.map(drop)
    }

    /// Lets the events, or everything, of days before a given one go; a dry run only says what would go.
    pub async fn retain(
        &self,
        events_from: Option<&str>,
        rollups_from: Option<&str>,
        now_unix_ns: i64,
        is_dry: bool,
    ) -> Result<Vec<ChangedDay>, StoreError> {
        let mut changed = Vec::new();
        for partition in self.snapshot().await?.partitions() {
            let is_before = |first: Option<&str>| first.is_some_and(|first| partition.day.as_str() < first);
            let (all, events) = (is_before(rollups_from), is_before(events_from));
            let files = partition.files().await?;
            if !(all && !files.runs.is_empty()
                || events && files.files.iter().any(|file| is_event(&file.into())))
            {
                continue;
            }
            let gone: BTreeSet<String> =
                files.runs.iter().filter(|_| all).map(|run| run.run_id.clone()).collect();
            let (runs, removed) = runs_after(&files, &gone);
            let kept = files.files.iter().map(FileEntry::from).filter(|file| !all && !is_event(file));
            let state = StateManifest {
                rooflens_store: FORMAT,
                rooflens_version: env!("CARGO_PKG_VERSION").to_owned(),
                reason: "retain".to_owned(),
                made_unix_ns: now_unix_ns,
                runs,
                removed,
                files: kept.collect(),
                is_compacted: files.fresh.is_empty()
                    && files.state.as_ref().is_some_and(|(_, state)| state.is_compacted),
                events_dropped: true,
            };
            if is_dry {
                changed.push(ChangedDay::new(partition, &files, &state));
                continue;
            }
            let published = self.publish(partition, &files, state).await?;
            let raced = || StoreError::Raced { tenant: partition.tenant.clone(), day: partition.day.clone() };
            changed.push(published.ok_or_else(raced)?);
        }
        Ok(changed)
    }

    /// Deletes what has not counted since before a time: files of runs that were removed or compacted, what interrupted
    /// writers left, and old entries of the log. A day whose state is younger is left as it is: somebody may be reading
    /// what counted until then.
    pub async fn vacuum(&self, before_unix_ns: i64) -> Result<Vacuumed, StoreError> {
        let mut vacuumed = Vacuumed::default();
        for tenant in self.tenants().await? {
            let snapshot = self.snapshot_of(Some(std::slice::from_ref(&tenant))).await?;
            let mut kept: BTreeSet<Path> = BTreeSet::new();
            let mut young: BTreeSet<String> = BTreeSet::new();
            for (partition, files) in snapshot.files_of(snapshot.partitions().iter()).await? {
                kept.extend(files.files.iter().map(|file| file.path.clone()));
                if files.state.as_ref().is_some_and(|(_, state)| state.made_unix_ns >= before_unix_ns) {
                    young.insert(format!("day={}", partition.day));
                }
                let place = partition.place();
                let entry = |entry: LogEntry| place.log_entry(self.root(), &entry);
                let fresh = files.fresh.iter().map(|manifest| LogEntry::Run(manifest.run.run_id.clone()));
                let state = files.state.iter().map(|(number, _)| LogEntry::State(*number));
                kept.extend(fresh.chain(state).map(entry));
            }
            let folder = self.place(&format!("tenant={tenant}"));
            let mut listing = self.object_store().list(Some(&folder));
            let mut old = Vec::new();
            while let Some(object) = listing.next().await {
                let object = object.map_err(|error| StoreError::access("list", &folder, &error))?;
                let is_data = object.location.extension() == Some("parquet");
                let is_log = parse_log(&tenant, &object.location).is_some();
                let is_young = object.location.parts().any(|part| young.contains(part.as_ref()));
                let written = object.last_modified.timestamp_nanos_opt().unwrap_or(i64::MAX);
                if (is_data || is_log)
                    && !is_young
                    && written < before_unix_ns
                    && !kept.contains(&object.location)
                {
                    old.push((object.location, object.size));
                }
            }
            // Files before the log: what is left of an interrupted vacuum is then found again.
            old.sort_by_key(|(path, _)| path.extension() != Some("parquet"));
            for (path, bytes) in old {
                match self.object_store().delete(&path).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(StoreError::access("delete", &path, &error)),
                }
                vacuumed.files += 1;
                vacuumed.bytes += bytes;
            }
        }
        self.remove_staged(before_unix_ns, &mut vacuumed);
        Ok(vacuumed)
    }

    /// Deletes what writers that were killed left half-written in a folder: names that end in `#` and a number, which no
    /// listing shows.
    fn remove_staged(&self, before_unix_ns: i64, vacuumed: &mut Vacuumed) {
        if self.object_store_url().scheme() != "file" {
            return;
        }
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_staged = |name: &str| name.rsplit_once('#').is_some_and(|(_, number)| is_number(number));
        let mut folders = vec![std::path::Path::new("/").join(self.root().as_ref())];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else { continue };
                let written = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                let is_old =
                    written.is_some_and(|since| (since.as_nanos() as i128) < i128::from(before_unix_ns));
                if metadata.is_dir() {
                    folders.push(entry.path());
                } else if is_staged(&entry.file_name().to_string_lossy())
                    && is_old
                    && std::fs::remove_file(entry.path()).is_ok()
                {
                    vacuumed.files += 1;
                    vacuumed.bytes += metadata.len();
                }
            }
        }
    }
}

impl From<&crate::StoreFile> for FileEntry {
    fn from(file: &crate::StoreFile) -> Self {
        FileEntry {
            table: file.table.clone(),
            path: file.relative.clone(),
            bytes: file.bytes,
            rows: file.rows,
            sha256: file.sha256.clone(),
        }
    }
}
