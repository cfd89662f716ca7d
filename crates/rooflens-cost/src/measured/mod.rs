//! What was run, beside what it must cost.
//!
//! The forward passes of a run, with the time that each took, come in; what they had to do is counted by the
//! same units as everything else. Nothing is measured here.

mod efficiency;
mod matching;
mod operators;
mod parts;
mod torch_flops;
mod work;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use efficiency::{Efficiency, PhaseEfficiency, RanFlops, efficiency};
pub use matching::{Matches, OperatorMatch, PhaseMatches, Traced, Unmatched, Variant, matches};
pub use operators::{ClassFloor, PassOperator, floors, operators};
pub use parts::{
    MeasuredPart, MeasuredPhase, PartRow, PhaseParts, StaticVsMeasured, TimelineSide, part_of,
    static_vs_measured,
};
pub use torch_flops::{
    ClassFlops, FlopsCheck, PhaseCheck, TorchFlops, TorchLeftOut, TorchRow, UncountedClass, flops_check,
};

use crate::step::{Phase, Step};
use crate::vision::View;

/// What the steps of a run do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunPhase {
    /// Prompts are read.
    Prefill,
    /// Every sequence goes on by a token.
    Decode,
    /// Both in one step.
    Mixed,
}

impl RunPhase {
    /// All of them.
    pub const ALL: &[RunPhase] = &[RunPhase::Prefill, RunPhase::Decode, RunPhase::Mixed];

    /// Name, as in `prefill`.
    pub fn as_str(self) -> &'static str {
        match self {
            RunPhase::Prefill => "prefill",
            RunPhase::Decode => "decode",
            RunPhase::Mixed => "mixed",
        }
    }

    /// The phase of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|phase| phase.as_str() == name)
    }
}

/// What goes through the model in one forward pass. Passes of the same shape cost the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    /// What the pass does.
    pub phase: RunPhase,
    /// Its sequences, those that are alike together, padding not counted.
    pub needed: Vec<Step>,
    /// The same with padding, where there is any: what the framework multiplies.
    pub padded: Vec<Step>,
    /// Pictures that are looked at; none where nobody knows which.
    pub pictures: Option<Vec<View>>,
}

impl Shape {
    /// Sequences: each has one row of logits.
    fn sequences(&self) -> u64 {
        self.needed.iter().map(|step| step.sequences).sum()
    }

    fn tokens(steps: &[Step]) -> u128 {
        steps.iter().map(Step::tokens).sum()
    }
}

/// A forward pass that was run.
#[derive(Debug, Clone)]
pub struct Ran {
    /// What went through the model.
    pub shape: Shape,
    /// How long it took.
    pub dur_ns: u64,
}

/// So many sequences that each go on by a token, with `context` tokens in sight of them all together, their
/// own new ones among them: where these do not divide, two groups whose contexts differ by one. The sum is
/// exact, and so is all that grows in proportion to the context.
pub fn decoding(sequences: u64, context: u64) -> Vec<Step> {
    let Some(each) = context.checked_div(sequences) else { return Vec::new() };
    let longer = context % sequences;
    // It saturates only if nothing is left over, and then the second group is empty.
    [(sequences - longer, each), (longer, each.saturating_add(1))]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, context)| Step::decode(count, context.saturating_sub(1)))
        .collect()
}

/// Prompts that are read, those that are alike together, in the order of their size.
pub fn reading(prompts: &[(u64, u64)]) -> Vec<Step> {
    let mut sorted = prompts.to_vec();
    sorted.sort_unstable();
    sorted
        .chunk_by(|a, b| a == b)
        .map(|alike| Step {
            phase: Phase::Prefill,
            ..Step::prefill(alike.len() as u64, alike[0].0, alike[0].1)
        })
        .collect()
}

#[cfg(test)]
mod tests;
