//! More devices to a layer.

use crate::advice::{Case, Draft, Rule};

/// The rule.
pub(super) struct TensorParallel;

impl Rule for TensorParallel {
    fn name(&self) -> &'static str {
        "tensor_parallel"
    }
    fn about(&self) -> &'static str {
        "The static model with each layer on twice the devices. Low: what the floor shrinks by; high: kernel time in \
         proportion to the floor. Where the host is the slower side, little of it is gained."
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let other = case.alternative(self.name())?;
        let title = format!("Run on {}", other.what);
        let risk = "Devices exchange twice a layer: that time comes on top, and is not in the gain.";
        Ok(case.smaller(other, title, risk))
    }
}
