//! Batches without padding.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::sentence::{count, percent};

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "padding",
    about: "Padding tokens that the model processed. Low: nothing, if time does not depend on the number of \
         tokens; high: kernel time in proportion to them.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let found = case.context.padding.iter().find(|padding| padding.phase == case.phase.phase);
    let Some(padding) = found.filter(|padding| padding.computed > padding.needed) else {
        return Ok(None);
    };
    let share = 1.0 - padding.needed as f64 / padding.computed as f64;
    let kernels = case.kernels_ns();
    Ok(Some(Draft {
        title: "Batch prompts of similar length, or without padding".to_owned(),
        gain_ns: Some(Range::new(0.0, kernels * share)),
        acts_on_ns: kernels * share,
        comes_first: false,
        evidence: vec![
            format!(
                "{} tokens were processed, {} were needed",
                count(i64::try_from(padding.computed).unwrap_or(i64::MAX)),
                count(i64::try_from(padding.needed).unwrap_or(i64::MAX))
            ),
            case.row("kernels", kernels),
        ],
        computed: format!("up to {} of kernel time, the share of padding", percent(share)),
        change: "Sort prompts by length before batching, or use a runtime with ragged batches: runtime=vllm"
            .to_owned(),
        risk: "Sorted prompts wait for others of their length.".to_owned(),
    }))
}
