//! OLMo 2 (arXiv 2501.00656) and Olmo 3: norms behind the blocks instead of before, and over all queries
//! and all keys; Transformers' `Olmo2ForCausalLM` and `Olmo3ForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, QkNorm, all_reduce, gated_mlp};
use super::trunk::{Class, Trunk, window_or};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Norm, Unit};

const CLASS: Class =
    Class { vocab: 50_304, hidden: 4096, layers: 32, heads: 32, kv_heads: None, head_dim: None };

fn layers(keys: &Keys, trunk: &Trunk, masks: Vec<Mask>) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let bias = keys.flag_or("attention_bias", false)?;
    let attention = Gqa { qkv_bias: bias, o_bias: bias, qk_norm: QkNorm::Full, ..trunk.attention() };
    let feed_forward = gated_mlp("mlp", trunk.hidden, keys.size_or("intermediate_size", 11_008)?, false);
    let layer = |mask| {
        let mut units = Gqa { mask, ..attention }.units();
        units.push(Unit::Norm(Norm::residual("post_attention_layernorm", trunk.hidden)));
        units.extend(feed_forward.iter().cloned());
        units.push(all_reduce(trunk.hidden));
        units.push(Unit::Norm(Norm::residual("post_feedforward_layernorm", trunk.hidden)));
        units
    };
    Ok(masks.into_iter().map(layer).collect())
}

pub(super) fn olmo2(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, CLASS)?;
    let layers = layers(&config.text, &trunk, vec![Mask::Causal; trunk.layers])?;
    Ok(trunk.decoder(config.tied(false)?, layers))
}

pub(super) fn olmo3(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let masks = trunk.masks(keys, window_or(keys, Some(4096))?, |layer| !(layer + 1).is_multiple_of(4))?;
    let layers = layers(keys, &trunk, masks)?;
    Ok(trunk.decoder(config.tied(false)?, layers))
}
