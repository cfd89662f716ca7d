//! The report of a sweep, in its own folder: `sweep.json`, `sweep.md`, `index.html` and figures.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline::{self, HeadlineMetric};
use rooflens_collect::RunStage;
use rooflens_ingest::IngestError;
use rooflens_report::cost::FigureFile;
use rooflens_report::figure::FigureUnit;
use rooflens_report::{format, runs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::document::RunDocument;
use super::job::RunOutcome;
use super::launch::Planned;
use super::saved::{is_whole, kept_value};
use crate::cost::saved::write_figures;
use crate::disk;
use crate::document::SchemaTag;
use crate::error::Error;
use crate::project::way;
use crate::text::counted;

const NUMBERS: &str = "sweep.json";
const FIGURES: &str = "figures";

struct Number {
    metric: &'static HeadlineMetric,
    better: Better,
    shown: runs::Quantity,
}

/// The metrics that are shown, with the file of each one's figure.
const SHOWN: &[(&str, Option<&str>)] = &[
    ("ttft_p50_ns", Some("ttft")),
    (TPOT, Some("tpot")),
    ("tpot_p99_ns", None),
    ("latency_p50_ns", Some("latency")),
    (RATE, Some("tokens-per-s")),
];
const TPOT: &str = "tpot_p50_ns";
const RATE: &str = "output_tokens_per_s";

fn quantities() -> Vec<Number> {
    let number = |(key, file): &(&str, Option<&'static str>)| {
        let metric = headline::find(key)?;
        let unit = if metric.is_time() { FigureUnit::Time } else { FigureUnit::Number };
        let better = if metric.more_is_better { Better::More } else { Better::Less };
        let (key, title, help, file) = (metric.key, metric.title, metric.definition, *file);
        Some(Number { metric, better, shown: runs::Quantity { key, title, help, unit, file } })
    };
    SHOWN.iter().filter_map(number).collect()
}

fn place(key: &str) -> usize {
    SHOWN.iter().position(|(shown, _)| *shown == key).unwrap_or(0)
}

/// A job of a sweep, as it is saved.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SweptJob {
    /// Its number.
    pub(crate) job: usize,
    /// Its folder, from the sweep's own.
    pub(crate) folder: String,
    /// The overrides that are not those of all jobs.
    pub(crate) overrides: Vec<String>,
    /// `complete`, `incomplete`, `failed`, `not started`.
    pub(crate) status: Cow<'static, str>,
    /// Which step did not end well, and how.
    pub(crate) failure: Option<String>,
    /// The run's numbers; null where it was not started.
    #[schemars(with = "Option<RunDocument>")]
    pub(crate) metrics: Json,
}

/// The numbers of a sweep of runs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RunSweep {
    /// `rooflens.run-sweep`.
    pub(crate) schema: SchemaTag,
    /// The name of its folder.
    pub(crate) sweep: String,
    /// The keys whose values differ between jobs.
    pub(crate) axes: Vec<SweepAxis>,
    /// The jobs, in order.
    pub(crate) jobs: Vec<SweptJob>,
    /// By headline metric: the jobs that are the best in it.
    #[schemars(with = "BTreeMap<String, Vec<usize>>")]
    pub(crate) best: Map<String, Json>,
    /// Jobs that no other beats in both TPOT and tokens per second.
    pub(crate) front: Vec<usize>,
}

