//! A step that warms up, in the recording.

use crate::advice::{AdviceKind, Case, Draft, Rule};
use crate::analyses::{ApiStat, Launches};
use crate::sentence::{percent, things, time};

/// The rule.
pub(super) struct WarmupStep;

/// Calls that load code onto the device, which happens once.
const LOADS: &[&str] = &["ModuleLoad", "LibraryLoad", "LinkCreate", "LinkComplete"];
/// A part of the phase that is worth a word.
const WORTH_A_WORD: f64 = 0.05;
/// From this part of the phase on, its time says little of the run.
const DOMINATES: f64 = 0.5;

impl Rule for WarmupStep {
    fn name(&self) -> &'static str {
        "warmup_step"
    }
    fn about(&self) -> &'static str {
        "Calls that load kernels onto the device (cuModuleLoadData, cuLibraryLoadData, hipModuleLoad …) for 5 % or more \
         of the whole time: the first step of each shape was recorded. It has no gain: later steps do not load anything."
    }
    fn kind(&self) -> AdviceKind {
        AdviceKind::Recording
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        // Calls are counted over the whole trace: the phase with the most time speaks.
        let is_first = case
            .ledger
            .phases
            .iter()
            .all(|other| other.wall_ns <= case.phase.wall_ns || other.activities == 0);
        let Some(launches) = case.findings.get::<Launches>().filter(|_| is_first && case.is_device()) else {
            return Ok(None);
        };
        let is_load = |call: &&ApiStat| LOADS.iter().any(|word| call.name.contains(word));
        let loads: Vec<&ApiStat> = launches.calls.iter().filter(is_load).collect();
        let ns: f64 = loads.iter().map(|call| call.total_ns as f64).sum();
        let share = ns / case.judged_ns();
        if share.is_nan() || share < WORTH_A_WORD {
            return Ok(None);
        }
        Ok(Some(Draft {
            title: "Record after a warm-up: kernels were loaded while the trace was taken".to_owned(),
            gain_ns: None,
            acts_on_ns: ns,
            evidence: loads
                .iter()
                .take(3)
                .map(|call| {
                    let calls = things(call.count as i64, "call", "calls");
                    format!("`{}`: {} in {calls} ({} of the trace)", call.name, time(call.total_ns as f64), percent(share))
                })
                .collect(),
            computed: "a step that is run again does not load its kernels again".to_owned(),
            change: "Run a few steps of each shape first: torch.profiler.schedule(wait=1, warmup=3, active=…), or start the \
                     profiler of the server after some requests"
                .to_owned(),
            risk: "The first requests of a new server do pay for it: warm it up before it takes load.".to_owned(),
            comes_first: share >= DOMINATES,
        }))
    }
}
