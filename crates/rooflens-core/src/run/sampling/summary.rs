//! What the samples of a run come to, from what stands in its folder: so that a report that is made again
//! says the same.

use rooflens_analyze::sampled::{CounterSubject, Sampled, SampledRun, StepParts, sampled};
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::{CounterStep, Counters};

use super::super::workload;
use super::parts;
use super::record::{SampledSubject, SamplerRecord};

/// What was sampled in a run, or why nothing was.
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

fn with_reasons(subject: &SampledSubject, record: &SamplerRecord) -> CounterSubject {
    let own = record.reasons.iter().filter(|reason| reason.device == subject.device);
    CounterSubject {
        source: subject.source,
        device: subject.device,
        name: subject.name.clone(),
        reasons: own.map(|reason| (reason.column.clone(), reason.reason.clone())).collect(),
    }
}
