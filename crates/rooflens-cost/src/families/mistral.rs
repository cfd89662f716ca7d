//! Mistral 7B (arXiv 2310.06825) and Mistral Nemo; Transformers' `MistralForCausalLM`.

use super::shapes::{all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, mask_of, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct Mistral;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 32_000, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

impl Family for Mistral {
    fn name(&self) -> &'static str {
        "mistral"
    }

    fn about(&self) -> &'static str {
        "Mistral 7B, Mistral Nemo"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mistral"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let mut attention = trunk.attention();
        attention.mask = mask_of(window_or(keys, Some(4096))?);
        let inner = keys.size_or("intermediate_size", 14_336)?;
        let mut feed_forward = gated_mlp("mlp", trunk.hidden, inner, false);
        feed_forward.push(all_reduce(trunk.hidden));
        let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
        let layers = vec![layer; trunk.layers];
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
