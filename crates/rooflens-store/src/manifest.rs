//! What the log of a store says.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Version of the layout.
pub(crate) const FORMAT: u32 = 1;

/// A file of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Which table.
    pub table: String,
    /// Where, relative to the store.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its rows.
    pub rows: u64,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// What is known of a run without opening its files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEntry {
    /// Its id.
    pub run_id: String,
    /// SHA-256 over its rows: the same run has the same, whoever adds it.
    pub content: String,
    /// When it was added, since 1970.
    pub added_unix_ns: i64,
    /// Its row of the table `runs`, and its metrics under `metrics`.
    pub row: Map<String, Json>,
}

/// A run, as it was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunManifest {
    /// Version of the layout.
    pub rooflens_store: u32,
    /// Version of Rooflens that added it.
    pub rooflens_version: String,
    /// The run.
    pub run: RunEntry,
    /// Its files.
    pub files: Vec<FileEntry>,
}

/// A later state of a day of a tenant: it stands for every run that it covers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateManifest {
    /// Version of the layout.
    pub rooflens_store: u32,
    /// Version of Rooflens that made it.
    pub rooflens_version: String,
    /// Why there is one: `compact`, `remove` or `retain`.
    pub reason: String,
    /// When it was made, since 1970.
    pub made_unix_ns: i64,
    /// The runs that its files hold.
    pub runs: Vec<RunEntry>,
    /// Runs that its files held once and no longer do.
    pub removed: Vec<String>,
    /// Its files.
    pub files: Vec<FileEntry>,
    /// Whether its files are few and sorted, rather than those of each run.
    #[serde(default)]
    pub is_compacted: bool,
    /// Whether files of events were dropped when their time was over.
    #[serde(default)]
    pub events_dropped: bool,
}

impl StateManifest {
    /// Whether it stands for a run: then the run's own manifest no longer counts.
    #[must_use]
    pub fn covers(&self, run: &str) -> bool {
        self.holds(run) || self.removed.iter().any(|id| id == run)
    }

    /// Whether its files hold the run.
    #[must_use]
    pub fn holds(&self, run: &str) -> bool {
        self.runs.iter().any(|entry| entry.run_id == run)
    }
}
