//! What did the host do while devices waited for it?

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashSet};

use rooflens_schema::tables::{ApiKind, GapCause, PhaseKind};
use rooflens_schema::{NameId, RankTables};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::OUTSIDE;
use crate::by_name::FastMap;
use crate::facts::{CallsById, SLOW_LAUNCH_NS, launches_work};
use crate::finding::{Analysis, Finding, FindingType, Findings, Fold};
use crate::interval::{self, Interval, merge, rows_of, span};

/// What the launching threads did in launch-bound and CPU-bound idle time, by phase, most idle time first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct LateHost(pub Vec<LatePhase>);

/// The same in one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LatePhase {
    /// What its steps do; `outside` is what belongs to no step.
    pub(crate) phase: Cow<'static, str>,
    /// Launch-bound idle time.
    pub(crate) launch_bound_ns: i64,
    /// The part of it in which the launching thread was in a framework operator or a launching call.
    pub(crate) launch_bound_in_operators_ns: i64,
    /// CPU-bound idle time.
    pub(crate) cpu_bound_ns: i64,
    /// The part of it in which the launching thread was in a framework operator or a launching call.
    pub(crate) cpu_bound_in_operators_ns: i64,
    /// The part of it in which the launching thread was in one launching call of more than 1 ms: the first launch of a
    /// kernel loads it, or compiles it.
    pub(crate) cpu_bound_in_slow_launches_ns: i64,
    /// Those of these gaps that are longer than 1 ms.
    #[serde(default)]
    pub(crate) cpu_bound_in_long_gaps_ns: i64,
    /// The part of them in which the launching thread was in a framework operator or a launching call.
    #[serde(default)]
    pub(crate) long_gaps_in_operators_ns: i64,
    /// The part of launch-bound and CPU-bound idle time in which the launching thread was in an attention operator of an
    /// engine, as `vllm::unified_attention_with_output`: a piecewise capture leaves these out of its graphs.
    #[serde(default)]
    pub(crate) in_attention_ns: i64,
    /// Python functions that the profiler recorded on launching threads during this idle time.
    pub(crate) python_calls: usize,
    /// Calls on launching threads that waited for the device during the steps.
    #[serde(default)]
    pub(crate) sync_calls: usize,
}

pub(super) const ANALYSIS: Analysis = Analysis {
    name: "late_host",
    question: "What did the host do while devices waited for it?",
    needs: "idle time that waits for the host",
    is_special: true,
    finding: FindingType::list::<LateHost>(),
    start: || Box::new(State::default()),
    explain: "\
Idle time of devices that waited for the host, by phase, most first, and what the thread that ended each gap was
doing. Time inside framework operators and launching calls is the cost of eager execution: a graph replay or a
compiled model avoids it. The rest is Python and other code between operators.

- `launch_bound_ns`, `cpu_bound_ns`: idle time of these causes, as in `gaps`, ns.
- `launch_bound_in_operators_ns`, `cpu_bound_in_operators_ns`: the part of each in which the thread that ended the gap
  was in an operator or a launching call, ns.
- `cpu_bound_in_slow_launches_ns`: the part of cpu_bound_ns in which it was in one launching call of more than 1 ms. The
  first launch of a kernel loads it; later ones do not.
- `cpu_bound_in_long_gaps_ns`, `long_gaps_in_operators_ns`: cpu_bound_ns and cpu_bound_in_operators_ns in gaps of more
  than 1 ms.
- `in_attention_ns`: the part of launch_bound_ns and cpu_bound_ns in which it was in an attention operator of vLLM or
  SGLang (`unified_attention`), ns: a piecewise capture leaves these operators out of its graphs.
- `python_calls`: Python functions recorded on launching threads during this idle time: recording each costs time that a run without the profiler does not have.
- `sync_calls`: calls on launching threads that waited for the device, as `cudaStreamSynchronize`, while steps of the
  phase ran on the host. None can be captured in a graph.
",
};

#[derive(Default)]
struct State {
    phases: BTreeMap<Option<PhaseKind>, LatePhase>,
}

