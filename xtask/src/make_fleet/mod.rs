//! A fleet with planted truth: a store of many runs that never ran, and the rows that every named query has to give.
//!
//! Times are drawn as real ones are spread, so no two runs are equal; a bad build, slow ranks, a throttled node, a
//! renamed kernel and a version with more launches are planted. While runs are made, whole numbers are summed up in
//! plain Rust; the truth that is written at the end shares no code with the store's roll-ups, nor with any SQL.

mod expected;
mod kernels;
mod plan;
mod requests;
mod run;
mod truth;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, anyhow};
use rooflens_schema::RunDir;
use rooflens_store::{AddOptions, Store};

use crate::random::Random;
use plan::RunPlan;
use run::RunSummary;

/// The kernel whose percentiles are part of the truth.
const TIMED_KERNEL: &str = kernels::DECODE_ATTENTION;

/// What to make.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The store: a folder, or an address as `s3://bucket/prefix`.
    #[arg(long, value_name = "DIR")]
    store: String,
    /// Runs to add.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    runs: u64,
    /// Rows of the table `kernels` in each run.
    #[arg(long, value_name = "M", default_value_t = 50_000)]
    rows_per_run: usize,
    /// Days that the runs are spread over.
    #[arg(long, value_name = "D", default_value_t = 28)]
    days: u64,
    /// The same seed makes the same rows.
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// The file for what was planted, as JSON.
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// Threads that make runs.
    #[arg(long, value_name = "T", default_value_t = 2)]
    threads: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let next = AtomicU64::new(0);
    let done = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        let worker = || -> Result<()> {
            let store = Store::open(&arguments.store)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let scratch = tempfile::tempdir().context("a folder for one run cannot be made")?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= arguments.runs {
                    return Ok(());
                }
                let plan = plan::plan(number, arguments.runs, arguments.days);
                let summary = add(arguments, &store, &runtime, scratch.path(), plan)?;
                let mut done = done.lock().map_err(|_| anyhow!("another thread failed"))?;
                done.insert(number, summary);
                if done.len() % 100 == 0 {
                    println!("{} of {} runs", done.len(), arguments.runs);
                }
            }
        };
        let workers: Vec<_> = (0..arguments.threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("a thread failed"))?)
    })?;
    let runs: Vec<RunSummary> =
        done.into_inner().map_err(|_| anyhow!("a thread failed"))?.into_values().collect();
    let truth = truth::truth(&runs, arguments.rows_per_run);
    std::fs::write(&arguments.truth, format!("{truth}\n"))
        .with_context(|| format!("{} cannot be written", arguments.truth.display()))
}

fn add(
    arguments: &Arguments,
    store: &Store,
    runtime: &tokio::runtime::Runtime,
    scratch: &Path,
    plan: RunPlan,
) -> Result<RunSummary> {
    let folder = RunDir::new(scratch.join("run"));
    let mut set = BTreeMap::from([("node".to_owned(), plan.node.clone())]);
    set.extend(plan.label.map(|label| ("label".to_owned(), label.to_owned())));
    let options = AddOptions {
        tenant: plan.tenant.to_owned(),
        set,
        now_unix_ns: plan.start_unix_ns + 3_600_000_000_000,
        ..AddOptions::default()
    };
    let summary = run::make(plan, arguments.rows_per_run, arguments.seed, &folder)?;
    runtime.block_on(store.add(&folder, &options))?;
    std::fs::remove_dir_all(folder.root()).context("the folder of a run cannot be removed")?;
    Ok(summary)
}

pub(crate) struct Draw(Random);

impl Draw {
    fn new(seed: u64, stream: u64) -> Self {
        Draw(Random::new(seed, stream))
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.between(low, high)
    }

    fn bits(&mut self) -> u64 {
        self.0.between(0, u32::MAX.into()) as u64 | (self.0.between(0, u32::MAX.into()) as u64) << 32
    }

    /// A factor around 1: log-normal with this deviation (Box and Muller 1958).
    fn log_normal(&mut self, deviation: f64) -> f64 {
        let radius = (-2.0 * (1.0 - self.0.fraction()).ln()).sqrt();
        (deviation * radius * (std::f64::consts::TAU * self.0.fraction()).cos()).exp()
    }
}
