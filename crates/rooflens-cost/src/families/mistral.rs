//! Mistral 7B (arXiv 2310.06825), Mistral Nemo, Mixtral 8x7B and 8x22B (arXiv 2401.04088); Transformers'
//! `MistralForCausalLM` and `MixtralForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Mixture, dense_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, mask_of, window_or};
use crate::config::ConfigError;

const CLASS: Class =
    Class { vocab: 32_000, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

pub(super) fn mistral(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let mut attention = trunk.attention();
    attention.mask = mask_of(window_or(keys, Some(4096))?);
    let inner = keys.size_or("intermediate_size", 14_336)?;
    let feed_forward = dense_mlp(trunk.hidden, inner, false);
    let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}

pub(super) fn mixtral(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let mut attention = trunk.attention();
    attention.mask = mask_of(window_or(keys, None)?);
    // The only width in the file is that of an expert.
    let mixture =
        Mixture::read(keys, trunk.hidden, ("num_local_experts", 8), 2, ("intermediate_size", 14_336))?;
    let feed_forward =
        renamed(mixture.units(), &[("mlp.experts.0.gate_proj", "block_sparse_moe.experts.0.w1")]);
    let layer = pre_norm(trunk.hidden, attention.units(), feed_forward);
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}
