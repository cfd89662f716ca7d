//! Adding a run: its files first, then the manifest that makes it count.

use std::collections::BTreeMap;

use arrow_array::RecordBatch;
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{KernelDim, Runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::files::WrittenFile;
use crate::hours::KernelHours;
use crate::layout::{DEFAULT_TENANT, FORMAT, LogEntry, Place, StoreArea, day_of, hex};
use crate::location::{Created, Store};
use crate::manifest::{RunEntry, RunManifest, sealed};
use crate::merge::{write_as_it_is, write_sorted};
use crate::rollup::{Columns, DeviceRollup, KernelRollup, PhaseRollup};
use crate::run_row;
use crate::source::{PhaseWords, each_chunk};
use crate::tables::{table, tables};

/// How a run is added.
#[derive(Debug, Clone)]
pub struct AddOptions {
    /// Whose run it is.
    pub tenant: String,
    /// The day that a run is filed under that does not say when it began.
    pub day: Option<String>,
    /// Columns of `runs` that the run itself does not tell; see [`crate::SETTABLE`].
    pub set: BTreeMap<String, String>,
    /// Further metrics for `run_metrics`.
    pub metrics: BTreeMap<String, f64>,
    /// The time, since 1970.
    pub now_unix_ns: i64,
}

impl Default for AddOptions {
    fn default() -> Self {
        AddOptions {
            tenant: DEFAULT_TENANT.to_owned(),
            day: None,
            set: BTreeMap::new(),
            metrics: BTreeMap::new(),
            now_unix_ns: 0,
        }
    }
}

/// A run that was added to a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddedRun {
    /// Its id.
    pub run_id: String,
    /// Whose run.
    pub tenant: String,
    /// The day that it is filed under.
    pub day: String,
    /// Whether it was there before: then nothing was written.
    pub was_there: bool,
    /// Whether nothing tells when it began.
    pub is_undated: bool,
    /// Its files.
    pub(crate) files: usize,
    /// Their size.
    pub(crate) bytes: u64,
    /// Rows of the table `kernels`.
    pub(crate) kernels: u64,
}

struct EncodedRun {
    place: Place,
    entry: RunEntry,
    is_dated: bool,
    files: Vec<WrittenFile>,
}

