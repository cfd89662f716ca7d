//! Llama 3.2 Vision (arXiv 2407.21783, section 7): an image as four tiles in one sequence, through layers and
//! then through gated ones; results of some layers are joined and projected for cross-attention. As
//! `MllamaVisionModel` of Transformers has it.

use super::parts::{Block, layer_norm, layers, linear, patch, patch_size, pixels, table, width};
use super::{Cut, Images, Seen, StageSpan, Tower, TowerStage, View};
use crate::config::{ConfigError, Keys};
use crate::units::{Product, Unit};

/// Shapes of tiles that the class knows by default, `supported_aspect_ratios`.
const SHAPES: u64 = 8;
/// Tokens of a tile are filled up to a multiple of this.
const FILL: u64 = 8;

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let inner = |_| width(&keys, "intermediate_size", 5120);
    let block = Block::read(&keys, ("hidden_size", 1280), ("attention_heads", 16), inner)?;
    let block = Block { attention_bias: false, ..block };
    let inside = block.hidden;
    let patch_size = patch_size(&keys, 14)?;
    let pixels = pixels(&keys, "num_channels", patch_size)?;
    let side = width(&keys, "image_size", 448)? / patch_size;
    let tiles = keys.size_or("max_num_tiles", 4)?;
    if side == 0 || side > 1 << 12 {
        return Err(keys.wrong("image_size", "1 to 4,096 patches per side"));
    }
    if tiles > 1 << 10 {
        return Err(keys.wrong("max_num_tiles", "at most 1,024"));
    }
    let shapes = keys.list("supported_aspect_ratios")?.map_or(SHAPES, |list| list.len() as u64);
    // The identity of no shape stands before the shapes.
    let shapes = shapes + 1;
    let tokens = side * side + 1;
    let before = vec![
        table("class_embedding", &[inside]),
        table("position_embedding", &[tokens, inside]),
        table("tile_position_embedding", &[shapes, tiles, tokens, inside]),
        table("tile_embeddings", &[2, shapes, tiles, inside]),
        // One of positions, two of tiles.
        table("gates", &[3]),
        layer_norm("layernorm_pre", inside),
        layer_norm("layernorm_post", inside),
    ];
    let mut gated = block.units();
    gated.push(table("gates", &[2]));
    let whole = StageSpan::Tiles { tiles, class: 1, fill: FILL };
    let one = StageSpan::Patches { class: 1 };
    // Which tiles see each other is told by a product of masks over all tokens, which kernels do not need.
    let masks = Unit::Product(Product {
        name: "aspect_ratio_mask",
        class: "vision.core",
        counted: 2 * tiles * tokens.next_multiple_of(FILL),
        useful: 0,
        moved: 0,
        formula: "0 (2·N² as counted)",
    });
    let joined = width(&keys, "vision_output_dim", 7680)?;
    let stages = vec![
        TowerStage::new("patch_embedding", 1, StageSpan::PATCHES, vec![patch(pixels, inside, false)]),
        TowerStage::new("embeddings", 1, one, before),
        TowerStage::new("mask", 1, whole, vec![masks]),
        TowerStage::new("layer", layers(&keys, "num_hidden_layers", 32)?, whole, block.units()),
        TowerStage::new("global_layer", layers(&keys, "num_global_layers", 8)?, whole, gated),
        TowerStage::new(
            "multi_modal_projector",
            1,
            one,
            vec![linear("multi_modal_projector", "vision.merge", joined, hidden, true)],
        )
        .connecting(),
    ];
    Ok(Some(Tower::new("Llama 3.2 Vision ViT-H", stages, Tiles { side, tiles })))
}

/// Always all tiles: those that an image does not need are empty, and run.
#[derive(Debug)]
struct Tiles {
    side: u64,
    tiles: u64,
}

impl Cut for Tiles {
    fn cut(&self, images: &Images) -> Result<Seen, String> {
        images.size()?;
        images.no_crops()?;
        let tiles = images.count * self.tiles;
        let view = View { images: tiles, rows: self.side, columns: self.side };
        Ok(Seen { views: vec![view], tokens: tiles * (self.side * self.side + 1) })
    }
}
