//! A run that is on disk.

use std::path::Path;

use rooflens_analyze::compare::headline::{self, HeadlineMetric, MetricSample};
use rooflens_schema::RunDir;
use serde_json::Value as Json;

use super::config::PLAN;
use super::workload;
use crate::config::folders::OWN_FOLDER;
use crate::error::Error;
use crate::input::missing;
use crate::model::ModelRecord;
use crate::saved;

/// A run that `rooflens run` or `rooflens analyze -o` wrote.
#[derive(Debug, Clone)]
pub struct Run {
    folder: RunDir,
}

impl Run {
    /// Opens the run of a folder.
    pub fn open(path: &Path) -> Result<Run, Error> {
        if !path.exists() {
            return Err(missing(path));
        }
        let folder = RunDir::new(path);
        let has_metrics = folder.report().join(saved::METRICS).is_file();
        let has_rounds = folder.raw("measure").is_dir() || folder.table("requests").is_file();
        match has_metrics || has_rounds || RunDir::has_trace(path) {
            true => Ok(Run { folder }),
            false => RunDir::open(path).map(|folder| Run { folder }).map_err(Error::unreadable_run),
        }
    }

    /// The run of a folder that is known to be one, or that may have nothing to tell.
    pub(crate) fn of(folder: RunDir) -> Run {
        Run { folder }
    }

    /// Where its files are.
    pub fn folder(&self) -> &RunDir {
        &self.folder
    }

    #[cfg(test)]
    pub(crate) fn measured(&self) -> Option<super::metrics::Measured> {
        let workload = workload::measured(&self.folder);
        (!workload.requests.is_empty()).then(|| super::metrics::measured(&workload))
    }

    /// `report/metrics.json`; null where there is none.
    pub fn metrics(&self) -> Json {
        saved::read_json(&self.folder.report().join(saved::METRICS))
    }

    /// What it tells of a headline metric: its measured rounds, else the value that `metrics.json` holds.
    pub(crate) fn sample(&self, metric: &HeadlineMetric) -> Option<MetricSample> {
        self.samples().into_iter().find(|(known, _)| known.key == metric.key).map(|(_, sample)| sample)
    }

    /// The same of every headline metric that it has. Rounds of a pass that failed do not count: they are a part, and
    /// mostly the beginning.
    pub(crate) fn samples(&self) -> Vec<(&'static HeadlineMetric, MetricSample)> {
        let metrics = self.metrics();
        if !is_whole(&metrics) {
            return Vec::new();
        }
        let ran = workload::measured(&self.folder);
        let measured = headline::measured_requests(&ran.requests, &ran.tokens);
        let sample = |metric: &'static HeadlineMetric| {
            Some((metric, metric.of(&measured).or_else(|| kept_sample(&metrics, metric))?))
        };
        headline::ALL.iter().filter_map(sample).collect()
    }

    pub(crate) fn is_whole(&self) -> bool {
        is_whole(&self.metrics())
    }

    /// A headline metric, round by round; empty where only its value is known.
    #[cfg(test)]
    pub(crate) fn rounds(&self, metric: &HeadlineMetric) -> Vec<f64> {
        self.sample(metric).map_or_else(Vec::new, |sample| sample.rounds())
    }
}

/// Whether the pass without profilers ended well, by the numbers of a run; a run that does not tell is taken as it is.
pub(crate) fn is_whole(metrics: &Json) -> bool {
    let steps = metrics["steps"].as_array().map_or(&[][..], Vec::as_slice);
    steps.iter().filter(|step| step["step"] == "measure").all(|step| step["end"] == "done")
}

pub(crate) fn kept_value(metrics: &Json, metric: &HeadlineMetric) -> Option<f64> {
    metrics.pointer(metric.path)?.as_f64()
}

/// The same as a sample, whose rounds are not known.
pub(crate) fn kept_sample(metrics: &Json, metric: &HeadlineMetric) -> Option<MetricSample> {
    kept_value(metrics, metric).map(MetricSample::value_alone)
}

const KINDS: &[&str] = &["json", "jsonl", "csv"];

/// A copy of a run has more than its tables: its plan, what its workload said of itself, and its numbers. Traces and
/// reports of profilers stay where they are: their rows are in the tables.
pub(crate) fn copy_files(from: &RunDir, to: &RunDir) -> Result<(), Error> {
    if let Some(record) = ModelRecord::read(from) {
        record.save(to)?;
    }
    if !from.root().join(PLAN).is_file() {
        return Ok(());
    }
    copy(&from.root().join(PLAN), &to.root().join(PLAN))?;
    copy_folder(&from.root().join(OWN_FOLDER), &to.root().join(OWN_FOLDER), |_| true)?;
    let is_small =
        |path: &Path| path.extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known));
    for step in folder(&from.root().join("raw")).filter(|path| path.is_dir()) {
        let name = step.file_name().unwrap_or_default();
        copy_folder(&step, &to.root().join("raw").join(name), is_small)?;
    }
    let is_data = |path: &Path| path.extension().is_some_and(|kind| kind == "json" || kind == "yaml");
    copy_folder(&from.report(), &to.report(), is_data)
}

fn copy_folder(from: &Path, to: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<(), Error> {
    for path in folder(from).filter(|path| path.is_file() && is_wanted(path)) {
        saved::make(to)?;
        copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn folder(path: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let copied = std::fs::copy(from, to).map(drop);
    copied.map_err(|source| Error::unwritable(to, source))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_run_tells_its_metrics_from_rounds_or_from_its_numbers() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |key: &str| headline::find(key).expect("a metric");
        assert!(Run::open(folder.path()).is_err(), "there is nothing");
        let run = RunDir::new(folder.path());
        fs::create_dir_all(run.report()).expect("a folder");
        let numbers = r#"{"measured":{"tpot_ns":{"p50":9.0},"ttft_ns":{"p50":null}}}"#;
        fs::write(run.report().join(saved::METRICS), numbers).expect("a file");
        let opened = Run::open(folder.path()).expect("a run");
        assert_eq!(opened.metrics()["measured"]["tpot_ns"]["p50"], 9.0);
        assert!(opened.measured().is_none());
        // Only the value was kept: it has no rounds.
        assert_eq!(opened.sample(of("tpot_p50")).map(|sample| sample.value()), Some(9.0));
        assert!(opened.rounds(of("tpot_p50")).is_empty() && opened.sample(of("ttft_p50")).is_none());

        // Two rounds, with 10 and 30 ns per token after the first.
        let request = |round: i64, last: i64| {
            format!(
                r#"{{"round":{round},"kind":"measured","prompt_tokens":5,"output_tokens":2,"start_ns":0,"token_ns":[40,{last}]}}"#
            )
        };
        fs::create_dir_all(run.raw("measure")).expect("a folder");
        let lines = format!("{}\n{}\n", request(0, 50), request(1, 70));
        fs::write(run.raw("measure").join("requests.jsonl"), lines).expect("a file");
        assert_eq!(opened.rounds(of("tpot_p50")), [10.0, 30.0]);
        assert_eq!(opened.sample(of("tpot_p50")).map(|sample| sample.value()), Some(20.0));
        let measured = opened.measured().and_then(|measured| measured.tpot_ns);
        assert_eq!(measured.map(|tpot| tpot.p50), Some(20.0));
    }
}
