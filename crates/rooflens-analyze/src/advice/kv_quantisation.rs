//! Keys and values in fewer bits.

use crate::advice::{Case, Draft, Rule};

/// The rule.
pub(super) struct KvQuantisation;

impl Rule for KvQuantisation {
    fn name(&self) -> &'static str {
        "kv_quantisation"
    }
    fn about(&self) -> &'static str {
        "The static model with cached keys and values in fp8. Low: what the floor shrinks by; high: kernel time in \
         proportion to the floor. Where the host is the slower side, little of it is gained."
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        if let Some(kernel) = case.narrow_cache_kernel() {
            return Err(format!("the KV cache is quantised already: `{}`", kernel.short_name));
        }
        let other = case.alternative(self.name())?;
        let title = format!("Store {}", other.what);
        let risk = "Less precision in long contexts: evaluate them. Not every attention kernel reads fp8.";
        Ok(case.smaller(other, title, risk))
    }
}
