//! Device and host, sampled while the steps of a run go on.
//!
//! * [`Sampling`]: takes the samples. Whatever fails here is a note: a run is worth something without them.
//! * [`record`]: what is kept of them: `tables/counters.parquet`, `report/nvml.csv`, `raw/sampler/`.
//! * [`of_run`]: what they come to, from what a run's folder holds, so that a report that is made again says the same.

mod parts;
mod record;

use std::cell::RefCell;
use std::fs::File;
use std::time::Duration;

use rooflens_analyze::sampled::{CounterSubject, Sampled, SampledRun, StepParts, sampled};
use rooflens_collect::execute::{StepObserver, StopRequest, WorkloadEvent};
use rooflens_collect::plan::{PlannedStep, RunStage};
use rooflens_collect::sample::source::Subject;
use rooflens_collect::sample::{Sampler, SamplingOutcome, SamplingSettings, Source, Watched};
use rooflens_collect::settings;
use rooflens_ingest::formats::workload::ClockReading;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{CounterSource, CounterStep, Counters};
use rooflens_schema::{Notes, RunDir, Severity, Stage};

use self::record::SampledStep;
pub(crate) use self::record::{SamplerRecord, clock_base};
use super::workload;
use crate::environment;

pub(crate) struct Sampling {
    interval: Duration,
    watched: Watched,
    sources: RefCell<Vec<Box<dyn Source>>>,
    rows: RefCell<Counters>,
    record: RefCell<SamplerRecord>,
}

impl Sampling {
    /// Opens what can be sampled, where that is wanted.
    pub(crate) fn open(wanted: Option<settings::SamplerSettings>) -> Self {
        let watched = Watched::default();
        let interval = Duration::from_millis(wanted.map_or(0, |wanted| wanted.interval_ms));
        let mut record = SamplerRecord::new(interval);
        let mut sources = Vec::new();
        match wanted {
            None => record.off = Some("sampler.enable is false".to_owned()),
            Some(_) => {
                let library = environment::nvml_library();
                for opened in
                    keeping_low_free(|| rooflens_collect::sample::open(library.as_deref(), &watched))
                {
                    match opened.source {
                        Ok(source) => sources.push(source),
                        Err(missing) => record.miss(opened.name, &missing),
                    }
                }
                record.subjects = sources.iter().flat_map(|source| source.subjects()).collect();
            }
        }
        let rows = RefCell::new(Counters::default());
        Sampling { interval, watched, sources: RefCell::new(sources), rows, record: RefCell::new(record) }
    }

    /// Does the work of a step, and samples from the start of its process to its end.
    pub(crate) fn during<T>(
        &self,
        step: &PlannedStep,
        watch: &dyn StepObserver,
        notes: &Notes,
        work: impl FnOnce(&dyn StepObserver) -> T,
    ) -> T {
        let watching = Watching { watch, sampling: self, going: RefCell::new(None), notes };
        let done = work(&watching);
        if let Some(sampler) = watching.going.into_inner() {
            self.take(step, sampler.stop(), notes);
        }
        done
    }

    /// Writes what was sampled. The tables of the trace must be there already: their clock counts.
    pub(crate) fn save(&self, run: &RunDir, notes: &Notes) {
        let (mut rows, mut record) = (self.rows.borrow_mut(), self.record.borrow_mut());
        if let Err(error) = record.save(run, &mut rows) {
            let message = format!("samples are missing: {error}");
            notes.add(Stage::Collect, Severity::Warning, "sampler_failed", "", message);
        }
    }

    fn start(&self) -> std::io::Result<Option<Sampler>> {
        let sources = std::mem::take(&mut *self.sources.borrow_mut());
        if sources.is_empty() {
            return Ok(None);
        }
        let settings = SamplingSettings { interval: self.interval, ..SamplingSettings::default() };
        Sampler::start(settings, sources).map(Some)
    }

    fn take(&self, step: &PlannedStep, outcome: SamplingOutcome, notes: &Notes) {
        let SamplingOutcome { rows: mut last, tally, notes: told, timeline, sources } = outcome;
        let mut rows = self.rows.borrow_mut();
        rows.append(&mut last);
        let (from, to) = (rows.step.iter().filter(|step| **step != CounterStep::None).count(), rows.len());
        rows.step[from..to].fill(counter_step(step.stage));
        let mut record = self.record.borrow_mut();
        record.steps.push(SampledStep {
            step: step.name.clone(),
            clock: ClockReading {
                monotonic_ns: timeline.anchor.monotonic_ns,
                unix_ns: timeline.anchor.unix_ns,
            },
            tally: tally.into(),
        });
        record.reasons = sources.iter().flat_map(|source| source.reasons()).collect();
        *self.sources.borrow_mut() = sources;
        for note in told {
            // The samples of a run that lost some are still those of a whole run.
            let severity = note.severity.min(Severity::Warning);
            notes.add_many(note.stage, severity, &note.code, &step.name, note.count, note.message);
        }
    }
}

