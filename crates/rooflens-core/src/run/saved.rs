//! A run that is on disk.

use std::path::Path;

use rooflens_compare::headline::{Metric, Sample};
use rooflens_schema::RunDir;
use serde_json::Value as Json;

use super::metrics::{Measured, Rows};
use crate::compare;
use crate::error::Error;
use crate::saved;

/// A run that `rooflens run` or `rooflens analyze -o` wrote.
#[derive(Debug, Clone)]
pub struct Run {
    folder: RunDir,
}

impl Run {
    /// Opens the run of a folder.
    pub fn open(path: &Path) -> Result<Run, Error> {
        let folder = RunDir::new(path);
        let has_metrics = folder.report().join(saved::METRICS).is_file();
        match has_metrics || RunDir::is_run(path) {
            true => Ok(Run { folder }),
            false => RunDir::open(path).map(|folder| Run { folder }).map_err(Error::UnreadableRun),
        }
    }

    /// Where its files are.
    pub fn folder(&self) -> &RunDir {
        &self.folder
    }

    /// The metrics of its measured rounds; nothing where none was measured.
    pub fn measured(&self) -> Option<Measured> {
        let rows = Rows::read(&self.folder.raw("measure"));
        (!rows.requests.is_empty()).then(|| super::metrics::measured(&rows))
    }

    /// `report/metrics.json`; null where there is none.
    pub fn metrics(&self) -> Json {
        let text = std::fs::read(self.folder.report().join(saved::METRICS)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What it tells of a headline metric.
    pub fn sample(&self, metric: &Metric) -> Option<Sample> {
        compare::sample(self.folder.root(), metric)
    }

    /// A headline metric, round by round; empty where only its value is known.
    pub fn rounds(&self, metric: &Metric) -> Vec<f64> {
        self.sample(metric).map_or_else(Vec::new, |sample| sample.rounds())
    }
}