/// The sweep of what was planned and what was done.
pub(crate) fn sweep(planned: &Planned, done: &[RunOutcome]) -> RunSweep {
    let folder = planned.sweep.as_ref().map(|(folder, _)| folder.clone()).unwrap_or_default();
    let job = |(place, planned_job): (usize, &super::launch::PlannedJob)| {
        let (composed, finished) = (&planned_job.composed, done.get(place));
        let own = |text: &&String| !planned.is_shared(text);
        SweptJob {
            job: composed.number.unwrap_or(place),
            folder: way(&folder, &composed.folder).to_string_lossy().into_owned(),
            overrides: composed.composition.overrides.task.iter().filter(own).cloned().collect(),
            status: "".into(),
            failure: None,
            metrics: finished.and_then(|done| serde_json::to_value(&done.document).ok()).unwrap_or_default(),
        }
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    RunSweep::new(name, planned.jobs.iter().enumerate().map(job).collect())
}

/// Writes the report of a sweep into its folder. Answers where the page is.
pub(crate) fn write(planned: &Planned, sweep: &RunSweep) -> Result<Option<PathBuf>, Error> {
    let Some((folder, _)) = &planned.sweep else { return Ok(None) };
    sweep.save(folder)?;
    // Drawn from what was saved, so that it is the same whenever it is drawn again.
    rewrite(folder, None)
}

/// Writes the report of a saved sweep again, where the folder is one. Answers where the page is.
pub(crate) fn rewrite(folder: &Path, into: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    let path = folder.join(NUMBERS);
    let Ok(bytes) = std::fs::read(&path) else { return Ok(None) };
    let unreadable = |error: serde_json::Error| IngestError::Io { path, source: error.into() };
    let saved: RunSweep = serde_json::from_slice(&bytes).map_err(unreadable).map_err(Error::unreadable)?;
    let sweep = RunSweep::new(saved.sweep, saved.jobs);
    if let Some(into) = into {
        disk::make(into)?;
        disk::write(into.join(NUMBERS), &bytes)?;
    }
    sweep.draw(into.unwrap_or(folder), folder).map(Some)
}

impl RunSweep {
    fn new(sweep: String, mut jobs: Vec<SweptJob>) -> Self {
        for job in &mut jobs {
            let (status, failure) = end(&job.metrics);
            (job.status, job.failure) = (status.into(), failure);
        }
        let overrides: Vec<&[String]> = jobs.iter().map(|job| job.overrides.as_slice()).collect();
        let axes = axes(&overrides);
        let numbers_of = |flags: &[bool]| -> Vec<usize> {
            jobs.iter().zip(flags).filter(|(_, is)| **is).map(|(job, _)| job.job).collect()
        };
        let best = quantities()
            .iter()
            .map(|number| (number, numbers_of(&best(&values(&jobs, number), number.better))))
            .map(|(number, jobs)| (number.shown.key.to_owned(), jobs.into()))
            .collect();
        let front: Vec<bool> = front(&jobs).into_iter().map(|is| is == Some(true)).collect();
        let front = numbers_of(&front);
        RunSweep { schema: SchemaTag::new("run-sweep"), sweep, axes, jobs, best, front }
    }

    fn save(&self, folder: &Path) -> Result<(), Error> {
        disk::make(folder)?;
        disk::write_json(folder.join(NUMBERS), self)
    }

    fn draw(&self, folder: &Path, runs_in: &Path) -> Result<PathBuf, Error> {
        let shown = self.shown(folder, runs_in);
        disk::write(folder.join("sweep.md"), runs::markdown(&shown).as_bytes())?;
        let drawn: Vec<FigureFile> = runs::figures(&shown);
        if !drawn.is_empty() {
            write_figures(&folder.join(FIGURES), &drawn)?;
        }
        let page = folder.join("index.html");
        disk::write(page.clone(), runs::html(&shown).as_bytes())?;
        Ok(page)
    }

    fn shown(&self, folder: &Path, runs_in: &Path) -> runs::Runs {
        let quantities = quantities();
        let best: Vec<Vec<bool>> =
            quantities.iter().map(|number| best(&values(&self.jobs, number), number.better)).collect();
        let front = front(&self.jobs);
        let job = |(place, job): (usize, &SweptJob)| runs::JobRow {
            number: job.job,
            at: self.axes.iter().map(|axis| at(&job.overrides, &axis.key)).collect(),
            status: match &job.failure {
                Some(failure) => format!("{}: {failure}", job.status),
                None => job.status.to_string(),
            },
            values: quantities.iter().map(|number| value(job, number)).collect(),
            best: best.iter().map(|flags| flags[place]).collect(),
            is_front: front[place],
            report: report(&runs_in.join(&job.folder), folder),
        };
        runs::Runs {
            title: format!("Sweep {}", self.sweep),
            lead: self.lead(),
            axes: self.axes.iter().map(shown_axis).collect(),
            quantities: quantities.iter().map(|number| number.shown).collect(),
            jobs: self.jobs.iter().enumerate().map(job).collect(),
            weighed: Some((place(TPOT), place(RATE))),
            figures: FIGURES,
        }
    }

    fn lead(&self) -> String {
        let good = self.jobs.iter().filter(|job| job.status == "complete").count();
        let mut sentences = vec![format!("{good} of {} are complete.", counted(self.jobs.len(), "job"))];
        let quantities = quantities();
        for (key, what) in [(TPOT, "Lowest TPOT p50"), (RATE, "Most tokens/s")] {
            let Some(number) = quantities.iter().find(|number| number.metric.key == key) else { continue };
            let best = best(&values(&self.jobs, number), number.better);
            let winner = self.jobs.iter().zip(best).find(|(_, is)| *is).map(|(job, _)| job);
            let Some((job, value)) = winner.and_then(|job| Some((job, value(job, number)?))) else {
                continue;
            };
            let value =
                if number.shown.unit == FigureUnit::Time { format::time(value) } else { format::mean(value) };
            sentences.push(format!("{what}: {value}, with {}.", place_of(job)));
        }
        sentences.join(" ")
    }
}

/// Columns are named for the life of the program; keys that are swept over, too.
fn shown_axis(axis: &SweepAxis) -> runs::SweptAxis {
    runs::SweptAxis { key: Box::leak(axis.key.clone().into_boxed_str()), is_number: axis.is_number }
}

fn place_of(job: &SweptJob) -> String {
    match job.overrides.as_slice() {
        [] => format!("job {}", job.job),
        overrides => overrides.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(" "),
    }
}

/// What a run comes to. Numbers of a measuring step that did not end well are of part of the work, and
/// are held against nobody's.
fn end(metrics: &Json) -> (&'static str, Option<String>) {
    if metrics.is_null() {
        return ("not started", None);
    }
    let steps = metrics["steps"].as_array().into_iter().flatten();
    let failed = steps.into_iter().find(|step| step["end"] != "done");
    let failure = failed.map(|step| {
        let word = |key: &str| step[key].as_str().unwrap_or("unknown").replace('_', " ");
        let code = step["exit_code"].as_i64().map(|code| format!(", exit code {code}"));
        let code = code.or_else(|| step["signal"].as_i64().map(|signal| format!(", signal {signal}")));
        let name = step["step"].as_str().unwrap_or("a step");
        format!("{name} {}{}", word("end"), code.unwrap_or_default())
    });
    match failed {
        Some(step) if step["step"] == RunStage::Measure.name() => ("failed", failure),
        Some(_) => ("incomplete", failure),
        None if metrics["status"] == "complete" => ("complete", None),
        None => ("incomplete", Some("data was lost".to_owned())),
    }
}

fn value(job: &SweptJob, number: &Number) -> Option<f64> {
    let counts = matches!(&*job.status, "complete" | "incomplete") && is_whole(&job.metrics);
    kept_value(&job.metrics, number.metric).filter(|value| counts && value.is_finite())
}

fn values(jobs: &[SweptJob], number: &Number) -> Vec<Option<f64>> {
    jobs.iter().map(|job| value(job, number)).collect()
}

fn front(jobs: &[SweptJob]) -> Vec<Option<bool>> {
    let quantities = quantities();
    let pair = |job: &SweptJob| (value(job, &quantities[place(TPOT)]), value(job, &quantities[place(RATE)]));
    undominated(&jobs.iter().map(pair).collect::<Vec<_>>())
}

fn report(run: &Path, from: &Path) -> Option<String> {
    let files = ["report/index.html", "report/metrics.json"].map(|name| run.join(name));
    let found = files.into_iter().find(|file| file.is_file())?;
    Some(way(from, &found).to_string_lossy().into_owned())
}

/// A key whose value differs between jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SweepAxis {
    /// The key, or the group of a choice.
    pub(crate) key: String,
    /// Whether all its values are numbers.
    pub(crate) is_number: bool,
    /// Its values, each once, in the order of the jobs; null where a job leaves it as it is.
    pub(crate) values: Vec<Option<String>>,
}

