//! MiMo-V2-Flash: most layers see a window with sinks and have heads of their own, keys and
//! values differ in width, experts from the second layer on. Transformers' `MiMoV2FlashForCausalLM`.
//!
//! The class knows only shapes in which window layers have twice the key heads of the others; the keys
//! that say so in files (`swa_*`, `hybrid_layer_pattern`, `moe_layer_freq`) are read here, so that a
//! change of them changes the model.

use super::lists::{DENSE_OR_SPARSE, by_number, by_word};
use super::shapes::{Gqa, Mixture, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts, check_heads};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::step::Mask;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 152_576,
    hidden: 4_096,
    layers: 48,
    heads: 64,
    kv_heads: Some(4),
    head_dim: Some(192),
};

const KINDS: &str = "full_attention or sliding_attention for each layer";

/// The family.
pub(crate) struct MimoV2;

impl Family for MimoV2 {
    fn name(&self) -> &'static str {
        "mimo_v2_flash"
    }

    fn about(&self) -> &'static str {
        "MiMo-V2-Flash"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mimo_v2_flash"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
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
        let mut dense = gated_mlp("mlp", hidden, keys.size_or("intermediate_size", 16_384)?, false);
        dense.push(all_reduce(hidden));
        let mixture = Mixture {
            hidden,
            experts: keys.experts_or("n_routed_experts", 256)?,
            top_k: keys.size_or("num_experts_per_tok", 8)?,
            inner: keys.size_or("moe_intermediate_size", 2_048)?,
            shared: 0,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        check_experts(keys, "num_experts_per_tok", mixture.top_k, mixture.experts)?;
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
        let layers = layers.collect();
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
