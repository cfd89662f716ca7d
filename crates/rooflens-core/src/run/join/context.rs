//! What a run tells besides its trace: the model and its steps for the ledger's floor, and what rules of advice
//! ask for.

use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{Padding, RunContext, UnprofiledSteps};
use rooflens_analyze::analyses::Ledger;
use rooflens_analyze::compare::headline::MEASURED;
use rooflens_analyze::sampled::WHOLE;
use rooflens_collect::RunStage;
use rooflens_schema::RunDir;
use rooflens_schema::tables::{PhaseKind, Steps};
use serde_json::Value as Json;

use super::super::config;
use super::super::metrics::Spread;
use super::super::sampling;
use super::super::workload::{self, steps_of};
use super::profiled_round;
use crate::error::Error;
use crate::model::{ModelContext, ModelRecord, Passes, ToldShapes, kind_of};

const PHASES: [PhaseKind; 3] = [PhaseKind::Prefill, PhaseKind::Decode, PhaseKind::Mixed];

/// Gives the ledger of a run its lower bounds, as far as the run tells.
pub(crate) fn join_floor(
    run: &RunDir,
    record: Result<&ModelRecord, String>,
    findings: &mut Findings,
    is_trusted: bool,
) -> Result<Option<ModelContext>, Error> {
    let Some(ledger) = findings.get_mut::<Ledger>() else { return Ok(None) };
    let joined = record.and_then(|record| joined(run, record, ledger));
    // A run knows its own model: what its kernels are called proves nothing against it.
    ModelContext::give(joined, ledger, is_trusted)
}

fn joined(run: &RunDir, record: &ModelRecord, ledger: &Ledger) -> Result<ModelContext, String> {
    let known = record.resolve()?;
    let mut passes = Passes::new();
    for one in profiled_round(run)? {
        let Some(kind) = kind_of(one.shape.phase.as_str()) else { continue };
        passes.entry(kind).or_default().push(one);
    }
    // Steps that the trace lacks would make the floor too high for what is there.
    passes.retain(|kind, ran| ledger.phase(kind.as_str()).is_some_and(|phase| phase.steps == ran.len()));
    if passes.is_empty() {
        return Err("the trace does not have the steps of steps.csv".to_owned());
    }
    Ok(ModelContext { known, passes, told: ToldShapes::new() })
}

/// What rules of advice ask for besides the trace, without the model.
pub(crate) fn context(run: &RunDir) -> RunContext {
    let profiled = run.raw(RunStage::TorchProfiler.name());
    let told = crate::saved::read_json(&profiled.join("workload.json"));
    let threads = told.get("threads").and_then(Json::as_u64);
    RunContext {
        runtime: config::word(run, "runtime.name"),
        unprofiled: unprofiled(&workload::measured(run).steps),
        threads: threads.zip(processors(run)),
        is_compiled: config::flag(run, "runtime.compile"),
        throttled: throttled(run),
        padding: padding(&workload::of_stage(run, RunStage::TorchProfiler).steps),
        alternatives: Vec::new(),
        peaks: None,
    }
}

fn unprofiled(steps: &Steps) -> Vec<UnprofiledSteps> {
    let steps = steps_of(steps, MEASURED);
    let of_phase = |phase: PhaseKind| {
        let rows = steps.iter().filter(|row| row.phase == phase);
        let spread = Spread::of(rows.map(|row| row.dur_ns as f64).collect())?;
        Some(UnprofiledSteps { phase: phase.as_str(), step_ns: spread.p50 })
            .filter(|found| found.step_ns > 0.0)
    };
    PHASES.into_iter().filter_map(of_phase).collect()
}

/// Processors that the run could use: as it was told when it was made, else those of this machine.
fn processors(run: &RunDir) -> Option<u64> {
    let told = crate::saved::read_json(&run.report().join("env.json"));
    let told = told.pointer("/cpu/usable_threads").and_then(Json::as_u64);
    told.or_else(|| std::thread::available_parallelism().ok().map(|count| count.get() as u64))
}

/// The reasons that devices gave for low clocks in the measured pass, each with its largest share. An idle device
/// lowers its clocks as well: that is no loss.
fn throttled(run: &RunDir) -> Vec<(String, f64)> {
    let Ok(sampled) = sampling::of_run(run) else { return Vec::new() };
    let mut found: BTreeMap<String, f64> = BTreeMap::new();
    let parts = sampled.steps.iter().filter(|step| step.step.as_str() == RunStage::Measure.name());
    let parts = parts.flat_map(|step| &step.parts).filter(|part| part.part == WHOLE);
    for reason in parts.flat_map(|part| &part.subjects).flat_map(|subject| subject.throttle.iter().flatten())
    {
        if !reason.reason.contains("idle") {
            let most = found.entry(reason.reason.clone()).or_default();
            *most = most.max(reason.share);
        }
    }
    found.into_iter().collect()
}

/// Tokens of each phase that were needed and that went through the model.
fn padding(steps: &Steps) -> Vec<Padding> {
    let steps = steps_of(steps, "profiled");
    let of_phase = |phase: PhaseKind| {
        let (mut needed, mut computed) = (0_u64, 0_u64);
        for row in steps.iter().filter(|row| row.phase == phase) {
            let prompts = row.prompts.as_deref().unwrap_or_default().split_whitespace();
            let read: u64 = prompts.filter_map(|word| word.split_once('@')?.0.parse::<u64>().ok()).sum();
            let decoded = row.decode_tokens.get()?.unsigned_abs();
            needed = needed.saturating_add(read).saturating_add(decoded);
            computed = computed.saturating_add(row.computed_tokens.get()?.unsigned_abs());
        }
        Some(Padding { phase: phase.as_str(), needed, computed }).filter(|padding| padding.needed > 0)
    };
    PHASES.into_iter().filter_map(of_phase).collect()
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::StepRow;

    use super::*;

    #[test]
    fn padding_of_a_ragged_batch() {
        let steps = |rows: &[(PhaseKind, &str, i64, Option<i64>)]| {
            let mut steps = Steps::default();
            for (phase, prompts, decode_tokens, computed) in rows.iter().copied() {
                steps.push(StepRow {
                    round_kind: Some("profiled".to_owned()),
                    prompts: Some(prompts.to_owned()).filter(|prompts| !prompts.is_empty()),
                    decode_tokens: Opt::some(decode_tokens),
                    computed_tokens: computed.into(),
                    ..StepRow::new(0, phase, 70)
                });
            }
            steps
        };
        let rows =
            steps(&[(PhaseKind::Prefill, "5@0 3@0", 0, Some(10)), (PhaseKind::Decode, "", 2, Some(2))]);
        let expected = [("prefill", 8, 10), ("decode", 2, 2)];
        let found = padding(&rows);
        let found: Vec<_> = found.iter().map(|one| (one.phase, one.needed, one.computed)).collect();
        assert_eq!(found, expected);
        // Where a step does not tell, nobody knows.
        assert_eq!(padding(&steps(&[(PhaseKind::Decode, "", 2, None)])), []);
    }
}