/// Opens something whose files stay open, and leaves it no descriptor of one digit: these are all that a
/// plain shell can write to, and a workload is told of its events' pipe by number.
fn keeping_low_free<T>(open: impl FnOnce() -> T) -> T {
    let kept: Vec<File> = (0..10).filter_map(|_| File::open("/dev/null").ok()).collect();
    let opened = open();
    drop(kept);
    opened
}

/// Passes on what happens, starts sampling with the process, and keeps what was sampled so far.
struct Watching<'a> {
    watch: &'a dyn StepObserver,
    sampling: &'a Sampling,
    going: RefCell<Option<Sampler>>,
    notes: &'a Notes,
}

impl StepObserver for Watching<'_> {
    fn started(&self, process: u32) {
        self.sampling.watched.watch(process);
        match self.sampling.start() {
            Ok(sampler) => *self.going.borrow_mut() = sampler,
            Err(error) => {
                let message = format!("sampling cannot begin: {error}");
                self.notes.add(Stage::Collect, Severity::Warning, "sampler_failed", "", message);
            }
        }
        self.watch.started(process);
    }

    fn event(&self, step: &PlannedStep, event: &WorkloadEvent) {
        self.watch.event(step, event);
    }

    fn stop_request(&self) -> StopRequest {
        self.watch.stop_request()
    }

    fn tick(&self) {
        if let Some(sampler) = &*self.going.borrow() {
            while let Some(mut rows) = sampler.next(Duration::ZERO) {
                self.sampling.rows.borrow_mut().append(&mut rows);
                sampler.give_back(rows);
            }
        }
        self.watch.tick();
    }
}

fn counter_step(stage: RunStage) -> CounterStep {
    match stage {
        RunStage::Measure => CounterStep::Measure,
        RunStage::TorchProfiler => CounterStep::TorchProfiler,
        RunStage::Nsys => CounterStep::Nsys,
        RunStage::Ncu => CounterStep::Ncu,
        RunStage::CublasLog => CounterStep::CublasLog,
        RunStage::DirectInference => CounterStep::DirectInference,
        // It starts no process, so it is never sampled.
        RunStage::StaticAnalysis => CounterStep::None,
    }
}

pub(crate) fn of_run(run: &RunDir) -> Result<Sampled, String> {
    let Some(record) = SamplerRecord::read(run) else { return Err("nothing was sampled".to_owned()) };
    if let Some(off) = record.off {
        return Err(off);
    }
    let path = run.table("counters");
    if !path.is_file() {
        let why = record.missing.into_values().collect::<Vec<String>>().join("; ");
        return Err(if why.is_empty() { "no sample was taken".to_owned() } else { why });
    }
    let counters: Counters = read_table(&path).map_err(|error| error.to_string())?;
    let known = |name: &str| CounterStep::ALL.iter().copied().find(|step| step.as_str() == name);
    let steps = record.steps.iter().filter_map(|step| {
        let ran = workload::of_step(run, &step.step);
        Some(StepParts { step: known(&step.step)?, parts: parts::of_step(ran, record.base_unix_ns) })
    });
    Ok(sampled(&SampledRun {
        counters: &counters,
        interval_ns: record.interval_ns,
        base_unix_ns: record.base_unix_ns,
        subjects: record.subjects.iter().map(|subject| with_reasons(subject, &record)).collect(),
        steps: steps.collect(),
        throttle: rooflens_collect::sample::throttle::names,
        missing: record.missing.clone(),
    }))
}

fn with_reasons(subject: &Subject, record: &SamplerRecord) -> CounterSubject {
    let is_host = subject.source == CounterSource::Host.as_str();
    let own = record.reasons.iter().filter(|reason| reason.device == subject.device);
    CounterSubject {
        source: if is_host { CounterSource::Host } else { CounterSource::Device },
        device: subject.device,
        name: subject.name.clone(),
        reasons: own.map(|reason| (reason.column.to_string(), reason.reason.clone())).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_one_name_everywhere() {
        for stage in RunStage::ALL.iter().filter(|stage| **stage != RunStage::StaticAnalysis) {
            assert_eq!(counter_step(*stage).as_str(), stage.name());
        }
    }
}
