//! MiMo-7B (arXiv 2505.07608): Qwen2's layers, and one that drafts. Read from the model's own code
//! (`MiMoForCausalLM`).

use super::mla::with_drafts;
use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::trunk::check_heads;
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::step::Mask;

/// The family.
pub(crate) struct Mimo;

impl Family for Mimo {
    fn name(&self) -> &'static str {
        "mimo"
    }

    fn about(&self) -> &'static str {
        "MiMo-7B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["mimo"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let hidden = keys.size("hidden_size")?;
        let heads = keys.size("num_attention_heads")?;
        let head_dim = keys.size_or("head_dim", (hidden / heads).max(1))?;
        let shape = Gqa {
            qkv_bias: keys.flag_or("attention_bias", true)?,
            ..Gqa::plain(hidden, heads, keys.size_or("num_key_value_heads", heads)?, head_dim)
        };
        check_heads(keys, heads, shape.kv_heads, head_dim)?;
        let mut feed_forward = gated_mlp("mlp", hidden, keys.size("intermediate_size")?, false);
        feed_forward.push(all_reduce(hidden));
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
        let layers = (0..depth).map(|index| layer(mask(index))).collect();
        let design = Design::decoder(hidden, keys.size("vocab_size")?, config.tied(false)?, layers);
        with_drafts(design, keys, &layer(Mask::Causal))
    }
}
