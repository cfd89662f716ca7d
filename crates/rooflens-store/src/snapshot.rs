//! What counts at one moment.
//!
//! The log is listed once; manifests of a day are read when somebody asks for its files, and kept. What they name is
//! never changed, so that one snapshot answers the same for as long as its files are there: files that no longer
//! count are deleted only after a time of grace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::path::Path;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use crate::error::StoreError;
use crate::layout::{FORMAT, LogEntry, MARK, Place, log_folder, parse_log};
use crate::location::Store;
use crate::manifest::{FileEntry, RunEntry, RunManifest, StateManifest, opened};

/// Manifests that are read at the same time.
const READS: usize = 32;

/// What a store held when it was asked.
#[derive(Debug, Clone)]
pub struct Snapshot {
    partitions: Arc<Vec<Arc<Partition>>>,
}

/// The runs of one tenant that began on one day.
#[derive(Debug)]
pub struct Partition {
    /// The tenant.
    pub tenant: String,
    /// The day, as 2026-11-17.
    pub day: String,
    store: Store,
    log: DayLog,
    files: OnceCell<Arc<PartitionFiles>>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct DayLog {
    pub(crate) runs: BTreeSet<String>,
    pub(crate) states: BTreeSet<u64>,
}

/// The files that count on a day.
#[derive(Debug)]
pub struct PartitionFiles {
    /// In the order of tables, then of paths.
    pub files: Vec<StoreFile>,
    /// The runs that they hold.
    pub runs: Vec<RunEntry>,
    /// The state that they come from, where there is one.
    pub(crate) state: Option<(u64, Arc<StateManifest>)>,
    /// The manifests of the runs that are in no state yet.
    pub(crate) fresh: Vec<RunManifest>,
}

impl PartitionFiles {
    /// Whether events of its runs were dropped when their time was over.
    #[must_use]
    pub fn events_dropped(&self) -> bool {
        !self.runs.is_empty() && self.state.as_ref().is_some_and(|(_, state)| state.events_dropped)
    }
}

/// A file that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFile {
    /// Which table it is of.
    pub table: String,
    /// Where it is, from the root of [`Store::object_store`].
    pub path: Path,
    /// The same, relative to the store.
    pub relative: String,
    /// Its size.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// SHA-256 of its bytes.
    pub(crate) sha256: String,
}

/// A file that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamagedFile {
    /// Where it is, relative to the store.
    pub path: String,
    /// What is wrong with it.
    pub why: String,
}

impl Store {
    /// Lists what counts now. An empty store has no partitions; a place that is no store is an error.
    pub async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        self.snapshot_of(None).await
    }

    /// The same, of some tenants only: nothing else is listed, so that rights to those suffice.
    pub async fn snapshot_of(&self, tenants: Option<&[String]>) -> Result<Snapshot, StoreError> {
        let tenants = match tenants {
            Some(tenants) => tenants.to_vec(),
            None => self.tenants().await?,
        };
        let mut logs: BTreeMap<Place, DayLog> = BTreeMap::new();
        for tenant in &tenants {
            self.list_log(tenant, &mut logs).await?;
        }
        let partition = |(place, log): (Place, DayLog)| {
            let Place { tenant, day } = place;
            Arc::new(Partition { tenant, day, store: self.clone(), log, files: OnceCell::new() })
        };
        Ok(Snapshot { partitions: Arc::new(logs.into_iter().map(partition).collect()) })
    }

    /// The tenants that there are. A place without any, and without the mark of a store, is none.
    pub async fn tenants(&self) -> Result<Vec<String>, StoreError> {
        let listed = self.object_store().list_with_delimiter(Some(self.root())).await;
        let listed = listed.map_err(|error| StoreError::access("list", self.url(), &error))?;
        let names = listed.common_prefixes.iter().filter_map(Path::filename);
        let tenants: Vec<String> =
            names.filter_map(|name| name.strip_prefix("tenant=")).map(str::to_owned).collect();
        if tenants.is_empty() && !listed.objects.iter().any(|object| object.location.filename() == Some(MARK))
        {
            return Err(StoreError::Absent { url: self.url().to_owned() });
        }
        Ok(tenants)
    }

    /// One day of a tenant; `None` where it has no log.
    pub(crate) async fn partition(&self, place: &Place) -> Result<Option<Partition>, StoreError> {
        let folder = place.log(self.root());
        let mut listing = self.object_store().list(Some(&folder));
        let mut log: Option<DayLog> = None;
        while let Some(object) = listing.next().await {
            let object = object.map_err(|error| StoreError::access("list", &folder, &error))?;
            if let Some((_, entry)) = parse_log(&place.tenant, &object.location) {
                log.get_or_insert_default().add(entry);
            }
        }
        let Place { tenant, day } = place.clone();
        Ok(log.map(|log| Partition { tenant, day, store: self.clone(), log, files: OnceCell::new() }))
    }

    async fn list_log(&self, tenant: &str, logs: &mut BTreeMap<Place, DayLog>) -> Result<(), StoreError> {
        let folder = log_folder(self.root(), tenant);
        let mut listing = self.object_store().list(Some(&folder));
        while let Some(object) = listing.next().await {
            let object = object.map_err(|error| StoreError::access("list", &folder, &error))?;
            let Some((place, entry)) = parse_log(tenant, &object.location) else { continue };
            logs.entry(place).or_default().add(entry);
        }
        Ok(())
    }
}