impl Fold for State {
    fn rank(&mut self, tables: &RankTables) {
        let (kernels, api) = (&tables.kernels, &tables.api);
        let is_late = |i: &usize| matches!(kernels.gap_cause[*i], GapCause::LaunchBound | GapCause::CpuBound);
        let gaps: Vec<usize> =
            (0..kernels.len()).filter(|&i| kernels.idle_before_ns[i] > 0).filter(is_late).collect();
        if gaps.is_empty() {
            return;
        }
        let launches = CallsById::new(api);
        let attention = attention_names(tables);
        let mut busy: FastMap<i64, Thread<'_>> = FastMap::default();
        for i in gaps {
            let idle = kernels.idle_before_ns[i];
            let gap = (kernels.ts_ns[i].saturating_sub(idle), kernels.ts_ns[i]);
            let thread = kernels.corr_id[i].get().and_then(|id| launches.get(id)).map(|call| api.tid[call]);
            let thread =
                thread.map(|tid| &*busy.entry(tid).or_insert_with(|| Thread::of(tables, tid, &attention)));
            let (inside, slow) =
                thread.map_or((0, 0), |thread| (thread.busy.within(gap), thread.slow_launches.within(gap)));
            let sum = self.phases.entry(tables.phase_kind(kernels.phase_id[i].get())).or_default();
            let in_attention = thread.map_or(0, |thread| thread.attention.within(gap));
            let add = |sum: &mut i64, ns: i64| *sum = sum.saturating_add(ns);
            add(&mut sum.in_attention_ns, in_attention);
            if kernels.gap_cause[i] == GapCause::LaunchBound {
                add(&mut sum.launch_bound_ns, idle);
                add(&mut sum.launch_bound_in_operators_ns, inside);
            } else {
                add(&mut sum.cpu_bound_ns, idle);
                add(&mut sum.cpu_bound_in_operators_ns, inside);
                add(&mut sum.cpu_bound_in_slow_launches_ns, slow);
                if idle > SLOW_LAUNCH_NS {
                    add(&mut sum.cpu_bound_in_long_gaps_ns, idle);
                    add(&mut sum.long_gaps_in_operators_ns, inside);
                }
            }
            sum.python_calls += thread.map_or(0, |thread| thread.python_calls(gap));
        }
        for (kind, sum) in &mut self.phases {
            let steps = steps(tables, *kind);
            sum.sync_calls += busy.keys().map(|tid| syncs(tables, *tid, &steps)).sum::<usize>();
        }
    }

    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        let row = |(kind, sum): (Option<PhaseKind>, LatePhase)| LatePhase {
            phase: kind.map_or(OUTSIDE, |kind| kind.as_str()).into(),
            ..sum
        };
        let mut rows: Vec<LatePhase> = self.phases.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.launch_bound_ns.saturating_add(row.cpu_bound_ns)));
        (!rows.is_empty()).then(|| Box::new(LateHost(rows)) as Box<dyn Finding>)
    }
}

struct Thread<'a> {
    functions: &'a [i64],
    busy: Busy,
    slow_launches: Busy,
    attention: Busy,
}

impl<'a> Thread<'a> {
    fn of(tables: &'a RankTables, tid: i64, attention: &HashSet<NameId>) -> Self {
        let (ops, api) = (&tables.ops, &tables.api);
        let operators = rows_of(&ops.tid, tid).map(|i| span(ops.ts_ns[i], ops.dur_ns[i]));
        let calls = rows_of(&api.tid, tid).filter(|&i| launches_work(api.kind[i]));
        let calls: Vec<Interval> = calls.map(|i| span(api.ts_ns[i], api.dur_ns[i])).collect();
        let slow = calls.iter().copied().filter(|call| interval::length(*call) > SLOW_LAUNCH_NS).collect();
        let rows = rows_of(&ops.tid, tid).filter(|&i| attention.contains(&ops.name_id[i]));
        let attention = rows.map(|i| span(ops.ts_ns[i], ops.dur_ns[i])).collect();
        Thread {
            functions: &tables.frames.ts_ns[rows_of(&tables.frames.tid, tid)],
            busy: Busy::of(operators.chain(calls).collect()),
            slow_launches: Busy::of(slow),
            attention: Busy::of(attention),
        }
    }

    fn python_calls(&self, (start, end): Interval) -> usize {
        let before = |moment: i64| self.functions.partition_point(|&began| began < moment);
        before(end).saturating_sub(before(start))
    }
}

/// Operators at which engines split a model that they capture piecewise (vLLM: `CompilationConfig.splitting_ops`).
fn attention_names(tables: &RankTables) -> HashSet<NameId> {
    let is_one = |name: &str| name.contains("::unified_") && name.contains("attention");
    tables.names.iter().filter(|(_, name)| is_one(name)).map(|(id, _)| id).collect()
}

/// When a thread was in some calls.
struct Busy {
    merged: Vec<Interval>,
    /// Where the last answer began: gaps come in order of time.
    asked: Cell<usize>,
}

impl Busy {
    fn of(calls: Vec<Interval>) -> Busy {
        Busy { merged: merge(calls), asked: Cell::new(0) }
    }

    fn within(&self, (start, end): Interval) -> i64 {
        let first = interval::partition_near(&self.merged, self.asked.get(), |call| call.1 <= start);
        self.asked.set(first);
        let calls = self.merged[first..].iter().take_while(|call| call.0 < end);
        calls.fold(0, |sum, call| sum.saturating_add(call.1.min(end).saturating_sub(call.0.max(start))))
    }
}

