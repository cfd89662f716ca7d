//! Qwen2.5-VL (arXiv 2502.13923): most layers attend within windows, a few to the whole image.
//! As `Qwen2_5_VisionTransformerPretrainedModel` of Transformers has it.

use super::parts::{Block, head_dim, layers, named, patch, rms_norm, width};
use super::qwen2_vl::{grid, merger};
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::units::NormKind;

/// Reads `vision_config`; nothing where there is none.
pub fn read(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let hidden = width(&keys, "hidden_size", 3584)?;
    let heads = width(&keys, "num_heads", 16)?;
    let block = Block {
        norm: NormKind::Rms,
        gated: true,
        rotated: true,
        ..Block::plain(
            hidden,
            heads,
            head_dim(&keys, "num_heads", hidden, heads)?,
            width(&keys, "intermediate_size", 3420)?,
        )
    };
    let depth = layers(&keys, "depth", 32)?;
    let full = named(&keys, "fullatt_block_indexes", depth, &[7, 15, 23, 31])?;
    let (grid, pixels) = grid(&keys, 14, None)?;
    // Windows hold whole merged patches.
    let window = width(&keys, "window_size", 112)? / grid.merge / grid.patch * grid.merge;
    if window == 0 {
        return Err(keys.wrong("window_size", "at least a merged patch"));
    }
    let patches = StageSpan::Patches { class: 0 };
    let merge = StageSpan::Blocks { by: grid.merge, class: 0 };
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
