//! Qwen3-VL (arXiv 2511.21631) and Qwen3.5: learnt positions, and, in Qwen3-VL, mergers behind three layers
//! whose results go to the first layers of the language model. As `Qwen3VLVisionModel` and
//! `Qwen3_5VisionModel` of Transformers have it.

use super::parts::{Block, head_dim, layer_norm, layers, named, patch, table, width};
use super::qwen2_vl::{grid, merger};
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};

/// Reads `vision_config` of Qwen3-VL; nothing where there is none.
pub fn read(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    tower(root, "Qwen3-VL ViT", Some(&[8, 16, 24]))
}

/// Reads `vision_config` of Qwen3.5, whose class knows no further mergers; nothing where there is none.
pub fn read_without_deepstack(root: &Keys) -> Result<Option<Tower>, ConfigError> {
    tower(root, "Qwen3.5 ViT", None)
}

fn tower(root: &Keys, name: &'static str, deepstack: Option<&[u64]>) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let hidden = width(&keys, "hidden_size", 1152)?;
    let heads = width(&keys, "num_heads", 16)?;
    let inner = width(&keys, "intermediate_size", 4304)?;
    let block = Block {
        rotated: true,
        ..Block::plain(hidden, heads, head_dim(&keys, "num_heads", hidden, heads)?, inner)
    };
    let depth = layers(&keys, "depth", 27)?;
    let positions = keys.size_or("num_position_embeddings", 2304)?;
    let (grid, pixels) = grid(&keys, 16, Some(positions.isqrt()))?;
    let patches = StageSpan::Patches { class: 0 };
    let merge = StageSpan::Blocks { by: grid.merge, class: 0 };
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
