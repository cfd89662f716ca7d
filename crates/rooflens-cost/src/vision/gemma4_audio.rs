//! Gemma 4's tower for sound: stored beside the one for images, and never run for them. As
//! `Gemma4AudioModel` of Transformers has it, a conformer (arXiv 2005.08100).

use super::parts::{layers, linear, rms_norm, table, width};
use super::{StageSpan, TowerStage};
use crate::config::{ConfigError, Keys};

/// Its stages; none where there is no `audio_config`.
pub(super) fn stages(root: &Keys, hidden: u64) -> Result<Vec<TowerStage>, ConfigError> {
    let Some(keys) = root.inside("audio_config") else { return Ok(Vec::new()) };
    let inside = width(&keys, "hidden_size", 1024)?;
    let heads = width(&keys, "num_attention_heads", 8)?;
    if inside % heads != 0 {
        return Err(keys.wrong("num_attention_heads", "a divisor of hidden_size"));
    }
    let kernel = width(&keys, "conv_kernel_size", 5)?;
    let output = width(&keys, "output_proj_dims", 1536)?;
    let (first, second) = match keys.numbers("subsampling_conv_channels")?.as_deref() {
        None => (128, 32),
        Some([first, second]) => (*first, *second),
        Some(_) => return Err(keys.wrong("subsampling_conv_channels", "two numbers")),
    };
    let wide = |name, input, output| linear(name, "audio", input, output, false);
    let norm = |name| rms_norm(name, inside);
    let layer = vec![
        // Two feed-forward networks, each between two norms.
        wide("ffw_layer_1", inside, 8 * inside),
        wide("ffw_layer_2", 8 * inside, inside),
        table("ffw_norms", &[4, inside]),
        wide("qkv_and_relative", inside, 4 * inside),
        wide("post", inside, inside),
        table("per_dim_scale", &[inside / heads]),
        wide("linear_start", inside, 2 * inside),
        table("depthwise_conv1d", &[inside, kernel]),
        wide("linear_end", inside, inside),
        table("conv_norms", &[2, inside]),
        norm("norm_pre_attn"),
        norm("norm_post_attn"),
        norm("norm_out"),
    ];
    let before = vec![
        table("conv1", &[9, first]),
        table("conv1_norm", &[first]),
        table("conv2", &[9, first, second]),
        table("conv2_norm", &[second]),
        wide("input_proj_linear", (first / 4).saturating_mul(second), inside),
    ];
    let after = vec![
        linear("output_proj", "audio", inside, output, true),
        wide("embedding_projection", output, hidden),
    ];
    let never = |name, count, units| TowerStage::new(name, count, StageSpan::Never, units).connecting();
    Ok(vec![
        never("audio_subsample", 1, before),
        never("audio_layer", layers(&keys, "num_hidden_layers", 12)?, layer),
        never("embed_audio", 1, after),
    ])
}
