//! A step that warms up, in the recording.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::analyses::{ApiStat, GapHost, Gaps, LateHost, Launches};
use crate::host_kind::HostKind;
use crate::sentence::{percent, things, time};

/// Calls that load code onto the device, which happens once.
const LOADS: &[&str] = &["ModuleLoad", "LibraryLoad", "LinkCreate", "LinkComplete"];
/// Rows of evidence of each kind.
const ROWS: usize = 3;
/// A part of the phase that is worth a word.
const WORTH_A_WORD: f64 = 0.05;
/// From this part of the phase on, its time says little of the run.
const DOMINATES: f64 = 0.5;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "warmup_step",
    about: "Idle time in which the host compiled kernels, captured a graph or was in a launch of more than 1 \
         ms, which loads its kernel, or calls that load kernels (cuModuleLoadData, cuLibraryLoadData, \
         hipModuleLoad …), for at least 5 % of the total time: the first step of each shape was recorded. It \
         has no gain: later steps neither compile nor load anything.",
    kind: AdviceKind::Recording,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    // Calls are counted over the whole trace: the phase with the most time speaks.
    let is_first =
        case.ledger.phases.iter().all(|other| other.wall_ns <= case.phase.wall_ns || other.activities == 0);
    let Some(launches) = case.findings.get::<Launches>().filter(|_| is_first && case.is_device()) else {
        return Ok(None);
    };
    let is_load = |call: &&ApiStat| LOADS.iter().any(|word| call.name.contains(word));
    let loads: Vec<&ApiStat> = launches.calls.iter().filter(is_load).collect();
    let loading: f64 = loads.iter().map(|call| call.total_ns as f64).sum();
    let compiling: Vec<&GapHost> = case
        .findings
        .get::<Gaps>()
        .into_iter()
        .flat_map(|found| &found.0)
        .flat_map(|gap| &gap.hosts)
        .filter(|host| host.kind.is_some_and(HostKind::is_once))
        .collect();
    let idle: f64 = compiling.iter().map(|host| host.idle_ns as f64).sum();
    let late = case.findings.get::<LateHost>().map_or(&[][..], |found| &found.0);
    let slow: f64 = late.iter().map(|row| row.cpu_bound_in_slow_launches_ns as f64).sum();
    // They may stand in the same gaps: the largest of them is sure.
    let ns = loading.max(idle).max(slow);
    let share = ns / case.judged_ns();
    if share.is_nan() || share < WORTH_A_WORD {
        return Ok(None);
    }
    let mut evidence: Vec<String> = compiling
        .iter()
        .filter_map(|host| {
            let gaps = things(host.count as i64, "gap", "gaps");
            Some(format!(
                "idle with the host in `{}`: {} in {gaps}",
                host.name.as_ref()?,
                time(host.idle_ns as f64)
            ))
        })
        .take(ROWS)
        .collect();
    evidence.extend(
        loads
            .iter()
            .take(ROWS)
            .map(|call| case.spent(&call.name, call.total_ns, call.count, ["call", "calls"])),
    );
    if slow > 0.0 {
        evidence.push(format!("idle in single launching calls of more than 1 ms: {}", time(slow)));
    }
    evidence.push(format!("{} of the recorded time", percent(share)));
    let captures = compiling.iter().any(|host| host.kind == Some(HostKind::GraphCapture));
    let compiles = loading > 0.0 || compiling.iter().any(|host| host.kind == Some(HostKind::Compilation));
    let what = match (captures, compiles) {
        (true, true) => "kernels were compiled or loaded and a graph was captured",
        (true, false) => "a graph was captured",
        (false, _) => "kernels were compiled or loaded",
    };
    Ok(Some(Draft {
        title: format!("Record after a warm-up: {what} while the trace was taken"),
        gain_ns: None,
        acts_on_ns: ns,
        evidence,
        computed: "later steps neither compile, load nor capture anything".to_owned(),
        change: "Run a few steps of each shape first: torch.profiler.schedule(wait=1, warmup=3, \
                 active=…), or start the server's profiler after some requests"
            .to_owned(),
        risk: "The first requests to a new server do have this cost: warm it up before it takes \
               load."
            .to_owned(),
        comes_first: share >= DOMINATES,
    }))
}
