//! A later state of a day: compacted, without a run, with another label of one, or without events whose time is over.
//!
//! Whoever makes one reads the state that counts, writes files, and publishes them under the next number. Of two who
//! try at once one succeeds, and the other begins anew from what it finds then: a run that was removed while its day was
//! being compacted stays removed, and nobody has to wait for anybody.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;

use futures_util::StreamExt;
use object_store::ObjectStoreExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::files::{WrittenFile, scratch};
use crate::hours::KernelHours;
use crate::layout::{FORMAT, LogEntry, Place, StoreArea, hex};
use crate::location::{Created, Store};
use crate::manifest::{FileEntry, RunEntry, StateManifest, sealed};
use crate::merge::{Merge, distinct_kernels, read_all, write_sorted};
use crate::run_row;
use crate::snapshot::{Partition, PartitionFiles, StoreFile};
use crate::tables::{StoreTable, table, tables};

/// How often to begin anew when somebody else was faster.
const TRIES: usize = 8;

/// What became of a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedDay {
    /// Whose day.
    pub tenant: String,
    /// Which day.
    pub day: String,
    /// Runs that it held before.
    pub runs_before: usize,
    /// Runs that it holds now.
    pub runs: usize,
    /// Files before.
    pub files_before: usize,
    /// Their size.
    pub bytes_before: u64,
    /// Files now.
    pub files_after: usize,
    /// Their size.
    pub bytes_after: u64,
}

impl ChangedDay {
    pub(crate) fn new(partition: &Partition, files: &PartitionFiles, state: &StateManifest) -> Self {
        ChangedDay {
            tenant: partition.tenant.clone(),
            day: partition.day.clone(),
            runs_before: files.runs.len(),
            runs: state.runs.len(),
            files_before: files.files.len(),
            bytes_before: files.files.iter().map(|file| file.bytes).sum(),
            files_after: state.files.len(),
            bytes_after: state.files.iter().map(|file| file.bytes).sum(),
        }
    }
}

pub(crate) struct Change<'a> {
    pub(crate) reason: &'static str,
    pub(crate) without: &'a BTreeSet<String>,
    pub(crate) set: Option<(&'a str, &'a BTreeMap<String, String>)>,
    pub(crate) now_unix_ns: i64,
}

impl Store {
    /// Joins the small files of each day into files sorted by kernel. Readers see every run exactly once at any moment.
    pub async fn compact(
        &self,
        now_unix_ns: i64,
        mut wanted: impl FnMut(&Partition) -> bool,
    ) -> Result<Vec<ChangedDay>, StoreError> {
        let mut changed = Vec::new();
        for partition in self.snapshot().await?.partitions() {
            if wanted(partition) {
                let change = Change { reason: "compact", without: &BTreeSet::new(), set: None, now_unix_ns };
                let is_compacted = |files: &PartitionFiles| {
                    files.fresh.is_empty()
                        && files.state.as_ref().is_some_and(|(_, state)| state.is_compacted)
                };
                let is_needed = |files: &PartitionFiles| files.runs.len() > 1 && !is_compacted(files);
                changed.extend(self.rewrite(&partition.place(), &change, is_needed).await?);
            }
        }
        Ok(changed)
    }

    /// Writes the files of a day anew and publishes them, where that is needed.
    pub(crate) async fn rewrite(
        &self,
        place: &Place,
        change: &Change<'_>,
        is_needed: impl Fn(&PartitionFiles) -> bool,
    ) -> Result<Option<ChangedDay>, StoreError> {
        for _ in 0..TRIES {
            let Some(partition) = self.partition(place).await? else { return Ok(None) };
            let files = partition.files().await?;
            if !is_needed(&files) {
                return Ok(None);
            }
            let (mut runs, removed) = runs_after(&files, change.without);
            if let Some((id, values)) = change.set {
                let mut meant = runs.iter_mut().filter(|run| run.run_id == id);
                meant.try_for_each(|run| run_row::change(&mut run.row, values))?;
            }
            let is_merged = change.reason == "compact"
                || change.set.is_some()
                || files
                    .state
                    .as_ref()
                    .is_some_and(|(_, state)| change.without.iter().any(|run| state.holds(run)));
            let made = match is_merged {
                true => self.merged(place, &files, &runs, change.without, next_number(&partition)).await?,
                // A run in files of its own: the others stay as they are.
                false => kept_files(&files, change.without),
            };
            let state = StateManifest {
                rooflens_store: FORMAT,
                rooflens_version: env!("CARGO_PKG_VERSION").to_owned(),
                reason: change.reason.to_owned(),
                made_unix_ns: change.now_unix_ns,
                runs,
                removed,
                files: made,
                is_compacted: is_merged,
                events_dropped: files.state.as_ref().is_some_and(|(_, state)| state.events_dropped),
            };
            if let Some(changed) = self.publish(&partition, &files, state).await? {
                return Ok(Some(changed));
            }
        }
        Err(StoreError::Raced { tenant: place.tenant.clone(), day: place.day.clone() })
    }

    /// Publishes a state; `None` where somebody else was first.
    pub(crate) async fn publish(
        &self,
        partition: &Partition,
        files: &PartitionFiles,
        state: StateManifest,
    ) -> Result<Option<ChangedDay>, StoreError> {
        let path = partition.place().log_entry(self.root(), &LogEntry::State(next_number(partition)));
        let created = self.create(&path, sealed(&state)).await?;
        Ok((created == Created::Now).then(|| ChangedDay::new(partition, files, &state)))
    }

