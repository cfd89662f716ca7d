//! More sequences in a step.

use crate::advice::{AdviceRule, Case, Draft, Range};
use crate::sentence::time;

/// The rule.
pub(super) struct LargerBatch;

impl AdviceRule for LargerBatch {
    fn name(&self) -> &'static str {
        "larger_batch"
    }
    fn about(&self) -> &'static str {
        "The same tokens in half of the steps, each with twice the batch size. High: a step grows as much as \
         its lower bound; low: the time of the model's kernels grows in proportion to their lower bound, and \
         idle time stays the same."
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if case.phase.phase != "decode" {
            return Ok(None);
        }
        let other = case.alternative(self.name())?;
        let (old, new) = case.bounds_ns(other);
        let wall = case.phase.wall_ns as f64;
        let ratio = other.ratio().max(1.0);
        if !new.is_finite() || other.work <= 1.0 {
            return Ok(None);
        }
        // Kernels on a host are mostly the cost of calling them: these may grow as the work does.
        let grown = if case.is_device() { ratio } else { other.work };
        let needed = case.kernels_ns();
        let slow = wall + needed * (grown - 1.0);
        let fast = wall + (new - old).max(0.0).min(needed * (ratio - 1.0));
        Ok(Some(Draft {
            title: format!("Put {}", other.what),
            gain_ns: Some(Range::new(wall - slow / other.work, wall - fast / other.work)),
            acts_on_ns: wall,
            comes_first: false,
            evidence: vec![
                case.floors_row(other),
                format!(
                    "a step takes {}, {} of it outside the model's kernels",
                    time(wall / case.phase.steps.max(1) as f64),
                    time((wall - needed) / case.phase.steps.max(1) as f64)
                ),
            ],
            computed: "the same tokens in half of the steps; a step grows as its lower bound, or kernels \
                       grow in proportion"
                .to_owned(),
            change: case.own_options(&other.change)
                + &case.in_project(&["pytorch", "vllm"], "runtime.batch_size"),
            risk:
                "Improves throughput only: each step takes longer, and the KV cache takes twice the memory."
                    .to_owned(),
        }))
    }
}
