//! SigLIP (arXiv 2303.15343) and SigLIP 2 (arXiv 2502.14786): patches with learnt positions, plain blocks, a
//! last norm. As `SiglipVisionModel` and `Siglip2VisionModel` of Transformers have them.

use super::parts::{
    Block, head_dim, layer_norm, layers, linear, patch, patch_size, pixels, table, two_layers, width,
};
use super::{StageSpan, TowerStage};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Attention, Unit};

/// The encoder.
pub(super) struct Encoder {
    pub(crate) stages: Vec<TowerStage>,
    pub(crate) hidden: u64,
    /// Pixels of a side of a patch.
    pub(crate) patch: u64,
}

/// Reads an encoder whose positions are as many as `positions` tells from the pixels of a patch.
pub(super) fn encoder(
    keys: &Keys,
    positions: impl FnOnce(u64) -> Result<u64, ConfigError>,
) -> Result<Encoder, ConfigError> {
    let hidden = width(keys, "hidden_size", 768)?;
    let heads = width(keys, "num_attention_heads", 12)?;
    let inner = width(keys, "intermediate_size", 3072)?;
    let block = Block::plain(hidden, heads, head_dim(keys, "num_attention_heads", hidden, heads)?, inner);
    let patch_size = patch_size(keys, 16)?;
    let pixels = pixels(keys, "num_channels", patch_size)?;
    let patches = StageSpan::Patches { class: 0 };
    let positions = table("position_embedding", &[positions(patch_size)?, hidden]);
    let mut stages = vec![
        TowerStage::new("embeddings", 1, patches, vec![patch(pixels, hidden, true), positions]),
        block.stage("layer", layers(keys, "num_hidden_layers", 12)?, 0),
        TowerStage::new("post_layernorm", 1, patches, vec![layer_norm("post_layernorm", hidden)]),
    ];
    if keys.flag_or("vision_use_head", true)? {
        stages.extend(head(&block));
    }
    Ok(Encoder { stages, hidden, patch: patch_size })
}

/// What sums an image up in one vector: built and run where the config does not say otherwise, though no
/// language model reads it.
fn head(block: &Block) -> [TowerStage; 2] {
    let hidden = block.hidden;
    let keys = linear("head_kv", "vision.qkv", hidden, 2 * hidden, true);
    let mut units = vec![table("probe", &[hidden]), linear("head_q", "vision.qkv", hidden, hidden, true)];
    if let Unit::Attention(core) = block.core() {
        units.push(Unit::Attention(Attention { mask: Mask::Cross, ..core }));
    }
    units.push(linear("head_o", "vision.o", hidden, hidden, true));
    units.push(layer_norm("layernorm", hidden));
    units.extend(two_layers("vision.mlp", hidden, block.inner, hidden, true));
    [
        TowerStage::new("head_keys", 1, StageSpan::Patches { class: 0 }, vec![keys]),
        TowerStage::new("head", 1, StageSpan::Summary, units),
    ]
}
