//! A cache with less in it for each token.

use crate::advice::{AdviceKind, Case, Draft, Rule};

/// The rule.
pub(super) struct KvLayout;

impl Rule for KvLayout {
    fn name(&self) -> &'static str {
        "kv_layout"
    }
    fn about(&self) -> &'static str {
        "The static model with latent attention of the ranks of DeepSeek-V2, where the rest of the model can stay as it is; \
         else with one head of keys and values, which is the most that sharing heads can bring. Low: what the floor \
         shrinks by; high: kernel time in proportion to the floor."
    }
    fn kind(&self) -> AdviceKind {
        AdviceKind::Design
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let Some(other) = case.alternatives(self.name())?.next() else { return Ok(None) };
        let title = format!("Use {}", other.what);
        let risk = "Another model: it has to be trained or converted. One latent or one head is not shared out over \
                   devices: each holds all of it.";
        Ok(case.smaller(other, title, risk))
    }
}
