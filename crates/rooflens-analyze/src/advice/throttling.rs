//! Clocks that were held back.

use crate::advice::case::{AdviceRule, Case, Draft, Range};
use crate::sentence::percent;

/// What a device at its limit loses, at most. Of an H100, 10 to 15 % of a training step are told at 600 of 700 W
/// (factryze.ai/scale-atlas/power/power-capping), and 15 to 30 % of what the roofline has for products
/// (diomgis.com/learn/power-thermals-and-clock-throttling): a third leaves little out.
const LOSS: f64 = 0.33;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "throttling",
    about: "Samples in which the device reports throttled clocks. Low: nothing, if kernels are memory-bound; \
         high: a third of kernel time in these samples.",
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let throttled = &case.context.throttled;
    let Some((_, share)) = throttled.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|most| most.1 > 0.05)
    else {
        return Ok(None);
    };
    Ok(Some(Draft {
        title: "Avoid clock throttling".to_owned(),
        gain_ns: Some(Range::new(0.0, LOSS * share * case.kernels_ns())),
        acts_on_ns: LOSS * share * case.kernels_ns(),
        comes_first: false,
        evidence: throttled
            .iter()
            .map(|(reason, share)| format!("throttled by {reason} in {} of the samples", percent(*share)))
            .collect(),
        computed: format!("up to a third of kernel time in {} of the samples", percent(*share)),
        change: "nvidia-smi -q -d CLOCK,POWER shows the limits; nvidia-smi -pl raises the power limit, -lgc fixes \
                 the clock"
            .to_owned(),
        risk: "More power and heat; a fixed clock may be lower than the current boost clock.".to_owned(),
    }))
}
