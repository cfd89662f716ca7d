//! GLM-4 9B and GLM-4-0414 (arXiv 2406.12793): half of a head rotated, biases on queries, keys and values,
//! and in the later models norms around every block; Transformers' `GlmForCausalLM` and
//! `Glm4ForCausalLM`.

use super::modules::renamed;
use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, rotated, sandwich};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::units::Unit;

/// The first models.
pub(crate) struct Glm;
/// The later ones.
pub(crate) struct Glm4;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 151_552,
    hidden: 4096,
    layers: 40,
    heads: 32,
    kv_heads: Some(2),
    head_dim: Some(128),
};

/// The norms of a layer, where there are four.
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
    let mut feed_forward = gated_mlp("mlp", trunk.hidden, inner, false);
    feed_forward.push(all_reduce(trunk.hidden));
    let layer = shape(trunk.hidden, attention.units(), feed_forward);
    let layer = renamed(layer, &[("mlp.gate_proj", "mlp.gate_up_proj")]);
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}

impl Family for Glm {
    fn name(&self) -> &'static str {
        "glm"
    }

    fn about(&self) -> &'static str {
        "GLM-4 9B, GLM-Edge"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["glm"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        read(config, pre_norm)
    }
}

impl Family for Glm4 {
    fn name(&self) -> &'static str {
        "glm4"
    }

    fn about(&self) -> &'static str {
        "GLM-4-0414 9B and 32B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["glm4"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        read(config, |hidden, attention, feed_forward| sandwich(hidden, NORMS, attention, feed_forward))
    }
}
