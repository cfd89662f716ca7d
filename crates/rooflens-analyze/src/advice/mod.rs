//! What to change, and what it would bring: one rule a file; those that only compare the
//! model with a smaller one are a table in `smaller_model`.
//!
//! A rule looks at a phase of the time ledger, at the other findings and at what is known besides the trace,
//! and answers with the change, the evidence and the time that it would save, as a range: `low` is what the
//! numbers at hand promise, `high` what is left where everything goes well. Nothing is measured here.
//! No gain is larger than the time it acts on, and a range wider than 10:1 is no number: the gain is not known.
//!
//! To add a rule: a file here, a `mod` line and an entry in [`ALL`].

mod attention_kernels;
mod case;
mod chunked_prefill;
mod copy_operators;
mod cuda_graphs;
mod dtype;
mod engine;
mod expert_granularity;
mod fused_attention;
mod fusion;
mod gemm_kernels;
mod host_code;
mod host_copies;
mod larger_batch;
mod model_mismatch;
mod moe_kernels;
mod overlap_communication;
mod padding;
mod pinned_copies;
#[cfg(test)]
mod planted;
mod profiler_overhead;
mod roof;
mod sampler_on_device;
mod small_collectives;
mod smaller_model;
mod straggler;
mod sync;
mod tensor_cores;
mod tensor_parallel;
#[cfg(test)]
mod tests;
mod threads;
mod throttling;
mod tile_fit;
mod warmup_step;

pub use case::{
    AdviceKind, AdviceRule, Alternative, Case, Draft, Padding, Range, RunContext, Slowdown, Tiles,
    UnprofiledSteps,
};

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::analyses::{Launches, Ledger, OUTSIDE, Trace};
use crate::finding::{Analysis, Derived, FindingType, Findings};
use case::is_judged;

/// From this share of the time of all phases that are judged, a gain is worth a line.
const WORTH_A_LINE: f64 = 0.01;
/// A range whose high end is more than this many times its low end says nothing.
const WIDEST: f64 = 10.0;

pub(crate) const ANALYSIS: Analysis = Analysis {
    name: "advice",
    question: "What should be changed, and what is the expected gain?",
    needs: "device activity or operators",
    is_special: false,
    finding: FindingType::object::<AdviceList>(),
    start: || {
        Box::new(Derived(|earlier| {
            earlier.get::<Ledger>()?;
            Some(Box::new(advise(earlier, &RunContext::default())))
        }))
    },
    explain: "\
Rules over the time ledger and the other findings; `rooflens list rules` names them. Each item has the phase that
gains and a range: `low` is supported by the measured numbers, `high` is the best case. Gains are shares of the
phase's time. They overlap; do not add them.

- `items`: first problems of the recording that hide the run, then changes that keep the work the same, changes of
  the work (`same_work` false: a larger batch), other changes of the recording, and changes to the model's design;
  each sorted by gain, by the middle of the range. Gains below 1 % of the total are omitted.
- `kind`: what is changed: `recording`, `deployment`, `kernel`, or `design`, which takes another model.
- `gain_ns`: time saved over all steps of the phase; `gain_share`: the same / the phase's time; `step_gain_ns`: the same
  / steps. Null if the range would be wider than 10:1 or is unknown: `computed` says why.
- `acts_on_ns`: the time that the change affects, an upper bound of the gain.
- `evidence`, `computed`: the rows that support it, and how the gain is computed from them.
- `change`, `risk`: what to do, and what may go wrong.
- `unprofiled`: phases whose steps were also measured without a profiler: `profiled_step_ns`, `unprofiled_step_ns` and
  their `ratio`. Gains of these phases are in the time without it.
- `not_computed`: rules that could not be evaluated, and which input is missing. Rules about kernels and the model
  need its lower bound.
",
};

/// All advice, in the order in which it should be read: recordings that hide the run, then changes to the
/// deployment and to kernels that leave the work as it is, then those that change it, other recordings, and
/// last changes to the model's design; within each the most gain first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct AdviceList {
    /// The advice.
    pub items: Vec<Advice>,
    /// Phases whose steps were also measured without a profiler. Gains are in that time.
    #[serde(default)]
    pub unprofiled: Vec<Slowdown>,
    /// Rules that could not be applied, and what is missing.
    pub not_computed: BTreeMap<Cow<'static, str>, String>,
}

/// One recommended change.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The rule that says so.
    pub rule: Cow<'static, str>,
    /// What is to be changed.
    #[serde(default)]
    pub kind: AdviceKind,
    /// What to do, in a sentence.
    pub title: String,
    /// Whether the same work by the same model is done by the same devices. What changes these comes after.
    pub(crate) same_work: bool,
    /// The phase that gains.
    pub phase: Cow<'static, str>,
    /// Time that would be saved over all steps of the phase; null where it is not known.
    pub gain_ns: Option<Range>,
    /// The same as a share of the phase's time, 0 to 1.
    pub gain_share: Option<Range>,
    /// The same for one step, mean; null outside of steps, and where the steps become fewer and not shorter.
    pub step_gain_ns: Option<Range>,
    /// Time that the change acts on, over all steps of the phase: no gain is larger.
    #[serde(default)]
    pub(crate) acts_on_ns: f64,
    /// What it rests on: rows and numbers.
    pub evidence: Vec<String>,
    /// How the gain was computed, or why it is not known.
    pub computed: String,
    /// What to change: a command, a flag, a key of the config.
    pub change: String,
    /// What may go wrong.
    pub risk: String,
    /// Whether other advice is worth little before this is done.
    #[serde(skip)]
    comes_first: bool,
    /// What it is ordered by.
    #[serde(skip)]
    expected_ns: f64,
}

