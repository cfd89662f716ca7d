//! What `rooflens query` asks for.

use std::path::PathBuf;

use serde::Deserialize;

/// The request, as it comes on standard input. Fields for other engines are skipped.
#[derive(Debug, Deserialize)]
pub struct Request {
    /// One SELECT, or EXPLAIN of one.
    pub sql: String,
    /// Path or URL of the store.
    pub store: String,
    /// The tenants to read; all by default.
    #[serde(default)]
    pub tenants: Option<Vec<String>>,
    /// Memory limit; a share of the machine's memory by default.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Where to spill to; the folder for temporary files by default.
    #[serde(default)]
    pub spill_folder: Option<PathBuf>,
    /// Show the plan instead of running the query.
    #[serde(default)]
    pub explain: bool,
}
