//! Fewer experts, that more tokens of a step share.

use crate::advice::case::{AdviceKind, AdviceRule, Case, Draft};

/// A floor that shrinks by less is no reason to train another model.
const WORTH_IT: f64 = 0.01;

pub(super) const RULE: AdviceRule = AdviceRule {
    name: "expert_granularity",
    about: "Mixture of experts: the weights of an expert are read in full even for one token. The static model \
         with half of the experts and the same number of active parameters: of twice the width if that \
         lowers the lower bound, otherwise of the same width with the same top-k. Low: the decrease of the \
         lower bound; high: kernel time in proportion.",
    kind: AdviceKind::Design,
    same_work: false,
    judge,
    ..AdviceRule::DEPLOYMENT
};

fn judge(case: &Case<'_>) -> Result<Option<Draft>, String> {
    let others: Vec<_> = case.alternatives(RULE.name)?.collect();
    let Some(other) = others.iter().find(|other| other.ratio() < 1.0 - WORTH_IT) else {
        return Ok(None);
    };
    let Some(gain_ns) = case.smaller_floor(other) else { return Ok(None) };
    let mut evidence: Vec<String> = others.iter().map(|other| case.floors_row(other)).collect();
    evidence.push(case.row("the model's kernels", case.kernels_ns()));
    Ok(Some(Draft {
        title: format!("Use {}", other.what),
        gain_ns: Some(gain_ns),
        acts_on_ns: case.kernels_ns(),
        comes_first: false,
        evidence,
        computed: "the difference of the lower bounds with uniform routing, up to kernel time in \
                   proportion"
            .to_owned(),
        change: other.change.clone(),
        risk: "A different model: it has to be trained, and fewer or coarser experts may be less \
               accurate. An unbalanced router activates fewer experts already."
            .to_owned(),
    }))
}
