//! OLMo 2 (arXiv 2501.00656) and Olmo 3: norms behind the blocks instead of before, and over all queries
//! and all keys; Transformers' `Olmo2ForCausalLM` and `Olmo3ForCausalLM`.

use super::shapes::{Gqa, QkNorm, all_reduce, gated_mlp};
use super::trunk::{Trunk, TrunkDefaults, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Norm, Unit};

/// OLMo 2.
pub(crate) struct Olmo2;
/// Olmo 3.
pub(crate) struct Olmo3;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 50_304, hidden: 4096, layers: 32, heads: 32, kv_heads: None, head_dim: None };

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

impl Family for Olmo2 {
    fn name(&self) -> &'static str {
        "olmo2"
    }

    fn about(&self) -> &'static str {
        "OLMo 2 1B to 32B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["olmo2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let trunk = Trunk::read(&config.text, CLASS)?;
        let layers = layers(&config.text, &trunk, vec![Mask::Causal; trunk.layers])?;
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}

impl Family for Olmo3 {
    fn name(&self) -> &'static str {
        "olmo3"
    }

    fn about(&self) -> &'static str {
        "Olmo 3 7B and 32B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["olmo3"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let masks =
            trunk.masks(keys, window_or(keys, Some(4096))?, |layer| !(layer + 1).is_multiple_of(4))?;
        let layers = layers(keys, &trunk, masks)?;
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
