//! Fewer experts, that more tokens of a step share.

use crate::advice::{AdviceKind, Case, Draft, Rule};
use crate::ledger::kernels_floor_ns;

/// The rule.
pub(super) struct ExpertGranularity;

/// A floor that shrinks by less is no reason to train another model.
const WORTH_IT: f64 = 0.01;

impl Rule for ExpertGranularity {
    fn name(&self) -> &'static str {
        "expert_granularity"
    }
    fn about(&self) -> &'static str {
        "Mixtures of experts: an expert that one token visits is read whole. The static model with half of the experts \
         and as many active parameters: of twice the width where that shrinks the floor, else of the same width, which a \
         token visits as many of. Low: what the floor shrinks by; high: kernel time in proportion."
    }
    fn kind(&self) -> AdviceKind {
        AdviceKind::Design
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let others: Vec<_> = case.alternatives(self.name())?.collect();
        let old = kernels_floor_ns(&case.phase.floors);
        let Some(other) =
            others.iter().find(|other| kernels_floor_ns(&other.floors) < old * (1.0 - WORTH_IT))
        else {
            return Ok(None);
        };
        let Some(gain_ns) = case.smaller_floor(&other.floors) else { return Ok(None) };
        let mut evidence: Vec<String> =
            others.iter().map(|other| case.floors_row(&other.what, &other.floors)).collect();
        evidence.push(case.row("kernels that the model needs", case.kernels_ns()));
        Ok(Some(Draft {
            title: format!("Use {}", other.what),
            gain_ns: Some(gain_ns),
            acts_on_ns: case.kernels_ns(),
            comes_first: false,
            evidence,
            computed: "the difference of the lower bounds, every expert as likely as every other, up to kernel time in \
                       proportion"
                .to_owned(),
            change: other.change.clone(),
            risk: "Another model: it has to be trained, and fewer or coarser experts know less. A router that is not \
                   balanced touches fewer experts already."
                .to_owned(),
        }))
    }
}
