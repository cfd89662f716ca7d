//! A model, device or shapes that are not those of the trace.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};
use crate::sentence::{percent, time};

/// Part of the lower bound that may stay unspent: kernels that overlap, shapes that are rounded.
const ROUNDING: f64 = 0.05;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "model_mismatch",
    about: "Kernels that were faster than the model's lower bound on the device allows, by more than 5 % of it: \
         the given model, device, parallelism or shapes are not those of this trace. It has no gain, but \
         other advice is unreliable until they are right.",
    kind: AdviceKind::Recording,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let unspent = case.phase.unspent_floor_ns;
    let all = crate::ledger::kernels_floor_ns(&case.phase.floors);
    if unspent.is_nan() || unspent <= ROUNDING * all {
        return Ok(None);
    }
    let of = case.ledger.floor_of.as_ref();
    let (model, device) = of.map_or(("the model", "the device"), |of| (&of.model, &of.device));
    Ok(Some(Draft {
        title: format!(
            "Check --model and --hardware: these kernels were faster than {model} on {device} can be"
        ),
        gain_ns: None,
        acts_on_ns: case.kernels_ns(),
        evidence: vec![
            format!("lower bound of all {} steps: {}", case.phase.phase, time(all)),
            format!(
                "{} of it ({}) is more than the kernels' \
                     time",
                time(unspent),
                percent(unspent / all)
            ),
        ],
        computed: "a wrong model, device or shape affects every number based on it".to_owned(),
        change: "give --model, --hardware, --tp, --dtype, --batch and --context of this run".to_owned(),
        risk: "Lower bounds, shares of the roof and gains below are based on this model.".to_owned(),
        comes_first: true,
    }))
}
