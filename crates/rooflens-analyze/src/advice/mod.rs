//! What to change, and what it would bring: one rule a file.
//!
//! A rule looks at a phase of the time ledger, at the other findings and at what is known besides the trace,
//! and answers with the change, the evidence and the time that it would save, as a range: `low` is what the
//! numbers at hand promise, `high` what is left where everything goes well. Nothing is measured here.
//!
//! To add a rule: a file here, a `mod` line and an entry in [`ALL`].

mod case;
mod chunked_prefill;
mod copy_operators;
mod cuda_graphs;
mod dtype;
mod expert_granularity;
mod fusion;
mod gqa;
mod host_code;
mod kv_layout;
mod kv_quantisation;
mod larger_batch;
mod overlap_communication;
mod padding;
mod pinned_copies;
mod sampler_on_device;
mod small_collectives;
mod straggler;
mod sync;
mod tensor_cores;
mod tensor_parallel;
#[cfg(test)]
mod tests;
mod threads;
mod throttling;
mod tile_fit;
mod weight_quantisation;

pub use case::{Alternative, Case, Circumstances, Padding, Tiles};

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::analyses::Ledger;
use crate::finding::Findings;

/// From this share of the whole time on, a gain is worth a line.
const WORTH_A_LINE: f64 = 0.01;

/// All advice: what leaves the work as it is first, most gain first.
#[derive(Debug, Clone, Default, Serialize)]
pub struct AdviceList {
    /// The advice.
    pub items: Vec<Advice>,
    /// Rules that could not judge, and what they lack.
    pub not_computed: BTreeMap<&'static str, String>,
}

/// One thing to change.
#[derive(Debug, Clone, Serialize)]
pub struct Advice {
    /// The rule that says so.
    pub rule: &'static str,
    /// What to do, in a sentence.
    pub title: String,
    /// Whether the same work by the same model is done by the same devices. What changes these comes after.
    pub same_work: bool,
    /// The phase that gains.
    pub phase: &'static str,
    /// Time that would be saved over all steps of the phase.
    pub gain_ns: Range,
    /// The same as a share of the phase's wall time, 0 to 1.
    pub gain_share: Range,
    /// The same for one step, mean; null outside of steps.
    pub step_gain_ns: Option<Range>,
    /// What it rests on: rows and numbers.
    pub evidence: Vec<String>,
    /// How the gain was computed.
    pub computed: String,
    /// What to change: a command, a flag, a key of the config.
    pub change: String,
    /// What may go wrong.
    pub risk: String,
}

/// A least and a most.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Range {
    /// From one to the other.
    #[must_use]
    pub fn new(low: f64, high: f64) -> Self {
        Range { low, high }
    }

    /// Halfway: what advice is ordered by.
    #[must_use]
    pub fn middle(self) -> f64 {
        self.low.midpoint(self.high)
    }

    fn times(self, factor: f64) -> Self {
        Range { low: self.low * factor, high: self.high * factor }
    }

    fn within(self, most: f64) -> Self {
        let high = self.high.clamp(0.0, most);
        Range { low: self.low.clamp(0.0, high), high }
    }
}

/// What a rule answers of a phase.
pub struct Draft {
    /// See [`Advice::title`].
    pub title: String,
    /// Time saved over all steps of the phase, ns.
    pub gain_ns: Range,
    /// See [`Advice::evidence`].
    pub evidence: Vec<String>,
    /// See [`Advice::computed`].
    pub computed: String,
    /// See [`Advice::change`].
    pub change: String,
    /// See [`Advice::risk`].
    pub risk: String,
}

/// A rule.
pub trait Rule: Sync {
    /// Stable word.
    fn name(&self) -> &'static str;
    /// When it speaks and how the gain is computed: the text of `rooflens explain`.
    fn about(&self) -> &'static str;
    /// Whether what it advises leaves work, model and devices as they are.
    fn same_work(&self) -> bool {
        true
    }
    /// Advice for a phase; nothing where there is nothing to gain; what is lacking where it cannot tell.
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String>;
}

/// Every rule.
pub const ALL: &[&dyn Rule] = &[
    &cuda_graphs::CudaGraphs,
    &host_code::HostCode,
    &sampler_on_device::SamplerOnDevice,
    &sync::Sync,
    &fusion::Fusion,
    &copy_operators::CopyOperators,
    &pinned_copies::PinnedCopies,
    &straggler::StragglerRule,
    &small_collectives::SmallCollectives,
    &overlap_communication::OverlapCommunication,
    &dtype::Dtype,
    &tensor_cores::TensorCores,
    &padding::PaddingRule,
    &chunked_prefill::ChunkedPrefill,
    &threads::Threads,
    &throttling::Throttling,
    &larger_batch::LargerBatch,
    &weight_quantisation::WeightQuantisation,
    &kv_quantisation::KvQuantisation,
    &gqa::Gqa,
    &kv_layout::KvLayout,
    &expert_granularity::ExpertGranularity,
    &tile_fit::TileFit,
    &tensor_parallel::TensorParallel,
];

/// What every rule says of every phase, in the order of [`AdviceList`]. Empty without a ledger.
#[must_use]
pub fn advise(findings: &Findings, around: &Circumstances) -> AdviceList {
    let mut list = AdviceList::default();
    let Some(ledger) = findings.get::<Ledger>() else { return list };
    for phase in ledger.phases.iter().filter(|phase| phase.wall_ns > 0) {
        let case = Case { ledger, phase, findings, around };
        for rule in ALL {
            match rule.judge(&case) {
                Ok(Some(draft)) => list.items.extend(advice(*rule, draft, &case)),
                Ok(None) => {}
                Err(reason) => {
                    list.not_computed.entry(rule.name()).or_insert(reason);
                }
            }
        }
    }
    // A rule that spoke of one phase could judge.
    list.not_computed.retain(|rule, _| !list.items.iter().any(|advice| advice.rule == *rule));
    list.items.sort_by(by_gain);
    list
}

fn by_gain(a: &Advice, b: &Advice) -> Ordering {
    let gain = b.gain_ns.middle().total_cmp(&a.gain_ns.middle());
    let same_work = b.same_work.cmp(&a.same_work);
    same_work.then(gain).then_with(|| (a.rule, a.phase).cmp(&(b.rule, b.phase)))
}

fn advice(rule: &dyn Rule, draft: Draft, case: &Case<'_>) -> Option<Advice> {
    let (wall, steps) = (case.phase.wall_ns as f64, case.phase.steps);
    let gain_ns = draft.gain_ns.within(wall);
    // NaN is no gain either.
    if !gain_ns.high.is_finite() || gain_ns.high < WORTH_A_LINE * case.ledger.wall_ns as f64 {
        return None;
    }
    Some(Advice {
        rule: rule.name(),
        title: draft.title,
        same_work: rule.same_work(),
        phase: case.phase.phase,
        gain_ns,
        gain_share: gain_ns.times(1.0 / wall),
        step_gain_ns: (steps > 0).then(|| gain_ns.times(1.0 / steps as f64)),
        evidence: draft.evidence,
        computed: draft.computed,
        change: draft.change,
        risk: draft.risk,
    })
}
