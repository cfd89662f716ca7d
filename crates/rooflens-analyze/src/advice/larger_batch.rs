//! More sequences in a step.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::sentence::{time, whole_percent};

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "larger_batch",
    about: "The same tokens in half of the steps, each with twice the batch size: each step takes longer, and the \
         gain is per token. High: a step grows as much as its lower bound; low: the time of the model's kernels \
         grows in proportion to their lower bound, and idle time stays the same.",
    same_work: false,
    shortens_steps: false,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    if case.phase.phase != "decode" {
        return Ok(None);
    }
    let other = case.alternative(RULE.name)?;
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
    // Tokens per second, in parts of what they were.
    let [least, most] = [slow, fast].map(|grown| (wall * other.work / grown - 1.0).max(0.0));
    Ok(Some(Draft {
        title: format!(
            "Decode with {} ({} to {} more tokens per second, in longer steps)",
            other.what,
            whole_percent(least),
            whole_percent(most)
        ),
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
        computed: format!(
            "less time per token, not per step: the same tokens in half of the steps, each of which takes {} to {} \
             instead of {}, as its lower bound grows or kernels grow in proportion",
            time(case.per_step(fast)),
            time(case.per_step(slow)),
            time(case.per_step(wall))
        ),
        change: case.own_options(&other.change)
            + &case.in_project(&["pytorch", "vllm"], "runtime.batch_size"),
        risk: "Improves throughput only: each step takes longer, and the KV cache takes twice the memory."
            .to_owned(),
    }))
}
