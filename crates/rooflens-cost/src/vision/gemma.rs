//! Gemma 3 (arXiv 2503.19786): SigLIP over one square, patches averaged down to 256 tokens and projected, as
//! Transformers' `Gemma3MultiModalProjector` has it. Gemma 4: rotated blocks with four norms over images of their own
//! shape, nine patches averaged to a token, as `Gemma4VisionModel`, `Gemma4MultimodalEmbedder` and
//! `Gemma4ImageProcessor` have it.

use super::parts::{Block, layers, linear, patch, patch_size, rms_norm, siglip, table, width};
use super::views::Square;
use super::{Cut, Images, Seen, StageSpan, Tower, TowerStage, View};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Attention, KvCache, Norm, NormKind, Unit};

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none.
pub fn gemma3(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let image = width(&keys, "image_size", 224)?;
    let encoder = siglip(&keys, |patch| Ok((image / patch) * (image / patch)))?;
    let side = image / encoder.patch;
    let tokens_side = root.size_or("mm_tokens_per_image", 256)?.isqrt();
    if tokens_side == 0 || side / tokens_side == 0 {
        return Err(root.wrong("mm_tokens_per_image", "no more tokens than patches"));
    }
    let by = side / tokens_side;
    // The pool leaves out what fills no whole block.
    let tokens = (side / by) * (side / by);
    let mut stages = encoder.stages;
    stages.push(
        TowerStage::new(
            "multi_modal_projector",
            1,
            StageSpan::blocks(by),
            vec![
                rms_norm("mm_soft_emb_norm", encoder.hidden),
                linear("mm_input_projection", "vision.merge", encoder.hidden, hidden, false),
            ],
        )
        .connecting(),
    );
    // Pan and scan makes further squares of the same size.
    let crop = Some((side, tokens));
    Ok(Some(Tower::new("SigLIP", stages, Square { side, tokens, crop })))
}

/// Reads `vision_config` and `audio_config`, for a language model of width `hidden`; nothing where there is
/// no vision.
pub fn gemma4(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let inside = width(&keys, "hidden_size", 768)?;
    let heads = width(&keys, "num_attention_heads", 12)?;
    let kv_heads = width(&keys, "num_key_value_heads", 12)?;
    let head_dim = width(&keys, "head_dim", 64)?;
    if heads.max(kv_heads).saturating_mul(head_dim) > 1 << 20 {
        return Err(keys.wrong("head_dim", "small enough for 1,048,576 numbers of all heads"));
    }
    let block = Block {
        kv_heads,
        norm: NormKind::Rms,
        attention_bias: false,
        mlp_bias: false,
        gated: true,
        rotated: true,
        ..Block::plain(inside, heads, head_dim, width(&keys, "intermediate_size", 3072)?)
    };
    let patch_size = patch_size(&keys, 16)?;
    let by = keys.size_or("pooling_kernel_size", 3)?;
    if by > 1 << 10 {
        return Err(keys.wrong("pooling_kernel_size", "at most 1,024"));
    }
    let positions = keys.size_or("position_embedding_size", 10_240)?;
    let patches = StageSpan::PATCHES;
    let embed = vec![
        patch(3 * patch_size * patch_size, inside, false),
        table("position_embedding", &[2, positions, inside]),
    ];
    let mut stages = vec![
        TowerStage::new("patch_embedder", 1, patches, embed),
        TowerStage::new("layer", layers(&keys, "num_hidden_layers", 16)?, patches, layer(&block)),
    ];
    if by > 1 {
        stages.push(TowerStage::new("pooler", 1, StageSpan::Pooled { by }, vec![pool(&block)]));
    }
    // The norm has no weights.
    let norm =
        Unit::Norm(Norm { adds: false, parameters: 0, ..Norm::residual("pre_projection_norm", inside) });
    let project = linear("embedding_projection", "vision.merge", inside, hidden, false);
    stages.push(TowerStage::new("embed_vision", 1, StageSpan::blocks(by), vec![norm, project]));
    stages.extend(audio_stages(root, hidden)?);
    let tokens = match keys.size_if("default_output_length")? {
        Some(tokens) => tokens,
        None => root.size_or("vision_soft_tokens_per_image", 280)?,
    };
    Ok(Some(Tower::new("Gemma 4 ViT", stages, Budget { patch: patch_size, by, tokens })))
}

fn layer(block: &Block) -> Vec<Unit> {
    let normed = (block.heads + 2 * block.kv_heads) * block.head_dim;
    let mut units = block.qkv();
    // Values are normalised too, without weights.
    units.push(Unit::Norm(Norm::fused("qkv_norm", "norm", normed, 2 * block.head_dim)));
    units.push(block.core());
    units.extend(block.output());
    units.push(rms_norm("post_attention_layernorm", block.hidden));
    units.extend(block.mlp());
    units.push(rms_norm("post_feedforward_layernorm", block.hidden));
    units
}

/// The average over blocks, which the framework does as a product with a matrix of all patches by all blocks.
fn pool(block: &Block) -> Unit {
    let core = Attention::plain("vision.merge", [1, 1], 0, Mask::Cross, KvCache::None);
    Unit::Attention(Attention { v_width: block.hidden, ..core })
}

/// Images resized, in their own shape, to the most patches that make `tokens` tokens. Transformers fills up
/// to exactly as many; what is filled in is not counted here.
#[derive(Debug)]
struct Budget {
    patch: u64,
    by: u64,
    tokens: u64,
}

impl Cut for Budget {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        images.no_crops()?;
        let (width, height) = images.size()?.unwrap_or((1, 1));
        let block = (self.by * self.patch) as f64;
        let by = (self.tokens as f64 * block * block / (width as f64 * height as f64)).sqrt();
        let fit = |side: u64| (by * side as f64 / block).floor() as u64;
        let (mut columns, mut rows) = (fit(width), fit(height));
        if rows == 0 && columns == 0 {
            return Err("the image is too small for a token".to_owned());
        }
        if rows == 0 {
            (rows, columns) = (1, (width / height).min(self.tokens));
        } else if columns == 0 {
            (columns, rows) = (1, (height / width).min(self.tokens));
        }
        let view = View { images: images.count, rows: rows * self.by, columns: columns * self.by };
        Ok(Seen { views: vec![view], tokens: images.count * rows * columns })
    }
}

/// The tower for sound, stored beside the one for images and never run for them; nothing without an `audio_config`.
/// As Transformers' `Gemma4AudioModel` has it, a conformer (arXiv 2005.08100).
fn audio_stages(root: &Keys, hidden: u64) -> Result<Vec<TowerStage>, ConfigError> {
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
