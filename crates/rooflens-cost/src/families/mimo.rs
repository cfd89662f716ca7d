//! MiMo-7B (arXiv 2505.07608): Qwen2's layers, and one that drafts; read from the model's own code (`MiMoForCausalLM`).
//! MiMo-V2-Flash: most layers see a window with sinks and have other heads than the rest, keys and values differ in width,
//! experts from the second layer on; Transformers' `MiMoV2FlashForCausalLM`.
//!
//! The class of MiMo-V2-Flash knows only shapes in which window layers have twice the key heads of the others; the keys
//! that say so in files (`swa_*`, `hybrid_layer_pattern`, `moe_layer_freq`) are read here, so that a change of them
//! changes the model.

use super::design::{Design, FamilyConfig};
use super::mla::with_drafts;
use super::shapes::{Gqa, Mixture, dense_mlp, pre_norm};
use super::trunk::{Class, DENSE_OR_SPARSE, Trunk, by_number, by_word, check_heads};
use crate::config::ConfigError;
use crate::step::Mask;

pub(super) fn mimo(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let hidden = keys.size("hidden_size")?;
    let heads = keys.size("num_attention_heads")?;
    let head_dim = keys.size_or("head_dim", (hidden / heads).max(1))?;
    let shape = Gqa {
        qkv_bias: keys.flag_or("attention_bias", true)?,
        ..Gqa::plain(hidden, heads, keys.size_or("num_key_value_heads", heads)?, head_dim)
    };
    check_heads(keys, heads, shape.kv_heads, head_dim)?;
    let feed_forward = dense_mlp(hidden, keys.size("intermediate_size")?, false);
    let layer = |mask: Mask| pre_norm(hidden, Gqa { mask, ..shape }.units(), feed_forward.clone());

    // As in Qwen2, the layers from `max_window_layers` on have the window, where there is one.
    let window = if keys.flag_or("use_sliding_window", false)? {
        Some(Mask::Window(keys.size_or("sliding_window", 4_096)?))
    } else {
        None
    };
    let from = keys.count_or("max_window_layers", 28)? as usize;
    let depth = keys.layers("num_hidden_layers")?;
    let mask = |index: usize| window.filter(|_| index >= from).unwrap_or(Mask::Causal);
    let layers = (0..depth).map(|index| layer(mask(index)));
    let design = Design::decoder(hidden, keys.size("vocab_size")?, config.tied(false)?, layers);
    with_drafts(design, keys, &layer(Mask::Causal))
}

const CLASS: Class =
    Class { vocab: 152_576, hidden: 4_096, layers: 48, heads: 64, kv_heads: Some(4), head_dim: Some(192) };

const KINDS: &str = "full_attention or sliding_attention for each layer";

pub(super) fn mimo_v2(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // A frequency, no shape.
    keys.ignore(&["swa_rope_theta"]);
    if keys.has("n_shared_experts") {
        return Err(keys.wrong("n_shared_experts", "0: a shared expert is not known here"));
    }
    let trunk = Trunk::read(keys, CLASS)?;
    let Trunk { hidden, heads, kv_heads, head_dim, layers: depth, .. } = trunk;
    let v_head_dim = keys.size_or("v_head_dim", 128)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let rotary = keys.fraction_or("partial_rotary_factor", 0.334)?;
    let rotated = |width: u64| (width as f64 * rotary.min(1.0)) as u64;
    let full = Gqa {
        qkv_bias: bias,
        v_head_dim,
        rotated: rotated(head_dim),
        sinks: keys.flag_or("add_full_attention_sink_bias", false)?,
        ..trunk.attention()
    };
    // The engines' window has `sliding_window_size` tokens and the query.
    let window = match keys.size_if("sliding_window_size")? {
        Some(size) => size + 1,
        None => keys.size_or("sliding_window", 129)?,
    };
    let width = keys.size_or("swa_head_dim", head_dim)?;
    let windowed = Gqa {
        qkv_bias: bias,
        v_head_dim: keys.size_or("swa_v_head_dim", v_head_dim)?,
        rotated: rotated(width),
        mask: Mask::Window(window),
        sinks: keys.flag_or("add_swa_attention_sink_bias", true)?,
        ..Gqa::plain(
            hidden,
            keys.size_or("swa_num_attention_heads", heads)?,
            keys.size_or("swa_num_key_value_heads", 2 * kv_heads)?,
            width,
        )
    };
    check_heads(keys, windowed.heads, windowed.kv_heads, windowed.head_dim)?;
    let dense = dense_mlp(hidden, keys.size_or("intermediate_size", 16_384)?, false);
    let mixture =
        Mixture::read(keys, hidden, ("n_routed_experts", 256), 8, ("moe_intermediate_size", 2_048))?;
    let numbered = by_number(keys, "hybrid_layer_pattern", depth)?;
    let windows = by_word(keys, "layer_types", depth, "sliding_attention", "full_attention", KINDS)?
        .or(numbered)
        .unwrap_or_else(|| (0..depth).map(|index| index != 0 && (index + 1) % 6 != 0).collect());
    let numbered = by_number(keys, "moe_layer_freq", depth)?;
    let sparse = by_word(keys, "mlp_layer_types", depth, "sparse", "dense", DENSE_OR_SPARSE)?
        .or(numbered)
        .unwrap_or_else(|| (0..depth).map(|index| index != 0).collect());
    let layers = windows.into_iter().zip(sparse).map(|(window, sparse)| {
        let attention = if window { &windowed } else { &full };
        pre_norm(hidden, attention.units(), if sparse { mixture.units() } else { dense.clone() })
    });
    Ok(trunk.decoder(config.tied(false)?, layers))
}
