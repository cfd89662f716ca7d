//! GLM-4.5, GLM-4.5-Air and GLM-4.6 (arXiv 2508.06471); Transformers' `Glm4MoeForCausalLM`.

use super::mla::with_drafts;
use super::shapes::{Gqa, Mixture, QkNorm, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts, rotated};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::units::Unit;

/// The family.
pub(crate) struct Glm4Moe;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 151_552, hidden: 4096, layers: 46, heads: 96, kv_heads: Some(8), head_dim: None };

fn mixture(keys: &Keys, hidden: u64) -> Result<Vec<Unit>, ConfigError> {
    let experts = keys.experts_or("n_routed_experts", 128)?;
    let top_k = keys.size_or("num_experts_per_tok", 8)?;
    check_experts(keys, "num_experts_per_tok", top_k, experts)?;
    let inner = keys.size_or("moe_intermediate_size", 1408)?;
    let shared = keys.count_or("n_shared_experts", 1)?;
    if shared > experts {
        return Err(keys.wrong("n_shared_experts", "at most as many as there are routed experts"));
    }
    // The bias by which the router chooses is no parameter to Transformers.
    Ok(Mixture {
        hidden,
        experts,
        top_k,
        inner,
        shared: shared * inner,
        shared_gate: false,
        bias: false,
        router_bias: false,
    }
    .units())
}

impl Family for Glm4Moe {
    fn name(&self) -> &'static str {
        "glm4_moe"
    }

    fn about(&self) -> &'static str {
        "GLM-4.5, GLM-4.5-Air, GLM-4.6"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["glm4_moe"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let hidden = trunk.hidden;
        let attention = Gqa {
            qkv_bias: keys.flag_or("attention_bias", false)?,
            qk_norm: if keys.flag_or("use_qk_norm", false)? { QkNorm::Head } else { QkNorm::None },
            rotated: rotated(keys, trunk.head_dim, 0.5)?,
            ..trunk.attention()
        }
        .units();
        let dense_layers = keys.count_or("first_k_dense_replace", 1)?;
        let mut dense = gated_mlp("mlp", hidden, keys.size_or("intermediate_size", 10_944)?, false);
        dense.push(all_reduce(hidden));
        let sparse = mixture(keys, hidden)?;
        let layers = (0..trunk.layers as u64)
            .map(|layer| {
                let feed_forward = if layer < dense_layers { &dense } else { &sparse };
                pre_norm(hidden, attention.clone(), feed_forward.clone())
            })
            .collect();
        let design = trunk.decoder(config.tied(false)?, layers);
        // Stored, and left out by Transformers; their shape is DeepSeek's (vLLM's glm4_moe_mtp).
        with_drafts(design, keys, &pre_norm(hidden, attention, sparse))
    }
}
