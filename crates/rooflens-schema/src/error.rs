//! What can go wrong with tables on disk.

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

/// A failure to read or write tables or a run directory.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// A file could not be opened, created or moved.
    #[error("{action} {path}: {source}")]
    Io {
        /// What was attempted, as "cannot read" or "cannot write".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Parquet refused the bytes or the rows.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The library's answer.
        source: ParquetError,
    },
    /// A column is absent or has another type than this version of the schema gives it.
    #[error("table {table}: column {column} is not readable as {expected}")]
    Column {
        /// Table name.
        table: &'static str,
        /// Column name.
        column: &'static str,
        /// The type looked for.
        expected: String,
    },
    /// The file was written by a schema this version does not know.
    #[error("{path} has schema version {found}, this build reads {expected}")]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: String,
        /// The version of this build.
        expected: &'static str,
    },
    /// The run was measured and not traced.
    #[error("{path} has no trace: it is a load test, or was only measured")]
    NoTrace {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds no run.
    #[error("{path} is not a Rooflens run directory: {missing} is missing")]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// What was looked for.
        missing: &'static str,
    },
}

impl SchemaError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| SchemaError::Io { action, path, source }
    }

    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self {
        let path = path.to_owned();
        move |source| SchemaError::Parquet { path, source }
    }
}
