//! gpt-oss-20b and gpt-oss-120b (arXiv 2508.10925): windows in every other layer, a sink for each head,
//! experts with biases; Transformers' `GptOssForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, pre_norm};
use super::trunk::{Class, Trunk, window_or};
use crate::config::ConfigError;

const CLASS: Class =
    Class { vocab: 201_088, hidden: 2880, layers: 36, heads: 64, kv_heads: Some(8), head_dim: Some(64) };

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    // The same number under its older name, which the class does not read.
    keys.ignore(&["experts_per_token"]);
    let (hidden, bias) = (trunk.hidden, keys.flag_or("attention_bias", true)?);
    let attention = Gqa { qkv_bias: bias, o_bias: bias, sinks: true, ..trunk.attention() };
    // The only width in the file is that of an expert.
    let mixture = Mixture::read(keys, hidden, ("num_local_experts", 128), 4, ("intermediate_size", 2880))?;
    let feed_forward = Mixture { bias: true, router_bias: true, ..mixture }.units();
    let layers = trunk
        .masks(keys, window_or(keys, Some(128))?, |layer| layer.is_multiple_of(2))?
        .into_iter()
        .map(|mask| pre_norm(hidden, Gqa { mask, ..attention }.units(), feed_forward.clone()));
    Ok(trunk.decoder(config.tied(false)?, layers))
}
