//! What the caller asks: one JSON object on standard input.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A query with the files of every table it may use. Keys that only other engines need are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) sql: String,
    pub(crate) engine: Option<String>,
    /// Tables by name. Files that are not listed do not count, even where they lie beside those that do.
    pub(crate) tables: Option<BTreeMap<String, Table>>,
    #[serde(default)]
    pub(crate) views: BTreeMap<String, String>,
    /// Answer with the query plan instead of running the query.
    #[serde(default)]
    pub(crate) explain: bool,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Table {
    pub(crate) files: Vec<TableFile>,
    /// Name, type and nullability of each column, without `day` and `tenant`.
    pub(crate) columns: Vec<(String, String, bool)>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct TableFile {
    pub(crate) path: String,
    pub(crate) day: String,
    pub(crate) tenant: String,
}
