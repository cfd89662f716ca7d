//! Step-3.5-Flash and Step-3.7-Flash (text): window layers with more heads than the others, a gate for
//! each head, a shared expert. Transformers' `Step3p7ForConditionalGeneration`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, QkNorm, dense_mlp, gated_mlp, pre_norm};
use super::trunk::{Class, DENSE_OR_SPARSE, Trunk, by_word, check_heads, mask_of, window_or};
use crate::config::{ConfigError, Keys};
use crate::units::{Dim, Linear, Unit};
use crate::vision;

const CLASS: Class =
    Class { vocab: 128_815, hidden: 4_096, layers: 45, heads: 64, kv_heads: None, head_dim: Some(128) };

const KINDS: &str = "full_attention or sliding_attention for each layer";

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // A buffer and factors of the router: no shapes.
    keys.ignore(&[
        "use_moe_router_bias",
        "moe_router_scaling_factor",
        "moe_router_activation",
        "norm_expert_weight",
    ]);
    for key in ["moe_every_n_layer", "n_shared_experts"] {
        if keys.count_or(key, 1)? != 1 {
            return Err(keys.wrong(key, "1"));
        }
    }
    let mut trunk = Trunk::read(keys, CLASS)?;
    let rows_in_file = trunk.vocab;
    // Transformers' class takes sizes from `text_config` alone. Flat files repeat its own sizes in all
    // but the rows of the embedding, which they round up: what is counted is what the class builds.
    let is_flat = config.model_type == "step3p7" && !config.nested;
    if is_flat {
        trunk.vocab = CLASS.vocab;
    }
    let Trunk { hidden, heads, head_dim, layers: depth, .. } = trunk;
    let kv_heads = any(keys, &["num_key_value_heads", "num_attention_groups"], 8)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let mlp_bias = keys.flag_or("mlp_bias", false)?;
    let full = Gqa { qkv_bias: bias, o_bias: bias, qk_norm: QkNorm::Head, kv_heads, ..trunk.attention() };
    check_heads(keys, heads, kv_heads, head_dim)?;
    let windowed =
        Gqa { heads: window_heads(keys, heads, kv_heads)?, mask: mask_of(window_or(keys, None)?), ..full };
    check_heads(keys, windowed.heads, kv_heads, head_dim)?;
    let dense = dense_mlp(hidden, keys.size_or("intermediate_size", 11_264)?, mlp_bias);
    let sparse = experts(keys, hidden, mlp_bias)?;
    let windows = by_word(keys, "layer_types", depth, "sliding_attention", "full_attention", KINDS)?
        .unwrap_or_else(|| vec![false; depth]);
    let layers = windows.into_iter().zip(sparse_layers(keys, depth)?).map(|(window, has_experts)| {
        let attention = attention(if window { &windowed } else { &full });
        pre_norm(hidden, attention, if has_experts { sparse.clone() } else { dense.clone() })
    });
    // The class asks the whole, which a flat file is itself.
    let tied = config.root.flag_or("tie_word_embeddings", false)?;
    let mut design = trunk.decoder(tied, layers);
    // The generation before has no tower.
    if config.model_type == "step3p7" {
        design.vision = Some(vision::step3p7::read(&config.root, hidden)?);
    }
    if is_flat && rows_in_file != CLASS.vocab {
        design.notes.push(format!(
            "vocab_size {rows_in_file} of a flat file is not read by Transformers' class: {} rows are counted",
            CLASS.vocab
        ));
    }
    if keys.has("num_nextn_predict_layers") {
        design.notes.push("draft layers are not counted: the files do not give their shape".to_owned());
    }
    Ok(design)
}

fn any(keys: &Keys, spellings: &[&str], default: u64) -> Result<u64, ConfigError> {
    let mut found = None;
    for key in spellings {
        let size = keys.size_if(key)?;
        found = found.or(size);
    }
    Ok(found.unwrap_or(default))
}

fn window_heads(keys: &Keys, heads: u64, kv_heads: u64) -> Result<u64, ConfigError> {
    let legacy = match keys.inside("attention_other_setting") {
        Some(legacy) => {
            if legacy.size_or("num_attention_groups", kv_heads)? != kv_heads {
                return Err(legacy.wrong("num_attention_groups", "that of the other layers"));
            }
            legacy.size_or("num_attention_heads", heads)?
        }
        None => heads,
    };
    keys.size_or("num_sliding_attention_heads", legacy)
}

/// Which layers have experts: by list, by the numbers of a text, else all after the dense ones.
fn sparse_layers(keys: &Keys, depth: usize) -> Result<Vec<bool>, ConfigError> {
    let first = keys.count_or("first_k_dense_replace", 3)?;
    let numbers: Option<Vec<u64>> = match keys.text("moe_layers_enum") {
        Some(text) => {
            let parsed: Result<_, _> =
                text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::parse).collect();
            Some(parsed.map_err(|_| keys.wrong("moe_layers_enum", "numbers of layers, with commas"))?)
        }
        None => keys.numbers("moe_layers_enum")?,
    };
    let listed = by_word(keys, "mlp_layer_types", depth, "sparse", "dense", DENSE_OR_SPARSE)?;
    let has = |index: u64| numbers.as_ref().map_or(index >= first, |numbers| numbers.contains(&index));
    Ok(listed.unwrap_or_else(|| (0..depth as u64).map(has).collect()))
}

fn experts(keys: &Keys, hidden: u64, bias: bool) -> Result<Vec<Unit>, ConfigError> {
    let spellings = ["n_routed_experts", "moe_num_experts", "num_local_experts", "num_experts"];
    let mixture = Mixture::plain(
        hidden,
        any(keys, &spellings, 288)?,
        any(keys, &["num_experts_per_tok", "moe_top_k"], 8)?,
        keys.size_or("moe_intermediate_size", 1_280)?,
    )
    .checked(keys, "num_experts_per_tok")?;
    let mut units = mixture.units();
    let shared = any(keys, &["share_expert_dim", "share_expert_dims"], 1_280)?;
    let sum = units.len().saturating_sub(1);
    units.splice(sum..sum, gated_mlp("moe.shared", hidden, shared, bias));
    Ok(units)
}

fn attention(shape: &Gqa) -> Vec<Unit> {
    let mut units = shape.units();
    let gate = Linear::new("g_proj", "attn.gate", Dim::whole(shape.hidden), [Dim::split(shape.heads, 1)])
        .at("self_attn.g_proj")
        .vector(shape.heads * (shape.head_dim + 4))
        .unit("2·T·h·H");
    units.insert(1, gate);
    units
}
