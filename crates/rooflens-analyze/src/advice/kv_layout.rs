//! A cache with less in it for each token.

use crate::advice::{Case, Draft, Rule};

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
    fn same_work(&self) -> bool {
        false
    }
    fn judge(&self, case: &Case<'_>) -> Result<Option<Draft>, String> {
        let Some(other) = case.alternatives(self.name())?.next() else { return Ok(None) };
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
            risk: "Another model: it has to be trained or converted. One latent or one head is not shared out over \
                   devices: each holds all of it."
                .to_owned(),
        }))
    }
}
