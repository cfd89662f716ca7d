//! Qwen2-VL (arXiv 2409.12191): a plain transformer over patches of any grid, four of which become a token.
//! As `Qwen2VisionTransformerPretrainedModel` of Transformers has it.

use super::grid::{Fit, Grid};
use super::parts::{Block, head_dim, layer_norm, layers, patch, patch_size, pixels, two_layers, width};
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::units::Unit;

/// Reads `vision_config`; nothing where there is none.
pub fn read(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let hidden = width(&keys, "embed_dim", 1280)?;
    let heads = width(&keys, "num_heads", 16)?;
    let ratio = keys.fraction_or("mlp_ratio", 4.0)?;
    let inner = (hidden as f64 * ratio) as u64;
    let block = Block {
        rotated: true,
        ..Block::plain(hidden, heads, head_dim(&keys, "num_heads", hidden, heads)?, inner)
    };
    let (grid, pixels) = grid(&keys, 14, None)?;
    let merger = merger(hidden, grid.merge, width(&keys, "hidden_size", 3584)?);
    let stages = vec![
        TowerStage::new(
            "patch_embed",
            1,
            StageSpan::Patches { class: 0 },
            vec![patch(pixels, hidden, false)],
        ),
        block.stage("block", layers(&keys, "depth", 32)?, 0),
        TowerStage::new("merger_norm", 1, StageSpan::Patches { class: 0 }, vec![layer_norm("ln_q", hidden)]),
        TowerStage::new("merger", 1, StageSpan::Blocks { by: grid.merge, class: 0 }, merger),
    ];
    Ok(Some(Tower::new("Qwen2-VL ViT", stages, grid)))
}

/// The grid of patches, and the numbers of a patch: both frames that an image is doubled into.
pub(super) fn grid(keys: &Keys, patch: u64, side: Option<u64>) -> Result<(Grid, u64), ConfigError> {
    let patch = patch_size(keys, patch)?;
    let merge = merge_size(keys, "spatial_merge_size")?;
    // Files spell the channels two ways; the class reads `in_channels`, and the other is always 3.
    let frame = pixels(keys, "in_channels", patch)?;
    let pixels = frame.saturating_mul(keys.size_or("temporal_patch_size", 2)?);
    Ok((Grid { patch, merge, fit: Fit::Resized, side }, pixels))
}

/// Patches of a side of what becomes a token.
pub(super) fn merge_size(keys: &Keys, key: &str) -> Result<u64, ConfigError> {
    let merge = keys.size_or(key, 2)?;
    if merge > 64 { Err(keys.wrong(key, "at most 64")) } else { Ok(merge) }
}

/// What makes a token of `merge` × `merge` patches.
pub(super) fn merger(hidden: u64, merge: u64, output: u64) -> Vec<Unit> {
    let joined = hidden * merge * merge;
    two_layers("vision.merge", joined, joined, output, true).into()
}
