//! Step-3.7: a rotated transformer with layer scales over one square and crops, two strided convolutions
//! behind it. As `Step3p7VisionModel` of Transformers has it.

use super::parts::{
    Block, conv, either, layer_norm, layers, linear, patch, patch_size, pixels, table, width,
};
use super::views::Square;
use super::{StageSpan, Tower, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::units::Unit;

/// Pixels of a side of a crop: `Step3p7ImageProcessor.patch_size`, which no config tells.
const CROP: u64 = 504;
/// `Step3p7VisionConfig.mlp_ratio`; `intermediate_size` is never read.
const MLP_RATIO: f64 = 8960.0 / 1536.0;

/// Reads `vision_config`, for a language model of width `hidden`. Where there is none, the class's own: no
/// published config of the model leaves the tower out.
pub fn read(root: &Keys, hidden: u64) -> Result<Tower, ConfigError> {
    let none = serde_json::Map::new();
    let keys = root.inside("vision_config").unwrap_or_else(|| Keys::new(&none, "vision_config."));
    let hidden_key = either(&keys, "width", "hidden_size");
    let heads_key = either(&keys, "heads", "num_attention_heads");
    let inner = |inside: u64| Ok((inside as f64 * keys.fraction_or("mlp_ratio", MLP_RATIO)?) as u64);
    let block = Block::read(&keys, (hidden_key, 1536), (heads_key, 16), inner)?;
    let (block, inside) = (Block { rotated: true, ..block }, block.hidden);
    let depth = layers(&keys, either(&keys, "layers", "num_hidden_layers"), 47)?;
    let patch_size = patch_size(&keys, 14)?;
    let side = width(&keys, "image_size", 728)? / patch_size;
    if side == 0 {
        return Err(keys.wrong("image_size", "at least a patch"));
    }
    let pixels = pixels(&keys, "num_channels", patch_size)?;
    let patches = StageSpan::PATCHES;
    let mut layer: Vec<Unit> = block.units();
    layer.push(table("layer_scales", &[2, inside]));
    let bias = root.flag_or("projector_bias", false)?;
    let embed = vec![
        patch(pixels, inside, false),
        table("position_embedding", &[side, side, inside]),
        layer_norm("pre_layernorm", inside),
    ];
    let stages = vec![
        TowerStage::new("embeddings", 1, patches, embed),
        TowerStage::new("layer", depth, patches, layer),
        TowerStage::new(
            "downsampler1",
            1,
            StageSpan::blocks(2),
            vec![conv("downsampler1", 3, inside, 2 * inside, true)],
        ),
        TowerStage::new(
            "downsampler2",
            1,
            StageSpan::blocks(4),
            vec![conv("downsampler2", 3, 2 * inside, 4 * inside, true)],
        ),
        TowerStage::new(
            "multi_modal_projector",
            1,
            StageSpan::blocks(4),
            vec![linear("multi_modal_projector", "vision.merge", 4 * inside, hidden, bias)],
        )
        .connecting(),
    ];
    let tokens = |side: u64| side.div_ceil(4) * side.div_ceil(4);
    let crop = (CROP / patch_size).max(1);
    let cut = Square { side, tokens: tokens(side), crop: Some((crop, tokens(crop))) };
    Ok(Tower::new("Step-3.7 ViT", stages, cut))
}
