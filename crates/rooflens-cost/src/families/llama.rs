//! Llama 2, 3, 3.1 and 3.2 (text), and the many models of the same shape.

use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::{Design, Family, Source};
use crate::config::ConfigError;

/// The family.
pub struct Llama;

impl Family for Llama {
    fn name(&self) -> &'static str {
        "llama"
    }

    fn about(&self) -> &'static str {
        "Llama 2, 3, 3.1 and 3.2 (text), Code Llama, Yi"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["llama"]
    }

    fn read(&self, config: &Source) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let hidden = keys.size("hidden_size")?;
        let heads = keys.size("num_attention_heads")?;
        let bias = keys.flag_or("attention_bias", false)?;
        let attention = Gqa {
            qkv_bias: bias,
            o_bias: bias,
            ..Gqa::plain(
                hidden,
                heads,
                keys.size_or("num_key_value_heads", heads)?,
                keys.size_or("head_dim", hidden / heads)?,
            )
        };
        let mlp_bias = keys.flag_or("mlp_bias", false)?;
        let mut feed_forward = gated_mlp("mlp", hidden, keys.size("intermediate_size")?, mlp_bias);
        feed_forward.push(all_reduce(hidden));
        let layer = pre_norm(hidden, attention.units(), feed_forward);
        let layers = vec![layer; keys.layers("num_hidden_layers")?];
        Ok(Design::decoder(hidden, keys.size("vocab_size")?, config.tied(false)?, layers))
    }
}
