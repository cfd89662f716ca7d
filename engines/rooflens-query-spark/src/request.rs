//! What the caller asks: one JSON object on standard input.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A query with the files of every table it may use. Keys that only other engines need are ignored.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// One SELECT, WITH … SELECT or EXPLAIN, in Spark's dialect.
    pub sql: String,
    /// Address of the Spark Connect server: see [`crate::address`].
    pub engine: Option<String>,
    /// Tables by name. Files that are not listed do not count, even where they lie beside those that do.
    pub tables: Option<BTreeMap<String, Table>>,
    /// Views over the tables, each with its SELECT.
    #[serde(default)]
    pub views: BTreeMap<String, String>,
    /// Answer with the query plan instead of running the query.
    #[serde(default)]
    pub explain: bool,
}

/// One table: its Parquet files and the columns they have.
#[derive(Debug, Deserialize)]
pub struct Table {
    /// The files that count.
    pub files: Vec<TableFile>,
    /// Name, type and nullability of each column, without `day` and `tenant`.
    pub columns: Vec<(String, String, bool)>,
}

/// One Parquet file, and the two columns that its path holds.
#[derive(Debug, Deserialize)]
pub struct TableFile {
    /// URL of the file as the cluster sees it.
    pub path: String,
    /// Value of the column `day`.
    pub day: String,
    /// Value of the column `tenant`.
    pub tenant: String,
}
