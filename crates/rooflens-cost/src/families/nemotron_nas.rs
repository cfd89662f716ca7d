//! Llama-Nemotron Super and Ultra (arXiv 2411.19146): Llama layers of which a search removed, thinned or
//! replaced parts, layer by layer. Read from the model's own code (`DeciLMForCausalLM`).

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, all_reduce, gated_mlp};
use super::trunk::check_heads;
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Dim, Linear, Norm, Unit};

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // Each layer has its own, so that files give null here.
    keys.ignore(&["num_key_value_heads", "intermediate_size"]);
    let hidden = keys.size("hidden_size")?;
    let heads = keys.size("num_attention_heads")?;
    let head_dim = keys.size_or("head_dim", (hidden / heads).max(1))?;
    check_heads(keys, heads, 1, head_dim)?;
    let depth = keys.layers("num_hidden_layers")?;
    let Some(blocks) = keys.list("block_configs")? else { return Err(keys.missing("block_configs")) };
    keys.check_length("block_configs", blocks.len(), depth)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let mlp_bias = keys.flag_or("mlp_bias", false)?;
    let shape = Gqa { qkv_bias: bias, o_bias: bias, ..Gqa::plain(hidden, heads, heads, head_dim) };
    let mut layers = Vec::with_capacity(depth);
    for (index, block) in blocks.iter().take(depth).enumerate() {
        let Some(block) = block.as_object() else {
            return Err(keys.wrong("block_configs", "an object for each layer"));
        };
        let block = Keys::new(block, &format!("block_configs.{index}."));
        let mut units = attention(&block.need_inside("attention")?, &shape)?;
        units.extend(feed_forward(&block.need_inside("ffn")?, hidden, mlp_bias)?);
        layers.push(units);
    }
    Ok(Design::decoder(hidden, keys.size("vocab_size")?, config.tied(false)?, layers))
}

fn replacement(name: &'static str, class: &'static str, hidden: u64) -> Vec<Unit> {
    vec![
        Linear::new(name, class, Dim::whole(hidden), [Dim::split(hidden, 1)]).unit("2·T·h²"),
        all_reduce(hidden),
    ]
}

fn check(keys: &Keys, unknown: &[&str]) -> Result<(), ConfigError> {
    match unknown.iter().find(|key| keys.has(key)) {
        Some(key) => Err(keys.wrong(key, "null: what it does is not known")),
        None => Ok(()),
    }
}

fn attention(keys: &Keys, shape: &Gqa) -> Result<Vec<Unit>, ConfigError> {
    if keys.flag_or("no_op", false)? {
        return Ok(Vec::new());
    }
    let mut units = vec![Unit::Norm(Norm::residual("input_layernorm", shape.hidden))];
    if keys.flag_or("replace_with_linear", false)? {
        units.extend(replacement("linear_attn", "attn.linear", shape.hidden));
        return Ok(units);
    }
    check(keys, &["sparsify", "num_sink_tokens", "unshifted_sink", "use_prefill_window_in_sink_attention"])?;
    let group = keys.size("n_heads_in_group")?;
    if !shape.heads.is_multiple_of(group) {
        return Err(keys.wrong("n_heads_in_group", "a divisor of num_attention_heads"));
    }
    let mask = keys.size_if("window_length")?.map_or(Mask::Causal, Mask::Window);
    units.extend(Gqa { kv_heads: shape.heads / group, mask, ..*shape }.units());
    Ok(units)
}

fn feed_forward(keys: &Keys, hidden: u64, bias: bool) -> Result<Vec<Unit>, ConfigError> {
    if keys.flag_or("no_op", false)? {
        return Ok(Vec::new());
    }
    let mut units = vec![Unit::Norm(Norm::residual("post_attention_layernorm", hidden))];
    if keys.flag_or("replace_with_linear", false)? {
        units.extend(replacement("linear_mlp", "mlp", hidden));
        return Ok(units);
    }
    check(keys, &["sparsify", "moe"])?;
    let inner = match keys.size_if("intermediate_size")? {
        Some(inner) => inner,
        None => width(keys, hidden)?,
    };
    units.extend(gated_mlp("mlp", hidden, inner, bias));
    units.push(all_reduce(hidden));
    Ok(units)
}

/// The rule of the model's own code: two thirds of a multiple of the width, rounded up to 256.
fn width(keys: &Keys, hidden: u64) -> Result<u64, ConfigError> {
    let multiple = keys.fraction_or("ffn_mult", 0.0)?;
    let inner = (2.0 * multiple * hidden as f64 / 3.0) as u64;
    if inner == 0 || inner > 1 << 26 {
        return Err(keys.wrong("ffn_mult", "a multiple of hidden_size above 0"));
    }
    Ok(inner.next_multiple_of(256))
}