/// Every rule.
pub const ALL: &[AdviceRule] = &[
    model_mismatch::RULE,
    profiler_overhead::RULE,
    warmup_step::RULE,
    cuda_graphs::RULE,
    moe_kernels::RULE,
    gemm_kernels::RULE,
    attention_kernels::RULE,
    fused_attention::RULE,
    host_code::RULE,
    sampler_on_device::RULE,
    sync::RULE,
    fusion::RULE,
    copy_operators::RULE,
    pinned_copies::RULE,
    host_copies::RULE,
    straggler::RULE,
    small_collectives::RULE,
    overlap_communication::RULE,
    dtype::RULE,
    tensor_cores::RULE,
    padding::RULE,
    chunked_prefill::RULE,
    threads::RULE,
    throttling::RULE,
    larger_batch::RULE,
    smaller_model::WEIGHT_QUANTISATION,
    smaller_model::KV_QUANTISATION,
    tensor_parallel::RULE,
    smaller_model::GQA,
    smaller_model::KV_LAYOUT,
    expert_granularity::RULE,
    tile_fit::RULE,
];

/// What every rule says of every phase, in the order of [`AdviceList`]. Empty without a ledger.
pub fn advise(findings: &Findings, around: &RunContext) -> AdviceList {
    let mut list = AdviceList::default();
    let Some(ledger) = findings.get::<Ledger>() else { return list };
    // The host's side of a run on a device that was not recorded: what limits it is not in the trace.
    if findings.get::<Trace>().is_some_and(Trace::lost_device) {
        return list;
    }
    // A capture is made once, and what it launches does not run.
    if findings.get::<Launches>().is_some_and(Launches::is_capture) {
        return list;
    }
    for phase in ledger.phases.iter().filter(|phase| is_judged(phase)) {
        let case = Case { ledger, phase, findings, context: around };
        list.unprofiled.extend(case.slowdown());
        for rule in ALL {
            match (rule.judge)(&case) {
                Ok(Some(draft)) => list.items.extend(advice(rule, draft, &case)),
                Ok(None) => {}
                Err(reason) => {
                    list.not_computed.entry(rule.name.into()).or_insert(reason);
                }
            }
        }
    }
    // A rule that spoke of one phase could judge.
    list.not_computed.retain(|rule, _| !list.items.iter().any(|advice| advice.rule == *rule));
    list.items.sort_by(in_order);
    tell_phases_apart(&mut list.items);
    list
}

fn tell_phases_apart(items: &mut [Advice]) {
    let mut number: BTreeMap<String, usize> = BTreeMap::new();
    for advice in items.iter() {
        *number.entry(advice.title.clone()).or_default() += 1;
    }
    for advice in items.iter_mut().filter(|advice| number.get(&advice.title).is_some_and(|times| *times > 1))
    {
        let place = match &*advice.phase {
            OUTSIDE => "outside steps".to_owned(),
            "step" => "in steps".to_owned(),
            phase => format!("in {phase} steps"),
        };
        advice.title = format!("{}, {place}", advice.title);
    }
}

fn in_order(a: &Advice, b: &Advice) -> Ordering {
    let gain = b.expected_ns.total_cmp(&a.expected_ns);
    group(a).cmp(&group(b)).then(gain).then_with(|| (&a.rule, &a.phase).cmp(&(&b.rule, &b.phase)))
}

fn group(advice: &Advice) -> u8 {
    match advice.kind {
        _ if advice.comes_first => 0,
        AdviceKind::Deployment | AdviceKind::Kernel if advice.same_work => 1,
        AdviceKind::Deployment | AdviceKind::Kernel => 2,
        AdviceKind::Recording => 3,
        AdviceKind::Design => 4,
    }
}

fn advice(rule: &AdviceRule, draft: Draft, case: &Case<'_>) -> Option<Advice> {
    let (wall, steps) = (case.phase.wall_ns as f64, case.phase.steps);
    let acts_on = draft.acts_on_ns.clamp(0.0, wall);
    let gain = draft.gain_ns.map(|gain| gain.within(acts_on));
    let high = gain.map_or(acts_on, |gain| gain.high);
    // NaN is no gain either.
    let is_worth_it = high.is_finite() && high >= WORTH_A_LINE * case.judged_ns();
    if !is_worth_it && !draft.comes_first {
        return None;
    }
    let told = gain.filter(|gain| gain.high <= WIDEST * gain.low);
    // Shares hold for a run without the profiler as well; times are those of such a run where there is one.
    let unprofiled = case.slowdown().map_or(1.0, |slowdown| 1.0 / slowdown.ratio);
    let gain_ns = told.map(|gain| gain.times(unprofiled));
    Some(Advice {
        rule: rule.name.into(),
        kind: rule.kind,
        title: draft.title,
        same_work: rule.same_work,
        phase: case.phase.phase.clone(),
        gain_ns,
        gain_share: told.map(|gain| gain.times(1.0 / wall)),
        step_gain_ns: gain_ns
            .filter(|_| steps > 0 && rule.shortens_steps)
            .map(|gain| gain.times(1.0 / steps as f64)),
        acts_on_ns: acts_on * unprofiled,
        evidence: draft.evidence,
        computed: draft.computed,
        change: draft.change,
        risk: draft.risk,
        comes_first: draft.comes_first,
        expected_ns: gain.map_or(acts_on / 2.0, Range::middle),
    })
}
