//! What is reported on standard error, one JSON object per line.

use std::io::Write;

use serde::Serialize;

use crate::fault::Fault;

/// A line of standard error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// How far the scans are.
    Progress(Scanned),
    /// Memory did not suffice, and intermediate results went to disk.
    Spilled {
        /// Bytes that were written.
        bytes: u64,
        /// Files that were written.
        files: u64,
    },
    /// The result is complete.
    Done {
        /// Rows of the result.
        rows: u64,
        /// Bytes that were read from Parquet files.
        scanned_bytes: u64,
        /// From the start of the process.
        elapsed_ms: u64,
    },
    /// There is no result, or not all of it.
    Error(Fault),
}

/// What the scans of a query have read so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Scanned {
    /// Rows that the scans returned.
    pub rows: u64,
    /// Bytes that they read.
    pub bytes: u64,
    /// Files that they opened.
    pub files: u64,
    /// Files that they may open.
    pub of_files: u64,
}

/// Writes a line. Nobody may be listening any more, which is no reason to fail.
pub fn emit(event: &Event) {
    if let Ok(mut line) = serde_json::to_string(event) {
        line.push('\n');
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}