    /// The files of a day as they shall be, already in the store.
    async fn merged(
        &self,
        place: &Place,
        files: &PartitionFiles,
        runs: &[RunEntry],
        without: &BTreeSet<String>,
        number: u64,
    ) -> Result<Vec<FileEntry>, StoreError> {
        let rows: Vec<&Map<String, Json>> = runs.iter().map(|run| &run.row).collect();
        let mut hours = KernelHours::new(rows.iter().copied());
        let mut entries = Vec::new();
        for table in tables() {
            let written = match table.name {
                "runs" => small(table, runs.len(), run_row::batch(rows.iter().copied())?)?,
                "run_metrics" => small(table, runs.len(), run_row::metrics_batch(&rows)?)?,
                // Made of `kernel_rollup`, which is merged below.
                "kernel_hours" => Vec::new(),
                "kernel_dim" => match distinct_kernels(&read_all(table, self.fetched(files, table).await?)?)?
                {
                    Some(batch) => small(table, runs.len(), batch)?,
                    None => Vec::new(),
                },
                _ => {
                    let inputs = self.fetched(files, table).await?;
                    let merge = Merge { table, runs: runs.len(), without };
                    let is_rollup = table.name == "kernel_rollup";
                    merge.run(inputs, |batch| {
                        if is_rollup {
                            hours.add(batch)
                        }
                    })?
                }
            };
            self.send(place, number, written, &mut entries).await?;
        }
        if let Some(table) = table("kernel_hours") {
            self.send(place, number, small(table, runs.len(), hours.batch()?)?, &mut entries).await?;
        }
        Ok(entries)
    }

    async fn send(
        &self,
        place: &Place,
        number: u64,
        written: Vec<WrittenFile>,
        entries: &mut Vec<FileEntry>,
    ) -> Result<(), StoreError> {
        for file in written {
            let entry = file.entry(place, &format!("state-{number:06}-{}", entries.len()));
            file.upload(self, &entry).await?;
            entries.push(entry);
        }
        Ok(())
    }

    /// The files of a table on this machine, each held to its checksum: what is damaged is not passed on.
    pub(crate) async fn fetched(
        &self,
        files: &PartitionFiles,
        table: &StoreTable,
    ) -> Result<Vec<File>, StoreError> {
        let mut fetched = Vec::new();
        for file in files.files.iter().filter(|file| file.table == table.name) {
            let mut local = tempfile::tempfile().map_err(scratch)?;
            let found = self.digest(file, |bytes| local.write_all(bytes).map_err(scratch)).await?;
            if found != file.sha256 {
                let why = "its checksum does not match (rooflens store verify)";
                return Err(StoreError::table("read", &file.relative, why));
            }
            fetched.push(local);
        }
        Ok(fetched)
    }

    /// Reads a file from beginning to end, and answers its SHA-256.
    pub async fn digest(
        &self,
        file: &StoreFile,
        mut take: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<String, StoreError> {
        let failed = |error| StoreError::access("read", &file.relative, &error);
        let mut stream = self.object_store().get(&file.path).await.map_err(failed)?.into_stream();
        let mut digest = Sha256::new();
        while let Some(bytes) = stream.next().await {
            let bytes = bytes.map_err(failed)?;
            digest.update(&bytes);
            take(&bytes)?;
        }
        Ok(hex(&digest.finalize()))
    }
}

/// The runs that stay, and those that a state no longer holds.
pub(crate) fn runs_after(files: &PartitionFiles, without: &BTreeSet<String>) -> (Vec<RunEntry>, Vec<String>) {
    let (mut gone, mut runs): (Vec<RunEntry>, Vec<RunEntry>) =
        files.runs.iter().cloned().partition(|run| without.contains(&run.run_id));
    runs.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    let earlier = files.state.iter().flat_map(|(_, state)| state.removed.iter().cloned());
    let removed: BTreeSet<String> = earlier.chain(gone.drain(..).map(|run| run.run_id)).collect();
    (runs, removed.into_iter().collect())
}

/// The files of a state, and of the runs that are in none yet, but for some runs.
fn kept_files(files: &PartitionFiles, without: &BTreeSet<String>) -> Vec<FileEntry> {
    let of_state = files.state.iter().flat_map(|(_, state)| &state.files);
    let fresh = files.fresh.iter().filter(|manifest| !without.contains(&manifest.run.run_id));
    of_state.chain(fresh.flat_map(|manifest| &manifest.files)).cloned().collect()
}

fn next_number(partition: &Partition) -> u64 {
    partition.log().states.last().map_or(1, |last| last + 1)
}

fn small(
    table: &'static StoreTable,
    runs: usize,
    batch: arrow_array::RecordBatch,
) -> Result<Vec<WrittenFile>, StoreError> {
    Ok(if batch.num_rows() == 0 { Vec::new() } else { vec![write_sorted(table, runs, batch)?] })
}

pub(crate) fn is_event(file: &FileEntry) -> bool {
    table(&file.table).is_none_or(|table| table.area == StoreArea::Events)
}
