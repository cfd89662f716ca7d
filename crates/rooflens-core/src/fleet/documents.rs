//! What is said about a store and the queries to it, for programs.

use rooflens_queries::{NamedQuery, QueryColumn, QueryParameter};
use rooflens_store::{AddedRun, ChangedDay, DamagedFile, StoredRun};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::answer::AnswerColumn;
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

/// A query that has a name.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedQuery {
    /// Its name.
    pub(crate) name: String,
    /// What it answers, in a few words.
    pub(crate) title: String,
    /// The same, in sentences.
    pub(crate) about: String,
    /// Its parameters.
    pub(crate) parameters: Vec<ListedParameter>,
    /// Columns of the answer.
    pub(crate) columns: Vec<AnswerColumn>,
    /// Tables that it reads.
    pub(crate) tables: Vec<String>,
}

/// A parameter of a query.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ListedParameter {
    /// Its name.
    pub(crate) name: String,
    /// Type of its values: day, integer, number, text or duration.
    pub(crate) kind: String,
    /// Value where none is given; null where one must be.
    pub(crate) default: Option<String>,
    /// What it means.
    pub(crate) meaning: String,
}

/// The queries that have names.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct QueriesDocument {
    /// `rooflens.queries`.
    pub(crate) schema: SchemaTag,
    /// The queries.
    pub(crate) queries: Vec<ListedQuery>,
}

impl QueriesDocument {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        let parameter = |parameter: &QueryParameter| ListedParameter {
            name: parameter.name.clone(),
            kind: parameter.kind.name().to_owned(),
            default: parameter.default.clone(),
            meaning: parameter.meaning.clone(),
        };
        let column = |column: &QueryColumn| AnswerColumn {
            name: column.name.clone(),
            unit: Some(column.unit.clone()),
            meaning: Some(column.meaning.clone()),
        };
        let query = |query: &NamedQuery| ListedQuery {
            name: query.name().to_owned(),
            title: query.title().to_owned(),
            about: query.doc().to_owned(),
            parameters: query.parameters().iter().map(parameter).collect(),
            columns: query.columns().iter().map(column).collect(),
            tables: query.tables().to_vec(),
        };
        let queries = rooflens_queries::all().iter().map(query).collect();
        QueriesDocument { schema: SchemaTag::new("queries"), queries }
    }
}
