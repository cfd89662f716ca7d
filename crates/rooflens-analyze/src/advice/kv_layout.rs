//! A cache with less in it for each token.

use crate::advice::{AdviceKind, AdviceRule, Case, Draft};

/// The rule.
pub(super) struct KvLayout;

impl AdviceRule for KvLayout {
    fn name(&self) -> &'static str {
        "kv_layout"
    }
    fn about(&self) -> &'static str {
        "The static model with multi-head latent attention (MLA) with the ranks of DeepSeek-V2, if the rest \
         of the model can stay the same; otherwise with one KV head (MQA), the limit of sharing heads. Low: \
         the decrease of the lower bound; high: kernel time in proportion to it."
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
        let risk = "A different model: it has to be trained or converted. One latent or one KV head cannot \
                    be sharded: each device holds all of it.";
        Ok(case.smaller(other, title, risk))
    }
}
