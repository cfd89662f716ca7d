//! Fewer heads of keys and values.

use crate::advice::{AdviceKind, AdviceRule, Case, Draft};

/// The rule.
pub(super) struct Gqa;

impl AdviceRule for Gqa {
    fn name(&self) -> &'static str {
        "gqa"
    }
    fn about(&self) -> &'static str {
        "The static model with half of the KV heads. Low: the decrease of the lower bound; high: kernel time \
         in proportion to it. If the host is the bottleneck, little is gained."
    }
    fn kind(&self) -> AdviceKind {
        AdviceKind::Design
    }
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let other = case.alternative(self.name())?;
        let title = format!("Use {}", other.what);
        let risk = "A different model: it has to be trained, and may be less accurate.";
        Ok(case.smaller(other, title, risk))
    }
}
