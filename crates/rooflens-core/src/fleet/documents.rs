//! What is said about a store, for programs.

use rooflens_store::{AddedRun, ChangedDay, DamagedFile, StoredRun, Vacuumed, VerifiedStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::document::SchemaTag;
use crate::run_index::IndexedRun;

/// Runs that were added to a store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreAddedDocument {
    /// `rooflens.store-added`.
    pub(crate) schema: SchemaTag,
    /// The store.
    pub store: String,
    /// Whether there was no store before.
    #[serde(default)]
    pub is_new: bool,
    /// The runs.
    pub runs: Vec<AddedRun>,
    /// Those that could not be added.
    pub failed: Vec<FailedRun>,
}

/// A run that could not be added to a store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FailedRun {
    /// As it was given.
    pub run: String,
    /// Why.
    pub why: String,
    /// What helps, where that is known.
    #[serde(default)]
    pub hint: Option<String>,
}

impl StoreAddedDocument {
    pub(super) fn new(store: &str, is_new: bool, runs: Vec<AddedRun>, failed: Vec<FailedRun>) -> Self {
        let schema = SchemaTag::new("store-added");
        StoreAddedDocument { schema, store: store.to_owned(), is_new, runs, failed }
    }
}

impl From<StoredRun> for IndexedRun {
    fn from(run: StoredRun) -> Self {
        let label = run.entry.row.get("label").and_then(Json::as_str).filter(|label| !label.is_empty());
        IndexedRun {
            run_id: Some(run.entry.run_id),
            folder: None,
            sweep: None,
            tenant: Some(run.tenant),
            day: Some(run.day),
            added_unix_ns: Some(run.entry.added_unix_ns),
            tags: label.map(str::to_owned).into_iter().collect(),
            problem: None,
            row: run.entry.row,
        }
    }
}

/// The runs of a store, or of a folder of run directories.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreRunsDocument {
    /// `rooflens.store-runs`.
    pub(crate) schema: SchemaTag,
    /// The store, or the folder.
    pub store: String,
    /// Whether it is a folder of run directories, not a store.
    #[serde(default)]
    pub is_folder: bool,
    /// Characters of an id that tell the runs of the store apart.
    #[serde(default)]
    pub id_characters: usize,
    /// The runs, newest first unless another order was asked for.
    pub runs: Vec<IndexedRun>,
}

impl StoreRunsDocument {
    pub(super) fn new(store: &str, id_characters: usize, runs: Vec<IndexedRun>) -> Self {
        let schema = SchemaTag::new("store-runs");
        StoreRunsDocument { schema, store: store.to_owned(), is_folder: false, id_characters, runs }
    }

    /// Those of a folder.
    pub fn of_folder(folder: &str, id_characters: usize, runs: Vec<IndexedRun>) -> Self {
        StoreRunsDocument { is_folder: true, ..Self::new(folder, id_characters, runs) }
    }
}

/// Whether the files of a store are as they were written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreVerifiedDocument {
    /// `rooflens.store-verified`.
    pub(crate) schema: SchemaTag,
    /// The store.
    pub(crate) store: String,
    /// Runs that count.
    pub runs: usize,
    /// Files that count.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
    /// Files that are damaged or missing.
    pub damaged: Vec<DamagedFile>,
}

impl StoreVerifiedDocument {
    pub(super) fn new(store: &str, found: VerifiedStore) -> Self {
        let VerifiedStore { runs, files, bytes, damaged } = found;
        let schema = SchemaTag::new("store-verified");
        StoreVerifiedDocument { schema, store: store.to_owned(), runs, files, bytes, damaged }
    }
}

/// Runs that were removed from a store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreRemovedDocument {
    /// `rooflens.store-removed`.
    pub(crate) schema: SchemaTag,
    /// The store.
    pub(crate) store: String,
    /// Their ids.
    pub removed: Vec<String>,
}

impl StoreRemovedDocument {
    pub(super) fn new(store: &str, runs: &[StoredRun]) -> Self {
        let removed = runs.iter().map(|run| run.entry.run_id.clone()).collect();
        StoreRemovedDocument { schema: SchemaTag::new("store-removed"), store: store.to_owned(), removed }
    }
}

/// Days of a store that are kept in other files now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreChangedDocument {
    /// `rooflens.store-changed`.
    pub(crate) schema: SchemaTag,
    /// The store.
    pub(crate) store: String,
    /// The days.
    pub days: Vec<ChangedDay>,
}

impl StoreChangedDocument {
    pub(super) fn new(store: &str, days: Vec<ChangedDay>) -> Self {
        StoreChangedDocument { schema: SchemaTag::new("store-changed"), store: store.to_owned(), days }
    }
}

/// What was deleted from a store because it no longer counted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreVacuumedDocument {
    /// `rooflens.store-vacuumed`.
    pub(crate) schema: SchemaTag,
    /// The store.
    pub(crate) store: String,
    /// Files.
    pub files: usize,
    /// Their size.
    pub bytes: u64,
}

impl StoreVacuumedDocument {
    pub(super) fn new(store: &str, vacuumed: Vacuumed) -> Self {
        let Vacuumed { files, bytes } = vacuumed;
        StoreVacuumedDocument {
            schema: SchemaTag::new("store-vacuumed"),
            store: store.to_owned(),
            files,
            bytes,
        }
    }
}