const TAKEN_AWAY: &str = "(none)";

fn axes(jobs: &[&[String]]) -> Vec<SweepAxis> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in jobs.iter().flat_map(|job| job.iter()).map(|text| pair(text)) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let axis = |key: &str| {
        let mut values: Vec<Option<String>> = Vec::new();
        for value in jobs.iter().map(|job| at(job, key)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let number = |value: &Option<String>| {
            value.as_ref().and_then(|value| value.parse::<f64>().ok()).is_some_and(f64::is_finite)
        };
        SweepAxis { key: key.to_owned(), is_number: values.iter().all(number), values }
    };
    keys.into_iter().map(axis).filter(|axis| axis.values.len() > 1).collect()
}

fn at(overrides: &[String], key: &str) -> Option<String> {
    overrides
        .iter()
        .rev()
        .map(|text| pair(text))
        .find(|(known, _)| *known == key)
        .map(|(_, value)| value.to_owned())
}

/// An override as key and value: `key=value`, `+key=value`, `++key=value`, `~key`.
fn pair(text: &str) -> (&str, &str) {
    if let Some(key) = text.strip_prefix('~') {
        return (key.split('=').next().unwrap_or(key), TAKEN_AWAY);
    }
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    (key.trim_start_matches('+'), value)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    Less,
    More,
}

