//! Gemma 2 (arXiv 2408.00118) and Gemma 3 (arXiv 2503.19786): norms around every block, windows in most layers, tied
//! embeddings. Gemma 4: heads of other widths in layers with full attention, layers that share keys and values, inputs for
//! each layer (E2B, E4B), experts beside a dense network (26B-A4B). Transformers' `Gemma2ForCausalLM`, `Gemma3ForCausalLM`,
//! `Gemma4ForCausalLM`, and `ForConditionalGeneration` of the last two.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, PLAIN, QkNorm, all_reduce, dense_mlp, renamed};
use super::trunk::{Class, Trunk, check_heads, post_norm, sandwich, window_or};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Dim, Embedding, KvCache, Linear, Norm, Unit, Weights};
use crate::vision;

const CLASS: Class =
    Class { vocab: 256_000, hidden: 2304, layers: 26, heads: 8, kv_heads: Some(4), head_dim: Some(256) };
const CLASS_3: Class = Class { vocab: 262_208, ..CLASS };

const NORMS: [&str; 4] = [
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
];

/// Refuses models that embed text: they see what follows, and generate nothing.
fn check_causal(keys: &Keys) -> Result<(), ConfigError> {
    const KEY: &str = "use_bidirectional_attention";
    // `vision` concerns the tokens of one image among themselves.
    if keys.has(KEY) && keys.text(KEY) != Some("vision") {
        return Err(keys.wrong(KEY, "false, or \"vision\": a model that generates text"));
    }
    Ok(())
}

/// Counts the cap on logits: divide, tanh, multiply.
fn cap_logits(design: &mut Design) {
    for unit in &mut design.after {
        if let Unit::Linear(head) = unit {
            head.vector_flops += 6 * design.vocab;
        }
    }
}

/// The layers of Gemma 2 and 3: `pattern` layers go by, then comes one with full attention.
fn layers(keys: &Keys, trunk: &Trunk, qk_norm: QkNorm, pattern: u64) -> Result<Vec<Vec<Unit>>, ConfigError> {
    check_causal(keys)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let attention = Gqa { qkv_bias: bias, o_bias: bias, qk_norm, ..trunk.attention() };
    let feed_forward = dense_mlp(trunk.hidden, keys.size_or("intermediate_size", 9216)?, false);
    let window = window_or(keys, Some(4096))?;
    let masks = trunk.masks(keys, window, |layer| !(layer as u64 + 1).is_multiple_of(pattern))?;
    let layer = |mask| sandwich(trunk.hidden, NORMS, Gqa { mask, ..attention }.units(), feed_forward.clone());
    Ok(masks.into_iter().map(layer).collect())
}

pub(super) fn gemma2(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS)?;
    // Every other layer, which the file does not say.
    let layers = layers(keys, &trunk, QkNorm::None, 2)?;
    let mut design = trunk.decoder(config.tied(true)?, layers);
    if !keys.names("final_logit_softcapping") || keys.has("final_logit_softcapping") {
        cap_logits(&mut design);
    }
    Ok(design)
}

pub(super) fn gemma3(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS_3)?;
    let pattern = keys.size_or("sliding_window_pattern", 6)?;
    let layers = layers(keys, &trunk, QkNorm::Head, pattern)?;
    let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", true)?, layers);
    if keys.has("final_logit_softcapping") {
        cap_logits(&mut design);
    }
    if config.nested {
        design.path = "language_model.model.layers";
    }
    design.vision = vision::gemma::gemma3(&config.root, design.hidden)?;
    Ok(design)
}

const CLASS_4: Class =
    Class { vocab: 262_144, hidden: 2304, layers: 30, heads: 8, kv_heads: Some(4), head_dim: Some(256) };

/// Which keys the queries of each layer see; the last layer sees all, whatever the file says.
fn masks(keys: &Keys, trunk: &Trunk) -> Result<Vec<Mask>, ConfigError> {
    let mut masks = trunk.masks(keys, window_or(keys, Some(512))?, |layer| !(layer + 1).is_multiple_of(6))?;
    if let Some(last) = masks.last_mut() {
        *last = Mask::Causal;
    }
    Ok(masks)
}

/// The first of the layers at the end that read the keys and values of earlier ones.
fn first_sharing(keys: &Keys, masks: &[Mask]) -> Result<usize, ConfigError> {
    let sharing = keys.count_or("num_kv_shared_layers", 0)? as usize;
    let Some(first) = masks.len().checked_sub(sharing) else {
        return Err(keys.wrong("num_kv_shared_layers", "fewer layers than there are"));
    };
    let (own, shared) = masks.split_at(first);
    if shared.iter().any(|mask| !own.contains(mask)) {
        return Err(keys.wrong("num_kv_shared_layers", "an earlier layer of the same type to share with"));
    }
    Ok(first)
}