impl Store {
    /// Adds a run. It is visible whole once this returns, and not at all before. A run that is there already, with the
    /// same rows, is left as it is.
    pub async fn add(&self, run: &RunDir, options: &AddOptions) -> Result<AddedRun, StoreError> {
        let encoded = encode(run, options)?;
        let run_id = encoded.entry.run_id.clone();
        let place = encoded.place;
        let files: Vec<_> = encoded
            .files
            .iter()
            .zip(0..)
            .map(|(file, part)| file.entry(&place, &stem(&run_id, part)))
            .collect();
        let mut added = AddedRun {
            run_id: run_id.clone(),
            tenant: place.tenant.clone(),
            day: place.day.clone(),
            was_there: true,
            is_undated: !encoded.is_dated && options.day.is_none(),
            files: files.len(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            kernels: files.iter().filter(|file| file.table == "kernels").map(|file| file.rows).sum(),
        };
        let mut known = match self.partition(&place).await? {
            Some(partition) => partition.content_of(&run_id).await?,
            None => None,
        };
        if known.is_none() && !encoded.is_dated {
            // Under another day it would be there twice.
            if let Some((day, content)) = self.filed_elsewhere(&place, &run_id).await? {
                if options.day.is_some() {
                    return Err(StoreError::Elsewhere { run: run_id, day });
                }
                (added.day, known) = (day, Some(content));
            }
        }
        if let Some(known) = known {
            return if known == encoded.entry.content {
                Ok(added)
            } else {
                Err(StoreError::Differs { run: run_id })
            };
        }
        self.mark().await?;
        for (file, entry) in encoded.files.into_iter().zip(&files) {
            file.upload(self, entry).await?;
        }
        let manifest = RunManifest {
            rooflens_store: FORMAT,
            rooflens_version: env!("CARGO_PKG_VERSION").to_owned(),
            run: encoded.entry,
            files,
        };
        let path = place.log_entry(self.root(), &LogEntry::Run(run_id.clone()));
        let created = self.create(&path, sealed(&manifest)).await;
        if let Ok(Created::Now) = created {
            added.was_there = false;
            return Ok(added);
        }
        // Somebody added it meanwhile; or it was us, and the answer was lost.
        match (self.manifest::<RunManifest>(&place.tenant, &path).await, created) {
            (Ok(known), _) if known.run.content == manifest.run.content => {}
            (Ok(_), _) => return Err(StoreError::Differs { run: run_id }),
            (Err(_), Err(error)) | (Err(error), Ok(_)) => return Err(error),
        }
        Ok(added)
    }
}

impl Store {
    /// The day that a run is filed under, where it is another one of the same tenant, and its content.
    async fn filed_elsewhere(
        &self,
        place: &Place,
        run: &str,
    ) -> Result<Option<(String, String)>, StoreError> {
        let snapshot = self.snapshot_of(Some(std::slice::from_ref(&place.tenant))).await?;
        for partition in snapshot.partitions().iter().filter(|partition| partition.day != place.day) {
            match partition.content_of(run).await {
                Ok(Some(content)) => return Ok(Some((partition.day.clone(), content))),
                // It may have been removed there to be filed here.
                Ok(None) | Err(StoreError::Removed { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

fn stem(run_id: &str, part: usize) -> String {
    format!("{run_id}-{part}")
}

/// Everything of a run that goes to a store, on this machine.
fn encode(run: &RunDir, options: &AddOptions) -> Result<EncodedRun, StoreError> {
    let not_addable = |why: &str| StoreError::NotAddable { path: run.root().to_owned(), why: why.to_owned() };
    let path = run.table("runs");
    if !path.is_file() {
        let is_there = run.root().exists();
        let why = "it is not a run directory (it has no tables/runs.parquet)";
        return Err(not_addable(if is_there { why } else { "it does not exist" }));
    }
    let known = read_table::<Runs>(&path)?.row(0).ok_or_else(|| not_addable("its table runs is empty"))?;
    let run_id = known.run_id.as_str().to_owned();
    if run_id.is_empty() {
        return Err(not_addable("it has no id; analyze it again"));
    }
    let start = known.start_unix_ns.get();
    let day =
        start.map(day_of).or_else(|| options.day.clone()).unwrap_or_else(|| day_of(options.now_unix_ns));
    let place = Place::new(&options.tenant, &day)?;
    let mut files = Vec::new();
    let (mut kernels, mut phases, mut devices) =
        (KernelRollup::default(), PhaseRollup::default(), DeviceRollup::default());
    let words = PhaseWords::read(run)?;
    for table in tables().iter().filter(|table| table.area == StoreArea::Events) {
        each_chunk(run, &run_id, table, &words, |batch| {
            match table.name {
                "kernels" => kernels.add(&batch),
                "phases" => phases.add(&batch),
                "counters" => devices.add(&batch),
                _ => {}
            }
            // In time, neighbours are alike and small; the order of the table comes with compaction.
            files.push(write_as_it_is(table, &batch)?);
            Ok(())
        })?;
    }
    let mut row = run_row::row(&known, kernels.devices(), &options.set)?;
    row.insert("metrics".to_owned(), metrics(known.metrics.as_deref(), &options.metrics));
    let [rollup, histogram] = kernels.batches(&run_id)?;
    let mut hours = KernelHours::new([&row].into_iter());
    hours.add(&rollup);
    let rollups = [
        ("runs", run_row::batch([&row].into_iter())?),
        ("run_metrics", run_row::metrics_batch(&[&row])?),
        ("kernel_dim", kernel_dim(run)?),
        ("kernel_rollup", rollup),
        ("kernel_histogram", histogram),
        ("kernel_hours", hours.batch()?),
        ("phase_rollup", phases.batch(&run_id)?),
        ("device_rollup", devices.batch(&run_id)?),
    ];
    for (name, batch) in rollups {
        if let Some(table) = table(name).filter(|_| batch.num_rows() > 0) {
            files.push(write_sorted(table, 1, batch)?);
        }
    }
    let mut content = Sha256::new();
    for file in &files {
        content.update(file.table.name);
        content.update(&file.sha256);
    }
    let content = hex(&content.finalize());
    let entry = RunEntry { run_id, content, added_unix_ns: options.now_unix_ns, row };
    Ok(EncodedRun { place, entry, is_dated: start.is_some(), files })
}

/// The metrics that the run itself has, and those that were given.
fn metrics(of_run: Option<&str>, given: &BTreeMap<String, f64>) -> Json {
    let parsed: Json = of_run.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let known = parsed.as_object().into_iter().flatten();
    let mut all: BTreeMap<String, f64> =
        known.filter_map(|(key, value)| Some((key.clone(), value.as_f64()?))).collect();
    all.extend(given.iter().map(|(key, value)| (key.clone(), *value)));
    Json::Object(all.into_iter().map(|(key, value)| (key, Json::from(value))).collect::<Map<_, _>>())
}

fn kernel_dim(run: &RunDir) -> Result<RecordBatch, StoreError> {
    let path = run.table("kernel_dim");
    let dim = if path.is_file() { read_table::<KernelDim>(&path)? } else { KernelDim::default() };
    let mut order: Vec<usize> = (0..dim.len()).collect();
    order.sort_by_key(|&row| dim.kernel_id[row]);
    let mut columns = Columns::new("kernel_dim");
    columns.big(order.iter().map(|&row| Some(dim.kernel_id[row])));
    columns.text(order.iter().map(|&row| Some(dim.name[row].as_str())));
    columns.text(order.iter().map(|&row| Some(dim.short_name[row].as_str())));
    columns.text(order.iter().map(|&row| Some(dim.class[row].as_str())));
    columns.text(order.iter().map(|&row| dim.library[row].as_deref()));
    columns.text(order.iter().map(|&row| dim.dtype[row].as_deref()));
    columns.batch()
}
