//! Phi-3, Phi-3.5 and Phi-4 (arXiv 2404.14219, 2412.08905): matrices stored together; Transformers'
//! `Phi3ForCausalLM`.

use super::modules::renamed;
use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, mask_of, rotated, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct Phi3;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 32_064, hidden: 3072, layers: 32, heads: 32, kv_heads: None, head_dim: None };

impl Family for Phi3 {
    fn name(&self) -> &'static str {
        "phi3"
    }

    fn about(&self) -> &'static str {
        "Phi-3, Phi-3.5 (dense), Phi-4"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["phi3"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let attention = Gqa {
            mask: mask_of(window_or(keys, None)?),
            rotated: rotated(keys, trunk.head_dim, 1.0)?,
            ..trunk.attention()
        };
        let inner = keys.size_or("intermediate_size", 8192)?;
        let mut feed_forward = gated_mlp("mlp", trunk.hidden, inner, false);
        feed_forward.push(all_reduce(trunk.hidden));
        let layer = renamed(
            pre_norm(trunk.hidden, attention.units(), feed_forward),
            &[("self_attn.q_proj", "self_attn.qkv_proj"), ("mlp.gate_proj", "mlp.gate_up_proj")],
        );
        let layers = vec![layer; trunk.layers];
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
