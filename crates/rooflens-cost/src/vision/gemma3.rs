//! Gemma 3 (arXiv 2503.19786): SigLIP over one square, patches averaged down to 256 tokens and projected.
//! As `Gemma3MultiModalProjector` of Transformers has it.

use super::parts::{linear, rms_norm, width};
use super::square::Square;
use super::{StageSpan, Tower, TowerStage, siglip};
use crate::config::{ConfigError, Keys};

/// Reads `vision_config`, for a language model of width `hidden`; nothing where there is none.
pub fn read(root: &Keys, hidden: u64) -> Result<Option<Tower>, ConfigError> {
    let Some(keys) = root.inside("vision_config") else { return Ok(None) };
    let image = width(&keys, "image_size", 224)?;
    let encoder = siglip::encoder(&keys, |patch| Ok((image / patch) * (image / patch)))?;
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
            StageSpan::Blocks { by, class: 0 },
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
