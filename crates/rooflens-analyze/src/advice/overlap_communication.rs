//! Hide exchange between devices behind compute.

use crate::advice::{Case, Draft, Range, Rule};
use crate::ledger::Line;

/// The rule.
pub(super) struct OverlapCommunication;

impl Rule for OverlapCommunication {
    fn name(&self) -> &'static str {
        "overlap_communication"
    }
    fn about(&self) -> &'static str {
        "Time in which devices only exchange. Low: nothing, where every step waits for the result; high: all of it, \
         but no more than there is compute to hide it behind."
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let exposed = case.on(Line::Communication);
        if exposed <= 0.0 {
            return Ok(None);
        }
        Ok(Some(Draft {
            title: "Hide communication behind compute".to_owned(),
            gain_ns: Some(Range::new(0.0, exposed.min(case.kernels_ns()))),
            acts_on_ns: exposed,
            comes_first: false,
            evidence: vec![
                case.row("communication with nothing else running", exposed),
                case.row("kernels to hide it behind", case.kernels_ns()),
            ],
            computed: "up to all exposed communication, at most the time of the kernels".to_owned(),
            change: "Split the batch in two halves that alternate (vLLM: --enable-dbo); fuse all-reduce with the norm \
                     behind it; a smaller tensor-parallel degree where the model fits"
                .to_owned(),
            risk: "Kernels that share the device with communication run slower; two halves are each less efficient."
                .to_owned(),
        }))
    }
}
