//! What `rooflens query` asks for.

use std::path::PathBuf;

use serde::Deserialize;

/// The request, as it comes on standard input. Fields for other engines are skipped.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    pub(crate) sql: String,
    pub(crate) store: String,
    /// The tenants to read; all by default.
    #[serde(default)]
    pub(crate) tenants: Option<Vec<String>>,
    /// Memory limit; a share of the machine's memory by default.
    #[serde(default)]
    pub(crate) memory_bytes: Option<u64>,
    /// Where to spill to; the folder for temporary files by default.
    #[serde(default)]
    pub(crate) spill_folder: Option<PathBuf>,
    /// Show the plan instead of running the query.
    #[serde(default)]
    pub(crate) explain: bool,
}
