//! Weights in fewer bits.

use crate::advice::{Case, Draft, Rule};

/// The rule.
pub(super) struct WeightQuantisation;

impl Rule for WeightQuantisation {
    fn name(&self) -> &'static str {
        "weight_quantisation"
    }
    fn about(&self) -> &'static str {
        "The static model with weights of 8 bits, or of 4 where the device does not multiply in 8. Low: what the floor shrinks by; high: kernel time in \
         proportion to the floor. Where the host is the slower side, little of it is gained."
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if let Some(kernel) = case.quantised_kernel() {
            return Err(format!("weights are quantised already: `{}`", kernel.short_name));
        }
        let other = case.alternative(self.name())?;
        let title = format!("Store {}", other.what);
        let risk = "Less precision: evaluate the model. Kernels for the format must be there on the device.";
        Ok(case.smaller(other, title, risk))
    }
}
