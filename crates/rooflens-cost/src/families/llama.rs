//! Llama 2 (arXiv 2307.09288), 3, 3.1 and 3.2 (text), and the many models of the same shape;
//! Transformers' `LlamaForCausalLM`.

use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct Llama;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 32_000, hidden: 4096, layers: 32, heads: 32, kv_heads: None, head_dim: None };

impl Family for Llama {
    fn name(&self) -> &'static str {
        "llama"
    }

    fn about(&self) -> &'static str {
        "Llama 2, 3, 3.1 and 3.2 (text), Code Llama, Yi"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["llama"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let bias = keys.flag_or("attention_bias", false)?;
        let attention = Gqa { qkv_bias: bias, o_bias: bias, ..trunk.attention() };
        let inner = keys.size_or("intermediate_size", 11_008)?;
        let mut feed_forward = gated_mlp("mlp", trunk.hidden, inner, keys.flag_or("mlp_bias", false)?);
        feed_forward.push(all_reduce(trunk.hidden));
        let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
        let layers = vec![layer; trunk.layers];
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