fn attention(keys: &Keys, trunk: &Trunk, layer: usize, mask: Mask) -> Result<Gqa, ConfigError> {
    let full = mask == Mask::Causal;
    let keys_as_values = full && keys.flag_or("attention_k_eq_v", false)?;
    let global_width = keys.size_or("global_head_dim", 512)?;
    let global_heads = keys.size_if("num_global_key_value_heads")?;
    let (mut kv_heads, mut width) = (trunk.kv_heads, trunk.head_dim);
    if full {
        width = global_width;
        kv_heads = global_heads.filter(|_| keys_as_values).unwrap_or(kv_heads);
    }
    // Newer files say it layer by layer.
    if let Some(each) = keys.inside("per_layer_config") {
        (kv_heads, width) = match each.inside(&layer.to_string()) {
            Some(one) => (
                one.size_or("num_key_value_heads", trunk.kv_heads)?,
                one.size_or("head_dim", trunk.head_dim)?,
            ),
            None => (trunk.kv_heads, trunk.head_dim),
        };
    }
    check_heads(keys, trunk.heads, kv_heads, width)?;
    let bias = keys.flag_or("attention_bias", false)?;
    Ok(Gqa {
        qkv_bias: bias,
        o_bias: bias,
        qk_norm: QkNorm::Head,
        // Layers with full attention rotate a quarter of a head (Gemma4TextConfig).
        rotated: if full { width / 4 } else { width },
        mask,
        keys_as_values,
        ..Gqa::plain(trunk.hidden, trunk.heads, kv_heads, width)
    })
}

fn experts(keys: &Keys, hidden: u64) -> Result<Vec<Unit>, ConfigError> {
    let experts = keys.size("num_experts")?;
    let (top_k, inner) = (keys.size("top_k_experts")?, keys.size("moe_intermediate_size")?);
    let mixture = Mixture::plain(hidden, experts, top_k, inner).checked(keys, "top_k_experts")?;
    let mut units = vec![
        post_norm("post_feedforward_layernorm_1", hidden),
        Unit::Weights(Weights {
            name: "router.scale, router.per_expert_scale",
            parameters: hidden + experts,
        }),
        post_norm("pre_feedforward_layernorm_2", hidden),
    ];
    units.extend(renamed(mixture.units(), &[("mlp.experts.0.gate_proj", "experts.gate_up_proj")]));
    units.push(post_norm("post_feedforward_layernorm_2", hidden));
    Ok(units)
}

/// What a layer does with its own input of `width` elements a token.
fn layer_input(hidden: u64, width: u64) -> Vec<Unit> {
    vec![
        Linear::new("per_layer_input_gate", "ple.proj", Dim::whole(hidden), [Dim::whole(width)])
            .at("per_layer_input_gate")
            .vector(5 * width)
            .unit("2·T·h·p"),
        Linear::new("per_layer_projection", "ple.proj", Dim::whole(width), [Dim::whole(hidden)])
            .at("per_layer_projection")
            .unit("2·T·p·h"),
        Unit::Norm(Norm::residual("post_per_layer_input_norm", hidden)),
    ]
}

fn layer_inputs(rows: u64, hidden: u64, width: u64, layers: u64) -> Vec<Unit> {
    let all = width * layers;
    vec![
        Unit::Embedding(Embedding {
            name: "embed_tokens_per_layer",
            rows: Dim::split(rows, 1),
            width: all,
            tied: false,
            shared: false,
            storage: PLAIN,
        }),
        all_reduce(all),
        Linear::new("per_layer_model_projection", "ple.proj", Dim::whole(hidden), [Dim::whole(all)])
            .at("per_layer_model_projection")
            .unit("2·T·h·L·p"),
        Unit::Norm(Norm::fused("per_layer_projection_norm", "norm", all, width)),
    ]
}

pub(super) fn gemma4(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, CLASS_4)?;
    check_causal(keys)?;
    let hidden = trunk.hidden;
    let masks = masks(keys, &trunk)?;
    let first_sharing = first_sharing(keys, &masks)?;
    let inner = keys.size_or("intermediate_size", 9216)?;
    let double = keys.flag_or("use_double_wide_mlp", false)?;
    let experts = if keys.flag_or("enable_moe_block", false)? {
        experts(keys, hidden)?
    } else {
        // Without the block nothing is made of them.
        keys.ignore(&["num_experts", "top_k_experts", "moe_intermediate_size", "expert_intermediate_size"]);
        Vec::new()
    };
    let input_width = match keys.names("hidden_size_per_layer_input") {
        true => keys.count_or("hidden_size_per_layer_input", 0)?,
        false => 256,
    };
    let mut layers = Vec::new();
    for (layer, mask) in masks.into_iter().enumerate() {
        let sharing = layer >= first_sharing;
        let mut attention = attention(keys, &trunk, layer, mask)?;
        attention.cache = if sharing { KvCache::Shared } else { KvCache::Own };
        let width = if sharing && double { 2 * inner } else { inner };
        let mut feed_forward = dense_mlp(hidden, width, false);
        feed_forward.extend(experts.iter().cloned());
        let mut units = sandwich(hidden, NORMS, attention.units(), feed_forward);
        if input_width > 0 {
            units.extend(layer_input(hidden, input_width));
        }
        layers.push(units);
    }
    let depth = layers.len() as u64;
    let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", true)?, layers);
    if input_width > 0 {
        let rows = keys.size_or("vocab_size_per_layer_input", 262_144)?;
        design.before.extend(layer_inputs(rows, hidden, input_width, depth));
    }
    if keys.has("final_logit_softcapping") {
        cap_logits(&mut design);
    }
    if config.nested {
        design.path = "model.language_model.layers";
    }
    design.vision = vision::gemma::gemma4(&config.root, hidden)?;
    Ok(design)
}
