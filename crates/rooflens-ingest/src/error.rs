//! Why an input gives no tables at all. Everything less is a note.

use std::path::PathBuf;

/// A failure to read anything.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The file or folder could not be opened.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The input.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The input holds nothing.
    #[error("{source_name} is empty")]
    Empty {
        /// The input, by name.
        source_name: String,
    },
    /// No format knows the input.
    #[error("{source_name} is not in a format that Rooflens reads; it begins with {beginning}")]
    Unknown {
        /// The input, by name.
        source_name: String,
        /// Its first bytes, printable.
        beginning: String,
    },
    /// The format is known but no record could be read.
    #[error("{source_name} looks like a {format} trace, but no record could be read: {why}")]
    NoRecords {
        /// The input, by name.
        source_name: String,
        /// The format.
        format: &'static str,
        /// What stopped the reader.
        why: String,
    },
    /// An export of several ranks: its rows cannot be told apart.
    #[error("{source_name} is an export of {ranks} ranks, which is only for viewing")]
    SeveralRanks {
        /// The input, by name.
        source_name: String,
        /// How many.
        ranks: usize,
    },
    /// A folder without a readable trace.
    #[error("no trace in folder {path}")]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
}
