//! What is kept of the samples of a run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::Duration;

use rooflens_collect::RunStage;
use rooflens_collect::sample::csv::{Columns, CsvWriter};
use rooflens_collect::sample::source::{Reason, Subject};
use rooflens_collect::sample::{BeatTally, Missing};
use rooflens_ingest::formats::workload::{ClockReading, read_events};
use rooflens_schema::parquet_io::{read_table, write_table};
use rooflens_schema::tables::{CounterSource, Counters, Runs};
use rooflens_schema::{Notes, RunDir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::disk;
use crate::error::Error;

/// `raw/sampler/sampler.json`: what the samples do not tell of themselves.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SamplerRecord {
    /// Why nothing was sampled, where that was so.
    pub(crate) off: Option<String>,
    /// From one sample to the next.
    pub(crate) interval_ns: i64,
    /// The time of day that is 0 in `counters`.
    pub(crate) base_unix_ns: i64,
    /// What was sampled.
    pub(crate) subjects: Vec<Subject>,
    /// What could not be, and why.
    pub(crate) missing: BTreeMap<String, String>,
    /// Columns that stayed null, and why.
    pub(crate) reasons: Vec<Reason>,
    /// The steps that were sampled, in order.
    pub(crate) steps: Vec<SampledStep>,
}

/// A step that was sampled.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SampledStep {
    /// The step.
    pub(crate) step: String,
    /// How the clock of the samples stood to the time of day.
    pub(crate) clock: ClockReading,
    /// How well the sampling interval was kept.
    pub(crate) tally: StepTally,
}

/// How well the sampling interval was kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepTally {
    /// Beats on which samples were taken.
    pub(crate) taken: i64,
    /// Beats that were given up since the machine slept or stood still.
    pub(crate) missed: i64,
    /// Beats that began over half an interval late.
    pub(crate) late: i64,
    /// Part of one core that sampling took.
    pub(crate) core_share: Option<f64>,
}

impl From<BeatTally> for StepTally {
    fn from(tally: BeatTally) -> Self {
        StepTally {
            taken: tally.taken,
            missed: tally.missed,
            late: tally.late,
            core_share: tally.core_share(),
        }
    }
}

impl SamplerRecord {
    pub(crate) fn new(interval: Duration) -> Self {
        let interval_ns = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX);
        SamplerRecord { interval_ns, ..SamplerRecord::default() }
    }

    pub(crate) fn miss(&mut self, source: &str, missing: &Missing) {
        // `nvml` is how devices are asked; what is missing to a reader is the devices.
        let what = if source == "nvml" { "devices" } else { source };
        self.missing.insert(what.to_owned(), missing.fact.clone());
    }

    pub(crate) fn path(run: &RunDir) -> PathBuf {
        run.raw("sampler").join("sampler.json")
    }

    /// That of a run.
    pub(crate) fn read(run: &RunDir) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(Self::path(run)).ok()?).ok()
    }

    /// Writes everything. The rows' times become those since the run's clock base.
    pub(crate) fn save(&mut self, run: &RunDir, rows: &mut Counters) -> Result<(), Error> {
        self.base_unix_ns = clock_base(run).or_else(|| rows.ts_ns.first().copied()).unwrap_or(0);
        for ts_ns in &mut rows.ts_ns {
            *ts_ns = ts_ns.saturating_sub(self.base_unix_ns);
        }
        disk::make(&run.raw("sampler"))?;
        disk::write_json(Self::path(run), self)?;
        if rows.is_empty() {
            return Ok(());
        }
        write_table(run, rows).map_err(Error::unwritable_tables)?;
        if rows.source.contains(&CounterSource::Device) {
            write_csv(run, rows, self.base_unix_ns)?;
        }
        Ok(())
    }
}

/// The clock base of the trace; without one, the moment at which the measured pass said hello.
pub(crate) fn clock_base(run: &RunDir) -> Option<i64> {
    let runs = run.table("runs");
    let trace = runs.is_file().then(|| read_table::<Runs>(&runs).ok()?.row(0)?.base_unix_ns.get()).flatten();
    let step = RunStage::Measure.name();
    let hello = || read_events(&run.raw(step), step, &Notes::default()).clock;
    trace.or_else(|| Some(hello()?.unix_ns))
}

fn write_csv(run: &RunDir, rows: &Counters, base_unix_ns: i64) -> Result<(), Error> {
    disk::make(&run.report())?;
    let path = run.report().join("nvml.csv");
    let written = File::create(&path)
        .and_then(|file| CsvWriter::new(Columns::Nvml, base_unix_ns, BufWriter::new(file))?.write(rows));
    written.map(drop).map_err(|source| Error::unwritable(path, source))
}
