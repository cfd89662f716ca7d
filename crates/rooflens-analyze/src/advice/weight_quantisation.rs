//! Weights in fewer bits.

use crate::advice::{AdviceRule, Case, Draft};

/// The rule.
pub(super) struct WeightQuantisation;

impl AdviceRule for WeightQuantisation {
    fn name(&self) -> &'static str {
        "weight_quantisation"
    }
    fn about(&self) -> &'static str {
        "The static model with 8-bit weights, or 4-bit ones if the device does not multiply in 8 bits. Low: \
         the decrease of the lower bound; high: kernel time in proportion to it. If the host is the \
         bottleneck, little is gained."
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
        let risk = "Less precision: evaluate the model. The device needs kernels for the format.";
        Ok(case.smaller(other, title, risk))
    }
}
