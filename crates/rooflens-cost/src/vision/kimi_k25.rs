//! Kimi-K2.5 (MoonViT-3D, after arXiv 2504.07491): SigLIP's shape with rotations, over images of any size;
//! four patches become a token. As `Kimi_K25VisionModel` of Transformers has it.

use super::parts::{Block, either, layer_norm, layers, patch, patch_size, table, width};
use super::qwen_vl::merger;
use super::views::{Fit, Grid};
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let hidden_key = either(&keys, "vt_hidden_size", "hidden_size");
    let heads_key = either(&keys, "vt_num_attention_heads", "num_attention_heads");
    let inner = |_| width(&keys, either(&keys, "vt_intermediate_size", "intermediate_size"), 4304);
    let block = Block::read(&keys, (hidden_key, 1152), (heads_key, 16), inner)?;
    let (block, inside) = (Block { rotated: true, ..block }, block.hidden);
    let depth = layers(&keys, either(&keys, "vt_num_hidden_layers", "num_hidden_layers"), 27)?;
    let patch_size = patch_size(&keys, 14)?;
    let merge = match keys.numbers("merge_kernel_size")?.as_deref() {
        None => 2,
        Some([a, b]) if a == b && (1..=64).contains(a) => *a,
        Some(_) => return Err(keys.wrong("merge_kernel_size", "two equal numbers from 1 to 64")),
    };
    let rows = width(&keys, either(&keys, "init_pos_emb_height", "pos_emb_height"), 64)?;
    let columns = width(&keys, either(&keys, "init_pos_emb_width", "pos_emb_width"), 64)?;
    let patches = StageSpan::PATCHES;
    let embed = vec![
        patch(3 * patch_size * patch_size, inside, true),
        table("position_embeddings", &[rows, columns, inside]),
    ];
    let stages = vec![
        TowerStage::new("patch_embed", 1, patches, embed),
        block.stage("layer", depth, 0),
        TowerStage::new("final_layernorm", 1, patches, vec![layer_norm("final_layernorm", inside)]),
        TowerStage::new("projector_norm", 1, patches, vec![layer_norm("pre_norm", inside)]).connecting(),
        TowerStage::new("mm_projector", 1, StageSpan::blocks(merge), merger(inside, merge, hidden))
            .connecting(),
    ];
    // Positions are stretched to any grid; the square of them is what they were learnt for.
    let grid = Grid { patch: patch_size, merge, fit: Fit::Filled, side: Some(rows) };
    Ok(Some(Tower::new("MoonViT", stages, grid)))
}