/// Rows of a thread in a table that is sorted by thread.
/// The host's time in steps of a kind; all time where steps have none.
fn steps(tables: &RankTables, kind: Option<PhaseKind>) -> Vec<Interval> {
    let phases = &tables.phases;
    let Some(kind) = kind else { return vec![(i64::MIN, i64::MAX)] };
    let rows = (0..phases.len()).filter(|&i| phases.kind[i] == kind);
    merge(rows.map(|i| span(phases.ts_ns[i], phases.dur_ns[i])).collect())
}

fn syncs(tables: &RankTables, tid: i64, within: &[Interval]) -> usize {
    let api = &tables.api;
    let rows = rows_of(&api.tid, tid).filter(|&i| api.kind[i] == ApiKind::Sync);
    let is_within = |moment: i64| {
        let next = within.partition_point(|step| step.1 <= moment);
        within.get(next).is_some_and(|step| step.0 <= moment)
    };
    rows.filter(|&i| is_within(api.ts_ns[i])).count()
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::PhaseSource;

    use super::*;
    use crate::sample::{Sample, findings};

    #[test]
    fn operators_are_told_from_code_between_them() {
        // The device waits [10,110) µs; its thread is in mm [20,70), in attention [75,80), in a launch [100,110), in
        // two functions. It waits for the device twice, once after the step; another thread does as well.
        let mut sample = Sample::new(0);
        sample.phase(0, 200_000, "step[EXTEND]", PhaseKind::Prefill, PhaseSource::Engine);
        sample.op((1, 20_000, 50_000), "aten::mm", None, (50_000, 0), None);
        sample.op((1, 30_000, 10_000), "aten::t", Some(0), (10_000, 0), None);
        sample.op((1, 75_000, 5_000), "vllm::unified_attention_with_output", None, (5_000, 0), None);
        sample.api(1, 100_000, 10_000, "cudaLaunchKernel", ApiKind::Launch, Some(5));
        sample.api(1, 150_000, 10_000, "cudaStreamSynchronize", ApiKind::Sync, None);
        sample.api(1, 250_000, 10_000, "cudaStreamSynchronize", ApiKind::Sync, None);
        sample.api(2, 50_000, 10_000, "cudaStreamSynchronize", ApiKind::Sync, None);
        sample.frame(1, 0, 90_000, "model.py(1): forward").frame(1, 15_000, 60_000, "model.py(9): mlp");
        sample.frame(1, 300_000, 10, "after.py(1): all").frame(2, 0, 90_000, "other.py(1): thread");
        sample.kernel(0, 7, 0, 10_000, "a", "gemm").in_phase(0);
        sample.kernel(0, 7, 110_000, 10_000, "a", "gemm").in_phase(0).launched(5, 0, 0);
        sample.idle(100_000, GapCause::CpuBound);
        let found = findings(&[sample.tables]);
        let LateHost(rows) = found.get::<LateHost>().expect("a gap");
        assert_eq!(
            rows,
            &[LatePhase {
                phase: "prefill".into(),
                launch_bound_ns: 0,
                launch_bound_in_operators_ns: 0,
                cpu_bound_ns: 100_000,
                cpu_bound_in_operators_ns: 65_000,
                cpu_bound_in_slow_launches_ns: 0,
                cpu_bound_in_long_gaps_ns: 0,
                long_gaps_in_operators_ns: 0,
                in_attention_ns: 5_000,
                python_calls: 1,
                sync_calls: 1,
            }]
        );
    }

    #[test]
    fn a_launch_that_loads_its_kernel_is_told_apart() {
        // The device waits [10 µs, 5.01 ms), all but the first 10 µs of it inside one launch.
        let mut sample = Sample::new(0);
        sample.api(1, 20_000, 4_990_000, "hipLaunchKernel", ApiKind::Launch, Some(5));
        sample.kernel(0, 7, 0, 10_000, "a", "gemm");
        sample.kernel(0, 7, 5_010_000, 10_000, "a", "gemm").launched(5, 0, 0);
        sample.idle(5_000_000, GapCause::CpuBound);
        let found = findings(&[sample.tables]);
        let LateHost(rows) = found.get::<LateHost>().expect("a gap");
        assert_eq!((rows[0].cpu_bound_ns, rows[0].cpu_bound_in_slow_launches_ns), (5_000_000, 4_990_000));
        assert_eq!(rows[0].cpu_bound_in_operators_ns, 4_990_000);
        let long = (rows[0].cpu_bound_in_long_gaps_ns, rows[0].long_gaps_in_operators_ns);
        assert_eq!(long, (5_000_000, 4_990_000));
    }
}