impl Snapshot {
    /// In the order of tenants, then of days.
    #[must_use]
    pub fn partitions(&self) -> &[Arc<Partition>] {
        &self.partitions
    }

    /// The files of some partitions, several days at a time.
    pub async fn files_of<'p>(
        &self,
        partitions: impl Iterator<Item = &'p Arc<Partition>>,
    ) -> Result<Vec<(Arc<Partition>, Arc<PartitionFiles>)>, StoreError> {
        let ask = |partition: &Arc<Partition>| {
            let partition = Arc::clone(partition);
            async move {
                let files = partition.files().await?;
                Ok((partition, files))
            }
        };
        let asked: Vec<_> = partitions.map(ask).collect();
        futures_util::stream::iter(asked).buffered(READS).try_collect().await
    }
}

impl DayLog {
    fn add(&mut self, entry: LogEntry) {
        match entry {
            LogEntry::Run(id) => drop(self.runs.insert(id)),
            LogEntry::State(number) => drop(self.states.insert(number)),
        }
    }
}

impl Partition {
    /// The files that count on this day. Manifests are read the first time, and kept.
    pub(crate) async fn files(&self) -> Result<Arc<PartitionFiles>, StoreError> {
        self.files.get_or_try_init(|| self.read()).await.cloned()
    }

    pub(crate) fn place(&self) -> Place {
        Place { tenant: self.tenant.clone(), day: self.day.clone() }
    }

    pub(crate) fn log(&self) -> &DayLog {
        &self.log
    }

    async fn read(&self) -> Result<Arc<PartitionFiles>, StoreError> {
        let state = self.state(&self.place()).await?;
        let read = self.fresh(state.as_ref()).await.into_iter().map(|(_, manifest)| manifest);
        Ok(Arc::new(self.counted(state, read.collect::<Result<_, _>>()?)))
    }

    /// What counts as far as manifests can be read, and those that cannot. Where that is the latest state of the day,
    /// nothing is known of its files.
    pub(crate) async fn readable(&self) -> Result<(PartitionFiles, Vec<DamagedFile>), StoreError> {
        let place = self.place();
        let mut damaged = Vec::new();
        let mut is_damaged = |entry: LogEntry, error: StoreError| match error {
            StoreError::Manifest { why, .. } | StoreError::Access { why, .. } => {
                let path = place.log_entry(&Path::default(), &entry).to_string();
                damaged.push(DamagedFile { path, why });
                Ok(())
            }
            other => Err(other),
        };
        let state = match self.state(&place).await {
            Ok(state) => state,
            Err(error) => {
                let last = self.log.states.last().copied().unwrap_or_default();
                is_damaged(LogEntry::State(last), error)?;
                return Ok((self.counted(None, Vec::new()), damaged));
            }
        };
        let mut fresh = Vec::new();
        for (run, read) in self.fresh(state.as_ref()).await {
            match read {
                Ok(manifest) => fresh.push(manifest),
                Err(error) => is_damaged(LogEntry::Run(run), error)?,
            }
        }
        Ok((self.counted(state, fresh), damaged))
    }

    /// The manifests of the runs that a state does not stand for.
    async fn fresh(
        &self,
        state: Option<&(u64, Arc<StateManifest>)>,
    ) -> Vec<(String, Result<RunManifest, StoreError>)> {
        let place = self.place();
        let is_covered = |run: &&String| state.is_some_and(|(_, state)| state.covers(run));
        let read = |run: &String| {
            let path = place.log_entry(self.store.root(), &LogEntry::Run(run.clone()));
            let (store, run) = (self.store.clone(), run.clone());
            let tenant = &self.tenant;
            async move {
                let manifest = store.manifest::<RunManifest>(tenant, &path).await;
                (run, manifest)
            }
        };
        let asked: Vec<_> = self.log.runs.iter().filter(|run| !is_covered(run)).map(read).collect();
        futures_util::stream::iter(asked).buffered(READS).collect().await
    }

