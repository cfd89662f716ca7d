//! GLM-4 9B and GLM-4-0414 (arXiv 2406.12793): half of a head rotated, biases on queries, keys and values, and in the
//! later models norms around every block. GLM-4.5, GLM-4.5-Air and GLM-4.6 (arXiv 2508.06471): a mixture of experts.
//! Transformers' `GlmForCausalLM`, `Glm4ForCausalLM` and `Glm4MoeForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::mla::with_drafts;
use super::shapes::{Gqa, Mixture, QkNorm, dense_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, rotated, sandwich};
use crate::config::{ConfigError, Keys};
use crate::units::Unit;

const CLASS: Class =
    Class { vocab: 151_552, hidden: 4096, layers: 40, heads: 32, kv_heads: Some(2), head_dim: Some(128) };

const NORMS: [&str; 4] =
    ["input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"];

/// The model of layers that `shape` makes of attention and a feed-forward network.
fn read(
    config: &FamilyConfig,
    shape: impl Fn(u64, Vec<Unit>, Vec<Unit>) -> Vec<Unit>,
) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let attention = Gqa {
        qkv_bias: keys.flag_or("attention_bias", true)?,
        rotated: rotated(keys, trunk.head_dim, 0.5)?,
        ..trunk.attention()
    };
    let inner = keys.size_or("intermediate_size", 13_696)?;
    let feed_forward = dense_mlp(trunk.hidden, inner, false);
    let layer = shape(trunk.hidden, attention.units(), feed_forward);
    let layer = renamed(layer, &[("mlp.gate_proj", "mlp.gate_up_proj")]);
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}

pub(super) fn glm(config: &FamilyConfig) -> Result<Design, ConfigError> {
    read(config, pre_norm)
}

pub(super) fn glm4(config: &FamilyConfig) -> Result<Design, ConfigError> {
    read(config, |hidden, attention, feed_forward| sandwich(hidden, NORMS, attention, feed_forward))
}

const MOE_CLASS: Class =
    Class { vocab: 151_552, hidden: 4096, layers: 46, heads: 96, kv_heads: Some(8), head_dim: None };

fn mixture(keys: &Keys, hidden: u64) -> Result<Vec<Unit>, ConfigError> {
    let mixture = Mixture::read(keys, hidden, ("n_routed_experts", 128), 8, ("moe_intermediate_size", 1408))?;
    let shared = keys.count_or("n_shared_experts", 1)?;
    if shared > mixture.experts {
        return Err(keys.wrong("n_shared_experts", "at most as many as there are routed experts"));
    }
    // The bias by which the router chooses is no parameter to Transformers.
    Ok(Mixture { shared: shared * mixture.inner, ..mixture }.units())
}

pub(super) fn glm4_moe(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, MOE_CLASS)?;
    let hidden = trunk.hidden;
    let attention = Gqa {
        qkv_bias: keys.flag_or("attention_bias", false)?,
        qk_norm: if keys.flag_or("use_qk_norm", false)? { QkNorm::Head } else { QkNorm::None },
        rotated: rotated(keys, trunk.head_dim, 0.5)?,
        ..trunk.attention()
    }
    .units();
    let dense_layers = keys.count_or("first_k_dense_replace", 1)?;
    let dense = dense_mlp(hidden, keys.size_or("intermediate_size", 10_944)?, false);
    let sparse = mixture(keys, hidden)?;
    let layers = (0..trunk.layers as u64).map(|layer| {
        let feed_forward = if layer < dense_layers { &dense } else { &sparse };
        pre_norm(hidden, attention.clone(), feed_forward.clone())
    });
    let design = trunk.decoder(config.tied(false)?, layers);
    // Stored, and left out by Transformers; their shape is DeepSeek's (vLLM's glm4_moe_mtp).
    with_drafts(design, keys, &pre_norm(hidden, attention, sparse))
}
