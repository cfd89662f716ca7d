//! Mixtral 8x7B and 8x22B (arXiv 2401.04088); Transformers' `MixtralForCausalLM`.

use super::modules::renamed;
use super::shapes::{Mixture, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts, mask_of, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct Mixtral;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 32_000, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

impl Family for Mixtral {
    fn name(&self) -> &'static str {
        "mixtral"
    }

    fn about(&self) -> &'static str {
        "Mixtral 8x7B and 8x22B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mixtral"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let mut attention = trunk.attention();
        attention.mask = mask_of(window_or(keys, None)?);
        let experts = keys.experts_or("num_local_experts", 8)?;
        let top_k = keys.size_or("num_experts_per_tok", 2)?;
        check_experts(keys, "num_experts_per_tok", top_k, experts)?;
        let mixture = Mixture {
            hidden: trunk.hidden,
            experts,
            top_k,
            // The only width in the file is that of an expert.
            inner: keys.size_or("intermediate_size", 14_336)?,
            shared: 0,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        let feed_forward =
            renamed(mixture.units(), &[("mlp.experts.0.gate_proj", "block_sparse_moe.experts.0.w1")]);
        let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
        let layers = vec![layer; trunk.layers];
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