    /// What a state and the runs after it come to.
    fn counted(&self, state: Option<(u64, Arc<StateManifest>)>, fresh: Vec<RunManifest>) -> PartitionFiles {
        let mut runs: Vec<RunEntry> =
            state.iter().flat_map(|(_, state)| state.runs.iter().cloned()).collect();
        runs.extend(fresh.iter().map(|manifest| manifest.run.clone()));
        let of_state = state.iter().flat_map(|(_, state)| &state.files);
        let entries = of_state.chain(fresh.iter().flat_map(|manifest| &manifest.files));
        let mut files: Vec<StoreFile> = entries.map(|entry| self.store.file(entry)).collect();
        files.sort_by(|a, b| (&a.table, &a.relative).cmp(&(&b.table, &b.relative)));
        PartitionFiles { files, runs, state, fresh }
    }

    async fn state(&self, place: &Place) -> Result<Option<(u64, Arc<StateManifest>)>, StoreError> {
        let Some(&number) = self.log.states.last() else { return Ok(None) };
        let path = place.log_entry(self.store.root(), &LogEntry::State(number));
        let state: StateManifest = self.store.manifest(&self.tenant, &path).await?;
        Ok(Some((number, Arc::new(state))))
    }

    /// The content of a run, where it counts or is about to. One that was removed cannot come back: those who removed
    /// it may have had to. Of all manifests at most two are read.
    pub(crate) async fn content_of(&self, run: &str) -> Result<Option<String>, StoreError> {
        let place = self.place();
        if let Some((_, state)) = self.state(&place).await? {
            if state.removed.iter().any(|id| id == run) {
                return Err(StoreError::Removed { run: run.to_owned() });
            }
            if let Some(entry) = state.runs.iter().find(|entry| entry.run_id == run) {
                return Ok(Some(entry.content.clone()));
            }
        }
        if !self.log.runs.contains(run) {
            return Ok(None);
        }
        let path = place.log_entry(self.store.root(), &LogEntry::Run(run.to_owned()));
        let manifest: RunManifest = self.store.manifest(&self.tenant, &path).await?;
        Ok(Some(manifest.run.content))
    }
}

impl Store {
    fn file(&self, entry: &FileEntry) -> StoreFile {
        StoreFile {
            table: entry.table.clone(),
            path: self.place(&entry.path),
            relative: entry.path.clone(),
            bytes: entry.bytes,
            rows: entry.rows,
            sha256: entry.sha256.clone(),
        }
    }

    /// Reads a manifest of a tenant. It may come from anybody who can write there, so it may name files of that tenant
    /// and no others.
    pub(crate) async fn manifest<T: Manifest>(&self, tenant: &str, path: &Path) -> Result<T, StoreError> {
        let relative = path.prefix_match(self.root()).map(|parts| Path::from_iter(parts).to_string());
        let relative = relative.unwrap_or_else(|| path.to_string());
        let damaged = |why: String| StoreError::Manifest { path: relative.clone(), why };
        let bytes = self.read(path).await?;
        let manifest: T = opened(&bytes).map_err(damaged)?;
        if manifest.format() > FORMAT {
            let why = format!("it is of version {}, and this Rooflens knows {FORMAT}", manifest.format());
            return Err(damaged(why));
        }
        match manifest.files().iter().find(|file| !is_of(tenant, &file.path)) {
            Some(file) => Err(damaged(format!("it names a file that is not the tenant's: {}", file.path))),
            None => Ok(manifest),
        }
    }
}

/// What all manifests have.
pub trait Manifest: serde::de::DeserializeOwned {
    fn format(&self) -> u32;
    fn files(&self) -> &[FileEntry];
}

impl Manifest for RunManifest {
    fn format(&self) -> u32 {
        self.rooflens_store
    }
    fn files(&self) -> &[FileEntry] {
        &self.files
    }
}

impl Manifest for StateManifest {
    fn format(&self) -> u32 {
        self.rooflens_store
    }
    fn files(&self) -> &[FileEntry] {
        &self.files
    }
}

fn is_of(tenant: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next().and_then(|part| part.strip_prefix("tenant=")) == Some(tenant)
        && parts.all(|part| !matches!(part, "" | "." | ".."))
}
