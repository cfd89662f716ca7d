//! Where a run's files lie.

use std::path::{Path, PathBuf};

use crate::error::SchemaError;

/// Tables that every trace has. `runs` is written last: without it they are not whole.
const TRACE_TABLES: [&str; 2] = ["name_dim", "runs"];

/// A run directory: `raw/`, `tables/`, `findings/`, `report/` below one folder.
#[derive(Debug, Clone)]
pub struct RunDir {
    root: PathBuf,
}

impl RunDir {
    /// The run at `root`, whether or not it exists.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        RunDir { root: root.into() }
    }

    /// The run at `root`, if there is one with a trace.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, SchemaError> {
        let run = Self::new(root);
        let is_there = |name: &str| run.table(name).is_file();
        match (is_there("runs"), TRACE_TABLES.iter().all(|name| is_there(name))) {
            (_, true) => Ok(run),
            (true, false) => Err(SchemaError::NoTrace { path: run.root }),
            (false, false) => Err(SchemaError::NotARun { path: run.root, missing: "tables/runs.parquet" }),
        }
    }

    /// Whether the run at `root` has the tables of a trace, and they are whole. A run that was only measured has its
    /// row in `runs`, and no trace.
    pub fn has_trace(root: &Path) -> bool {
        let run = RunDir::new(root);
        TRACE_TABLES.iter().all(|name| run.table(name).is_file())
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of what a step left, as its tool wrote it.
    pub fn raw(&self, step: &str) -> PathBuf {
        self.root.join("raw").join(step)
    }

    /// The Parquet file of a table.
    pub fn table(&self, name: &str) -> PathBuf {
        self.root.join("tables").join(format!("{name}.parquet"))
    }

    /// The folder of findings, one JSON file an analysis.
    pub fn findings(&self) -> PathBuf {
        self.root.join("findings")
    }

    /// The folder of what people read.
    pub fn report(&self) -> PathBuf {
        self.root.join("report")
    }

    /// Makes the folders.
    pub fn create(&self) -> Result<(), SchemaError> {
        for folder in [self.root.join("tables"), self.findings(), self.report()] {
            std::fs::create_dir_all(&folder).map_err(SchemaError::io("cannot make", &folder))?;
        }
        Ok(())
    }
}
