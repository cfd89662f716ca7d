//! Phi-3, Phi-3.5 and Phi-4 (arXiv 2404.14219, 2412.08905): matrices stored together; Transformers'
//! `Phi3ForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, dense_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, mask_of, rotated, window_or};
use crate::config::ConfigError;

const CLASS: Class =
    Class { vocab: 32_064, hidden: 3072, layers: 32, heads: 32, kv_heads: None, head_dim: None };

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let attention = Gqa {
        mask: mask_of(window_or(keys, None)?),
        rotated: rotated(keys, trunk.head_dim, 1.0)?,
        ..trunk.attention()
    };
    let inner = keys.size_or("intermediate_size", 8192)?;
    let feed_forward = dense_mlp(trunk.hidden, inner, false);
    let layer = renamed(
        pre_norm(trunk.hidden, attention.units(), feed_forward),
        &[("self_attn.q_proj", "self_attn.qkv_proj"), ("mlp.gate_proj", "mlp.gate_up_proj")],
    );
    let layers = vec![layer; trunk.layers];
    Ok(trunk.decoder(config.tied(false)?, layers))
}
