//! Gemma 4: rotated blocks with four norms over images of their own shape, nine patches averaged to a token.
//! As `Gemma4VisionModel`, `Gemma4MultimodalEmbedder` and `Gemma4ImageProcessor` of Transformers have it.

use super::parts::{Block, layers, linear, patch, patch_size, rms_norm, table, width};
use super::{Cut, Images, Seen, StageSpan, Tower, TowerStage, View, gemma4_audio};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Attention, Norm, NormKind, Unit};

/// Reads `vision_config` and `audio_config`, for a language model of width `hidden`; nothing where there is
/// no vision.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
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
    let patches = StageSpan::Patches { class: 0 };
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
    stages.push(TowerStage::new("embed_vision", 1, StageSpan::Blocks { by, class: 0 }, vec![norm, project]));
    stages.extend(gemma4_audio::stages(root, hidden)?);
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
    match block.core() {
        Unit::Attention(core) => Unit::Attention(Attention {
            class: "vision.merge",
            heads: 1,
            kv_heads: 1,
            qk_width: 0,
            v_width: block.hidden,
            mask: Mask::Cross,
            ..core
        }),
        other => other,
    }
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
