//! Llama 2 (arXiv 2307.09288), 3, 3.1 and 3.2 (text), and the many models of the same shape;
//! Transformers' `LlamaForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, dense_mlp, pre_norm};
use super::trunk::{Class, Trunk};
use crate::config::ConfigError;

const CLASS: Class =
    Class { vocab: 32_000, hidden: 4096, layers: 32, heads: 32, kv_heads: None, head_dim: None };

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let attention = Gqa { qkv_bias: bias, o_bias: bias, ..trunk.attention() };
    let inner = keys.size_or("intermediate_size", 11_008)?;
    let feed_forward = dense_mlp(trunk.hidden, inner, keys.flag_or("mlp_bias", false)?);
    let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}
