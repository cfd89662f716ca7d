//! Fewer heads of keys and values.

use crate::advice::{Case, Draft, Rule};

/// The rule.
pub(super) struct Gqa;

impl Rule for Gqa {
    fn name(&self) -> &'static str {
        "gqa"
    }
    fn about(&self) -> &'static str {
        "The static model with half of the heads of keys and values. Low: what the floor shrinks by; high: kernel time in \
         proportion to the floor. Where the host is the slower side, little of it is gained."
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let other = case.alternative(self.name())?;
        let Some(gain_ns) = case.smaller_floor(&other.floors) else { return Ok(None) };
        Ok(Some(Draft {
            title: format!("Design: {}", other.what),
            gain_ns,
            evidence: vec![
                case.floors_row(&other.what, &other.floors),
                case.row("kernels that the model needs", case.kernels_ns()),
            ],
            computed: "the difference of the floors, up to kernel time in proportion".to_owned(),
            change: other.change.clone(),
            risk: "Another model: it has to be trained, and may be worse for its size.".to_owned(),
        }))
    }
}