fn best(values: &[Option<f64>], better: Better) -> Vec<bool> {
    let known = || values.iter().flatten().copied();
    let best = match better {
        Better::Less => known().reduce(f64::min),
        Better::More => known().reduce(f64::max),
    };
    let is_choice = known().any(|value| Some(value) != best);
    values.iter().map(|value| is_choice && value.is_some() && *value == best).collect()
}

/// Of pairs of which the first is better small and the second better large: whether no other pair is at
/// least as good in both and better in one. Nothing where one of the two is not known.
fn undominated(pairs: &[(Option<f64>, Option<f64>)]) -> Vec<Option<bool>> {
    let beats = |one: (f64, f64), other: (f64, f64)| {
        one.0 <= other.0 && one.1 >= other.1 && (one.0 < other.0 || one.1 > other.1)
    };
    let known = |pair: &(Option<f64>, Option<f64>)| Some((pair.0?, pair.1?));
    let is_front = |own| !pairs.iter().filter_map(known).any(|other| beats(other, own));
    pairs.iter().map(|pair| known(pair).map(is_front)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn metrics(tpot: f64, rate: f64) -> Json {
        json!({"status": "complete", "steps": [{"step": "measure", "end": "done"}],
            "measured": {"ttft_ns": {"p50": 10.0 * tpot, "p99": 20.0 * tpot}, "tpot_ns": {"p50": tpot, "p99": tpot},
                         "latency_ns": {"p50": 30.0 * tpot}, "output_tokens_per_s": rate, "decode_tokens_per_s": null}})
    }

    fn job(number: usize, batch: u64, tokens: u64, metrics: Json) -> SweptJob {
        SweptJob {
            job: number,
            folder: number.to_string(),
            overrides: vec![format!("runtime.batch_size={batch}"), format!("infer.max_new_tokens={tokens}")],
            status: "".into(),
            failure: None,
            metrics,
        }
    }

    /// Batches of 1, 2 and 4, answers of 32 and 64 tokens; one fails while it measures, one was not begun.
    fn jobs() -> Vec<SweptJob> {
        let mut failed = metrics(1.0, 1e9);
        failed["steps"] = json!([{"step": "measure", "end": "crashed", "exit_code": null, "signal": 9}]);
        failed["status"] = "incomplete".into();
        let mut profiled = metrics(4e6, 500.0);
        profiled["steps"] = json!([{"step": "measure", "end": "done"}, {"step": "torch_profiler", "end": "failed", "exit_code": 3}]);
        profiled["status"] = "incomplete".into();
        vec![
            job(0, 1, 32, metrics(2e6, 400.0)),
            job(1, 1, 64, metrics(2.5e6, 380.0)),
            job(2, 2, 32, metrics(3e6, 700.0)),
            job(3, 2, 64, profiled),
            job(4, 4, 32, failed),
            job(5, 4, 64, Json::Null),
        ]
    }

    #[test]
    fn by_hand() {
        let sweep = RunSweep::new("night".to_owned(), jobs());
        let keys: Vec<(&str, bool)> =
            sweep.axes.iter().map(|axis| (axis.key.as_str(), axis.is_number)).collect();
        assert_eq!(keys, [("runtime.batch_size", true), ("infer.max_new_tokens", true)]);
        let statuses: Vec<&str> = sweep.jobs.iter().map(|job| &*job.status).collect();
        assert_eq!(statuses, ["complete", "complete", "complete", "incomplete", "failed", "not started"]);
        // The job that was killed would be best in everything.
        assert_eq!(
            (&sweep.best["tpot_p50_ns"], &sweep.best["output_tokens_per_s"]),
            (&json!([0]), &json!([2]))
        );
        // Job 1 is slower than 0 in both, 3 than 2.
        assert_eq!(sweep.front, [0, 2]);
        let lead = "3 of 6 jobs are complete. Lowest TPOT p50: 2.00 ms, with `runtime.batch_size=1` \
                    `infer.max_new_tokens=32`. Most tokens/s: 700, with `runtime.batch_size=2` \
                    `infer.max_new_tokens=32`.";
        assert_eq!(sweep.lead(), lead);
    }

    #[test]
    fn what_is_saved_can_be_drawn_again() {
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("0/report");
        std::fs::create_dir_all(&report).unwrap();
        std::fs::write(report.join("index.html"), "").unwrap();
        RunSweep::new("night".to_owned(), jobs()).save(folder.path()).unwrap();
        let page = rewrite(folder.path(), None).unwrap().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let (html, json, table) = (read("index.html"), read(NUMBERS), read("sweep.md"));
        let row = "| 4 | 4 | 32 | failed: measure crashed, signal 9 | – | – | – | – | – | – |";
        assert!(table.contains(row), "{table}");
        let row = "| 3 | 2 | 64 | incomplete: torch_profiler failed, exit code 3 | 40.00 ms |";
        assert!(table.contains(row), "{table}");
        assert!(
            table.contains("| [0](0/report/index.html) | 1 | 32 | complete | **20.00 ms** ★ |"),
            "{table}"
        );
        for name in ["ttft", "tpot", "latency", "tokens-per-s"] {
            for axis in ["runtime-batch_size", "infer-max_new_tokens"] {
                assert!(
                    folder.path().join(format!("{FIGURES}/{name}-by-{axis}.svg")).is_file(),
                    "{name} {axis}"
                );
            }
        }
        assert!(folder.path().join("figures/front.svg").is_file());
        std::fs::remove_file(&page).unwrap();
        assert_eq!(rewrite(folder.path(), None).unwrap(), Some(page));
        assert_eq!((read("index.html"), read(NUMBERS), read("sweep.md")), (html, json, table));
        assert_eq!(rewrite(&folder.path().join("0"), None).unwrap(), None);
    }

    fn found(jobs: &[&[&str]]) -> Vec<(String, bool, usize)> {
        let jobs: Vec<Vec<String>> =
            jobs.iter().map(|job| job.iter().map(|text| (*text).to_owned()).collect()).collect();
        let jobs: Vec<&[String]> = jobs.iter().map(Vec::as_slice).collect();
        axes(&jobs).into_iter().map(|axis| (axis.key, axis.is_number, axis.values.len())).collect()
    }

    #[test]
    fn only_what_differs_is_an_axis() {
        let jobs: &[&[&str]] = &[
            &["seed=3", "runtime.batch_size=1", "runtime=pytorch", "+x.y=1e3"],
            &["seed=3", "runtime.batch_size=2", "runtime=vllm", "++x.y=2.5"],
        ];
        let axes = [("runtime.batch_size", true, 2), ("runtime", false, 2), ("x.y", true, 2)];
        assert_eq!(found(jobs), axes.map(|(key, is, count)| (key.to_owned(), is, count)));
    }

    #[test]
    fn what_a_job_leaves_as_it_is_is_a_value_but_no_number() {
        assert_eq!(found(&[&["a=1"], &[]]), [("a".to_owned(), false, 2)]);
        assert_eq!(found(&[&["~a"], &["a=1"]]), [("a".to_owned(), false, 2)]);
        assert_eq!(found(&[&["a=1"]]), []);
        assert_eq!(found(&[&["a=nan"], &["a=1"]]), [("a".to_owned(), false, 2)]);
    }

    #[test]
    fn what_was_not_measured_is_never_best() {
        assert_eq!(best(&[None, Some(3.0), Some(2.0), Some(2.0)], Better::Less), [false, false, true, true]);
        assert_eq!(best(&[None, Some(3.0), Some(2.0)], Better::More), [false, true, false]);
        assert_eq!(best(&[None, Some(3.0), Some(3.0)], Better::More), [false; 3]);
        assert_eq!(best(&[], Better::More), [false; 0]);
    }

    #[test]
    fn the_front_by_hand() {
        let pair = |x: f64, y: f64| (Some(x), Some(y));
        // (1, 10) and (2, 30) stay; (2, 20) has the time of one and less; (3, 30) takes longer for as much.
        let pairs = [pair(1.0, 10.0), pair(2.0, 30.0), pair(2.0, 20.0), pair(3.0, 30.0), (None, Some(99.0))];
        assert_eq!(undominated(&pairs), [Some(true), Some(true), Some(false), Some(false), None]);
        // Equals do not beat each other.
        assert_eq!(undominated(&[pair(1.0, 1.0), pair(1.0, 1.0)]), [Some(true), Some(true)]);
    }
}
