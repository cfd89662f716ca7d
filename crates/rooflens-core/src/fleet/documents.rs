//! What is said about a store, for programs.

use rooflens_store::{AddedRun, ChangedDay, DamagedFile, StoredRun, Vacuumed, VerifiedStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::document::SchemaTag;

/// Runs that were added to a store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreAddedDocument {
    /// `rooflens.store-added`.
    pub schema: SchemaTag,
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

/// A run of a store.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoredRunDocument {
    /// Its id.
    pub run_id: String,
    /// Whose run.
    pub tenant: String,
    /// The day that it is filed under.
    pub day: String,
    /// When it was added, since 1970.
    pub added_unix_ns: i64,
    /// Its row of the table `runs`, and its metrics under `metrics`.
    pub row: Map<String, Json>,
}

/// The runs of a store, newest first.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreRunsDocument {
    /// `rooflens.store-runs`.
    pub schema: SchemaTag,
    /// The store.
    pub store: String,
    /// Characters of an id that tell the runs of the store apart.
    #[serde(default)]
    pub id_characters: usize,
    /// The runs.
    pub runs: Vec<StoredRunDocument>,
}

impl StoreRunsDocument {
    pub(super) fn new(store: &str, id_characters: usize, runs: Vec<StoredRun>) -> Self {
        let run = |run: StoredRun| StoredRunDocument {
            run_id: run.entry.run_id,
            tenant: run.tenant,
            day: run.day,
            added_unix_ns: run.entry.added_unix_ns,
            row: run.entry.row,
        };
        let schema = SchemaTag::new("store-runs");
        let runs = runs.into_iter().map(run).collect();
        StoreRunsDocument { schema, store: store.to_owned(), id_characters, runs }
    }
}

/// Whether the files of a store are as they were written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StoreVerifiedDocument {
    /// `rooflens.store-verified`.
    pub schema: SchemaTag,
    /// The store.
    pub store: String,
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
    pub schema: SchemaTag,
    /// The store.
    pub store: String,
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
    pub schema: SchemaTag,
    /// The store.
    pub store: String,
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
    pub schema: SchemaTag,
    /// The store.
    pub store: String,
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
