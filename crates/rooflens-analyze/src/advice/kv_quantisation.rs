//! Keys and values in fewer bits.

use crate::advice::{AdviceRule, Case, Draft};

/// The rule.
pub(super) struct KvQuantisation;

impl AdviceRule for KvQuantisation {
    fn name(&self) -> &'static str {
        "kv_quantisation"
    }
    fn about(&self) -> &'static str {
        "The static model with an fp8 KV cache. Low: the decrease of the lower bound; high: kernel time in \
         proportion to it. If the host is the bottleneck, little is gained."
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
        let risk = "Less precision in long contexts: evaluate them. Not every attention kernel supports fp8.";
        Ok(case.smaller(other, title, risk))
    }
}
