//! What the analysis finds in synthetic jobs, compared with what was injected into them.
//!
//! Every check runs over the seeds 1 to 30, or over those of `ROOFLENS_SEEDS=FIRST..LAST`, both included.

mod fit;
mod intervals;
mod ledger;
mod ranks;

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use rooflens_core::document::AnalysisDocument;
use rooflens_core::model::ModelRequest;
use rooflens_core::{Error, Notes, ReadOptions, Unobserved, open_input};
use serde_json::Value;
use tempfile::TempDir;

use super::SyntheticJob;
pub(super) use intervals::DeviceTimes;

const DEFAULT_SEEDS: RangeInclusive<u64> = 1..=30;

fn seeds() -> RangeInclusive<u64> {
    let Ok(text) = std::env::var("ROOFLENS_SEEDS") else { return DEFAULT_SEEDS };
    let seeds =
        text.split_once("..").and_then(|(first, last)| Some(first.parse().ok()?..=last.parse().ok()?));
    seeds
        .filter(|seeds| !seeds.is_empty())
        .unwrap_or_else(|| panic!("ROOFLENS_SEEDS={text}: expected FIRST..LAST, as in 1..400"))
}

/// Runs a check on the job of each seed; the check returns how many numbers it compared. `name` finds the test.
fn each_seed(name: &str, is_lockstep: bool, check: impl Fn(&Case) -> usize + Sync) {
    let seeds = seeds();
    let remaining = Mutex::new(seeds.clone());
    let failures = Mutex::new(BTreeMap::new());
    let compared = Mutex::new(0);
    let work = || {
        loop {
            let Some(seed) = remaining.lock().unwrap().next() else { return };
            match catch_unwind(AssertUnwindSafe(|| check(&Case::new(seed, is_lockstep)))) {
                Ok(count) => *compared.lock().unwrap() += count,
                Err(panic) => {
                    failures.lock().unwrap().insert(seed, message(&*panic));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (failures, compared) = (failures.into_inner().unwrap(), compared.into_inner().unwrap());
    let option = if is_lockstep { " --lockstep" } else { "" };
    let shown: Vec<String> = failures
        .iter()
        .map(|(seed, failure)| {
            format!(
                "seed {seed}: {failure}\n  to repeat it: ROOFLENS_SEEDS={seed}..{seed} cargo test -p xtask {name}\n  \
                 its files: cargo xtask make-trace --seed {seed}{option} -o DIR"
            )
        })
        .collect();
    let (first, last) = (seeds.start(), seeds.end());
    assert!(shown.is_empty(), "{} of the seeds {first} to {last} failed\n{}", shown.len(), shown.join("\n"));
    println!("{name}: seeds {first} to {last}, {compared} numbers compared");
    // A few seeds may have nothing to compare; if many have nothing, the check itself is broken.
    assert!(compared > 0 || seeds.count() < DEFAULT_SEEDS.count(), "{name}: no seed has anything to compare");
}

fn message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().cloned();
    message.or_else(|| Some((*panic.downcast_ref::<&str>()?).to_owned())).unwrap_or_default()
}

struct Case {
    job: SyntheticJob,
    folder: TempDir,
}

impl Case {
    fn new(seed: u64, is_lockstep: bool) -> Self {
        let case = Case {
            job: SyntheticJob::new(seed, None, is_lockstep).unwrap(),
            folder: tempfile::tempdir().unwrap(),
        };
        case.job.write(case.folder.path()).unwrap();
        case
    }

    fn traces(&self) -> PathBuf {
        self.folder.path().join("traces")
    }

    fn injected(&self, key: &str) -> &Value {
        &self.job.truth[key]
    }

    /// What a command line must say about the model that ran.
    fn request(&self) -> ModelRequest {
        ModelRequest {
            model: Some(self.folder.path().join("config.json")),
            hardware: self.injected("hardware").as_str().map(str::to_owned),
            tp: self.injected("tp").as_u64(),
            context: self.injected("context").as_u64(),
            batch: self.injected("batch").as_u64(),
            ..ModelRequest::default()
        }
    }
}

fn analyze(input: &Path, model: &ModelRequest) -> Result<Value, Error> {
    let (notes, observer) = (Notes::default(), Unobserved::shared());
    let input = open_input(&[input.to_owned()], &ReadOptions::default(), &notes, &observer)?;
    let analysis = rooflens_core::analyze(&input, &notes, model, None, &observer)?;
    let text = serde_json::to_string(&AnalysisDocument(&analysis.findings)).unwrap();
    Ok(serde_json::from_str(&text).unwrap())
}

/// The same, if it must succeed.
#[track_caller]
fn report(input: &Path, model: &ModelRequest) -> Value {
    analyze(input, model).unwrap_or_else(|error| panic!("cannot be analyzed: {error}"))
}

#[track_caller]
fn rows(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("expected a list, got {value}"))
}

#[track_caller]
fn integer(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("expected an integer, got {value}"))
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("expected a number, got {value}"))
}

#[track_caller]
fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("expected a string, got {value}"))
}

/// Nanoseconds of each line of a ledger, or of a phase of it.
fn by_line(lines: &Value) -> BTreeMap<&str, i64> {
    rows(lines).iter().map(|row| (string(&row["line"]), integer(&row["ns"]))).collect()
}

struct Shares {
    tolerance: f64,
    compared: usize,
    off: Vec<String>,
}

impl Shares {
    fn within(tolerance: f64) -> Self {
        Shares { tolerance, compared: 0, off: Vec::new() }
    }

    fn compare(&mut self, what: &str, got_ns: f64, injected_ns: f64, wall_ns: f64) {
        self.compared += 1;
        let off = (got_ns - injected_ns).abs() / wall_ns;
        if off > self.tolerance {
            self.off.push(format!(
                "{what}: got {got_ns} ns, injected {injected_ns} ns, {:.3} % of {wall_ns} ns apart",
                off * 100.0
            ));
        }
    }

    /// Fails if a share is off; returns how many were compared.
    #[track_caller]
    fn finish(self) -> usize {
        assert!(
            self.off.is_empty(),
            "shares differ by more than {}:\n{}",
            self.tolerance,
            self.off.join("\n")
        );
        self.compared
    }
}
