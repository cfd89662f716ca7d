//! LFM2 (arXiv 2511.23404): short gated convolutions with an attention layer now and then; LFM2-MoE with
//! experts, LFM2-VL with images. Transformers' `Lfm2ForCausalLM`, `Lfm2MoeForCausalLM` and
//! `Lfm2VlForConditionalGeneration`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, QkNorm, all_reduce, gated_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, by_word};
use crate::config::{ConfigError, Keys};
use crate::units::{Conv, Dim, Linear, Unit};
use crate::vision;

const CLASS: Class =
    Class { vocab: 65_536, hidden: 2_560, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

const KINDS: &str = "conv or full_attention for each layer";

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let sparse = keys.text("model_type").unwrap_or(config.model_type) == "lfm2_moe";
    let trunk = Trunk::read(keys, Class { hidden: if sparse { 2_048 } else { CLASS.hidden }, ..CLASS })?;
    let (hidden, depth) = (trunk.hidden, trunk.layers);
    let attention = Gqa { qk_norm: QkNorm::Head, ..trunk.attention() };
    let attention = renamed(attention.units(), &[("self_attn.o_proj", "self_attn.out_proj")]);
    let conv = short_conv(hidden, keys.size_or("conv_L_cache", 3)?, keys.flag_or("conv_bias", false)?);
    let dense = dense(hidden, if sparse { keys.size_or("intermediate_size", 7_168)? } else { width(keys)? });
    let mixture = if sparse { Some((mixture(keys, hidden)?, dense_layers(keys)?)) } else { None };
    let layer = |(index, full): (usize, bool)| {
        let feed_forward = match &mixture {
            Some((experts, dense_layers)) if index as u64 >= *dense_layers => experts.clone(),
            _ => dense.clone(),
        };
        pre_norm(hidden, if full { attention.clone() } else { conv.clone() }, feed_forward)
    };
    let layers = full_layers(keys, depth, sparse)?.into_iter().enumerate().map(layer);
    let mut design = trunk.decoder(tied(config)?, layers);
    design.vision = vision::lfm2_vl::read(&config.root, hidden)?;
    Ok(design)
}

/// Of the whole where there are images, with an older spelling before the newer.
fn tied(config: &FamilyConfig) -> Result<bool, ConfigError> {
    let keys = if config.nested { &config.root } else { &config.text };
    keys.flag_or("tie_embedding", keys.flag_or("tie_word_embeddings", true)?)
}

fn full_layers(keys: &Keys, depth: usize, sparse: bool) -> Result<Vec<bool>, ConfigError> {
    let indices = keys.numbers("full_attn_idxs")?;
    if let Some(full) = by_word(keys, "layer_types", depth, "full_attention", "conv", KINDS)? {
        return Ok(full);
    }
    if sparse {
        return Err(keys.missing("layer_types"));
    }
    let is_full = |index: usize| indices.as_ref().is_none_or(|indices| indices.contains(&(index as u64)));
    Ok((0..depth).map(is_full).collect())
}

fn width(keys: &Keys) -> Result<u64, ConfigError> {
    let named = keys.size_or("intermediate_size", 12_288)?;
    let mut inner = keys.size_or("block_ff_dim", named)?;
    if !keys.flag_or("block_auto_adjust_ff_dim", true)? {
        return Ok(inner);
    }
    inner = 2 * inner / 3;
    // Null leaves out the multiple as well.
    if !keys.names("block_ffn_dim_multiplier") || keys.get("block_ffn_dim_multiplier").is_some() {
        let factor = keys.fraction_or("block_ffn_dim_multiplier", 1.0)?;
        let scaled = factor * inner as f64;
        if scaled > f64::from(1_u32 << 26) {
            return Err(keys.wrong("block_ffn_dim_multiplier", "a factor near 1"));
        }
        inner = (scaled as u64).next_multiple_of(keys.size_or("block_multiple_of", 256)?);
    }
    if inner == 0 {
        return Err(keys.wrong("intermediate_size", "a width that its adjustments leave above 0"));
    }
    Ok(inner)
}

const NAMES: &[(&str, &str)] = &[("mlp.gate_proj", "feed_forward.w1"), ("mlp.down_proj", "feed_forward.w2")];

fn dense(hidden: u64, inner: u64) -> Vec<Unit> {
    let mut units = renamed(gated_mlp("mlp", hidden, inner, false), NAMES);
    units.push(all_reduce(hidden));
    units
}

fn dense_layers(keys: &Keys) -> Result<u64, ConfigError> {
    keys.count_or("num_dense_layers", 2)
}

fn mixture(keys: &Keys, hidden: u64) -> Result<Vec<Unit>, ConfigError> {
    // A buffer that is added to the scores.
    keys.ignore(&["use_expert_bias"]);
    let mixture = Mixture::plain(
        hidden,
        keys.size_or("num_experts", 32)?,
        keys.size_or("num_experts_per_tok", 4)?,
        keys.size_or("moe_intermediate_size", 1_792)?,
    )
    .checked(keys, "num_experts_per_tok")?;
    Ok(renamed(mixture.units(), &[("mlp.experts.0.gate_proj", "feed_forward.experts.0.w1")]))
}

fn short_conv(hidden: u64, kernel: u64, bias: bool) -> Vec<Unit> {
    let wide = Dim::split(hidden, 1);
    vec![
        Linear::new("in_proj", "conv.proj", Dim::whole(hidden), [wide, wide, wide])
            .at("conv.in_proj")
            .bias(bias)
            .vector(2 * hidden)
            .unit("6·T·h²"),
        Conv::unit("conv.core", vec![wide], kernel, bias, 0),
        Linear::new("out_proj", "conv.proj", wide, [Dim::whole(hidden)])
            .at("conv.out_proj")
            .bias(bias)
            .unit("2·T·h²"),
        all_reduce(hidden),
    ]
}
