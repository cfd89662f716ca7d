//! Llama 4 Scout and Maverick (text): experts in every layer or every other, attention within chunks in
//! layers with positions. Transformers' `Llama4ForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, dense_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, by_number, by_word};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::Unit;

const CLASS: Class =
    Class { vocab: 202_048, hidden: 5_120, layers: 48, heads: 40, kv_heads: Some(8), head_dim: Some(128) };

const KINDS: &str = "chunked_attention or full_attention for each layer";

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    let (hidden, depth) = (trunk.hidden, trunk.layers);
    let bias = keys.flag_or("attention_bias", false)?;
    let shape = Gqa { qkv_bias: bias, o_bias: bias, ..trunk.attention() };
    let dense = dense_mlp(hidden, keys.size_or("intermediate_size_mlp", 16_384)?, false);
    let dense = renamed(dense, NAMES);
    let sparse = experts(keys, hidden)?;
    let has_experts = expert_layers(keys, depth)?;
    let chunked = chunked_layers(keys, depth)?;
    let layers = chunked.into_iter().zip(has_experts).map(|((mask, rotates), experts)| {
        let rotated = if rotates { shape.head_dim } else { 0 };
        let attention = Gqa { mask, rotated, ..shape }.units();
        pre_norm(hidden, attention, if experts { sparse.clone() } else { dense.clone() })
    });
    let mut design = trunk.decoder(config.tied(false)?, layers);
    if config.nested {
        design.path = "language_model.model.layers";
    }
    // The class that generates text has no images.
    design.vision = None;
    design.vision_is_apart = true;
    Ok(design)
}

const NAMES: &[(&str, &str)] = &[
    ("mlp.gate_proj", "feed_forward.gate_proj"),
    ("mlp.down_proj", "feed_forward.down_proj"),
    ("mlp.shared_experts.gate_proj", "feed_forward.shared_expert.gate_proj"),
    ("mlp.shared_experts.down_proj", "feed_forward.shared_expert.down_proj"),
    ("mlp.experts.0.gate_proj", "feed_forward.experts.gate_up_proj"),
];

fn experts(keys: &Keys, hidden: u64) -> Result<Vec<Unit>, ConfigError> {
    let inner = keys.size_or("intermediate_size", 8_192)?;
    let mixture = Mixture::plain(
        hidden,
        keys.size_or("num_local_experts", 16)?,
        keys.size_or("num_experts_per_tok", 1)?,
        inner,
    )
    .checked(keys, "num_experts_per_tok")?;
    let mixture = Mixture { shared: inner, ..mixture };
    let mut units = renamed(mixture.units(), NAMES);
    for unit in &mut units {
        if let Unit::Experts(experts) = unit {
            // The class sends every token through every expert and multiplies by zero.
            experts.counted_per_token = experts.count;
        }
    }
    Ok(units)
}

fn expert_layers(keys: &Keys, depth: usize) -> Result<Vec<bool>, ConfigError> {
    let step = keys.size_or("interleave_moe_layer_step", 1)?;
    Ok(match keys.numbers("moe_layers")? {
        Some(layers) => (0..depth as u64).map(|index| layers.contains(&index)).collect(),
        None => (0..depth as u64).map(|index| (index + 1) % step == 0).collect(),
    })
}

fn chunked_layers(keys: &Keys, depth: usize) -> Result<Vec<(Mask, bool)>, ConfigError> {
    let chunk =
        if keys.names("attention_chunk_size") { keys.size_if("attention_chunk_size")? } else { Some(8_192) };
    let every = keys.size_or("no_rope_layer_interval", 4)?;
    // An empty list is none.
    let listed = if keys.has("no_rope_layers") { by_number(keys, "no_rope_layers", depth)? } else { None };
    let rotates = listed.unwrap_or_else(|| (0..depth as u64).map(|index| (index + 1) % every != 0).collect());
    let chunked = by_word(keys, "layer_types", depth, "chunked_attention", "full_attention", KINDS)?
        .unwrap_or_else(|| rotates.clone());
    let of = |(chunked, rotates): (bool, bool)| {
        let mask = chunk.filter(|_| chunked).map_or(Mask::Causal, Mask::Chunk);
        (mask, rotates)
    };
    Ok(chunked.into_iter().zip(rotates).map(of).collect())
}
