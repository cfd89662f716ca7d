//! Qwen2-VL (arXiv 2409.12191): a plain transformer over patches of any grid, four of which become a token. Qwen2.5-VL
//! (arXiv 2502.13923): most layers attend within windows, a few to the whole image. Qwen3-VL (arXiv 2511.21631) and
//! Qwen3.5: learnt positions, and, in Qwen3-VL, mergers behind three layers whose results go to the first layers of the
//! language model. As Transformers' `Qwen2VisionTransformerPretrainedModel`, `Qwen2_5_VisionTransformerPretrainedModel`,
//! `Qwen3VLVisionModel` and `Qwen3_5VisionModel` have them.

use super::parts::{
    Block, layer_norm, layers, named, patch, patch_size, pixels, rms_norm, table, two_layers, width,
};
use super::views::{Fit, Grid};
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::units::{NormKind, Unit};

/// Reads `vision_config`; nothing where there is none.
pub fn qwen2_vl(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let inner = |hidden: u64| Ok((hidden as f64 * keys.fraction_or("mlp_ratio", 4.0)?) as u64);
    let block = Block::read(&keys, ("embed_dim", 1280), ("num_heads", 16), inner)?;
    let (block, hidden) = (Block { rotated: true, ..block }, block.hidden);
    let (grid, pixels) = grid(&keys, 14, None)?;
    let merger = merger(hidden, grid.merge, width(&keys, "hidden_size", 3584)?);
    let stages = vec![
        TowerStage::new("patch_embed", 1, StageSpan::PATCHES, vec![patch(pixels, hidden, false)]),
        block.stage("block", layers(&keys, "depth", 32)?, 0),
        TowerStage::new("merger_norm", 1, StageSpan::PATCHES, vec![layer_norm("ln_q", hidden)]),
        TowerStage::new("merger", 1, StageSpan::blocks(grid.merge), merger),
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

pub(super) fn merge_size(keys: &Keys, key: &str) -> Result<u64, ConfigError> {
    let merge = keys.size_or(key, 2)?;
    if merge > 64 { Err(keys.wrong(key, "at most 64")) } else { Ok(merge) }
}

/// What makes a token of `merge` × `merge` patches.
pub(super) fn merger(hidden: u64, merge: u64, output: u64) -> Vec<Unit> {
    let joined = hidden * merge * merge;
    two_layers("vision.merge", joined, joined, output, true).into()
}

/// Reads `vision_config`; nothing where there is none.
pub fn qwen2_5_vl(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let inner = |_| width(&keys, "intermediate_size", 3420);
    let block = Block::read(&keys, ("hidden_size", 3584), ("num_heads", 16), inner)?;
    let (block, hidden) = (Block { norm: NormKind::Rms, gated: true, rotated: true, ..block }, block.hidden);
    let depth = layers(&keys, "depth", 32)?;
    let full = named(&keys, "fullatt_block_indexes", depth, &[7, 15, 23, 31])?;
    let (grid, pixels) = grid(&keys, 14, None)?;
    // Windows hold whole merged patches.
    let window = width(&keys, "window_size", 112)? / grid.merge / grid.patch * grid.merge;
    if window == 0 {
        return Err(keys.wrong("window_size", "at least a merged patch"));
    }
    let patches = StageSpan::PATCHES;
    let merge = StageSpan::blocks(grid.merge);
    let mut rest = Vec::from(block.output());
    rest.extend(block.mlp());
    let merger = merger(hidden, grid.merge, width(&keys, "out_hidden_size", 3584)?);
    let stages = vec![
        TowerStage::new("patch_embed", 1, patches, vec![patch(pixels, hidden, false)]),
        TowerStage::new("window_qkv", depth - full, patches, block.qkv()),
        TowerStage::new(
            "window_attention",
            depth - full,
            StageSpan::Windows { side: window },
            vec![block.core()],
        ),
        TowerStage::new("window_mlp", depth - full, patches, rest),
        TowerStage::new("full_block", full, patches, block.units()),
        TowerStage::new("merger_norm", 1, patches, vec![rms_norm("ln_q", hidden)]),
        TowerStage::new("merger", 1, merge, merger),
    ];
    Ok(Some(Tower::new("Qwen2.5-VL ViT", stages, grid)))
}

/// Reads `vision_config` of Qwen3-VL; nothing where there is none.
pub fn qwen3_vl(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    tower(root, "Qwen3-VL ViT", Some(&[8, 16, 24]))
}

/// Reads `vision_config` of Qwen3.5, whose class knows no further mergers; nothing where there is none.
pub fn qwen3_5(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    tower(root, "Qwen3.5 ViT", None)
}

fn tower(root: &Keys, name: &'static str, deepstack: Option<&[u64]>) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let inner = |_| width(&keys, "intermediate_size", 4304);
    let block = Block::read(&keys, ("hidden_size", 1152), ("num_heads", 16), inner)?;
    let (block, hidden) = (Block { rotated: true, ..block }, block.hidden);
    let depth = layers(&keys, "depth", 27)?;
    let positions = keys.size_or("num_position_embeddings", 2304)?;
    let (grid, pixels) = grid(&keys, 16, Some(positions.isqrt()))?;
    let patches = StageSpan::PATCHES;
    let merge = StageSpan::blocks(grid.merge);
    let output = width(&keys, "out_hidden_size", 3584)?;
    let merger = merger(hidden, grid.merge, output);
    let mut stages = vec![
        TowerStage::new(
            "patch_embed",
            1,
            patches,
            vec![patch(pixels, hidden, true), table("pos_embed", &[positions, hidden])],
        ),
        block.stage("block", depth, 0),
        TowerStage::new("merger_norm", 1, patches, vec![layer_norm("norm", hidden)]),
        TowerStage::new("merger", 1, merge, merger.clone()),
    ];
    if let Some(default) = deepstack {
        // Here the norm is over merged patches.
        let mut units = vec![layer_norm("norm", hidden * grid.merge * grid.merge)];
        units.extend(merger);
        let count = named(&keys, "deepstack_visual_indexes", depth, default)?;
        stages.push(TowerStage::new("deepstack_merger", count, merge, units));
    }
    Ok(Some(Tower::new(name, stages, grid)))
}
