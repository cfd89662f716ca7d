//! Which stage of a model that sees something belongs to: an encoder, the projector, or the decoder behind them.

use rooflens_schema::{NameId, Opt, RankTables};

use crate::part::is_vision;

/// What is not an encoder or a projector.
pub(crate) const DECODER: &str = "decoder";

/// The ranges that the workload opens around stages.
const RANGES: &[(&str, &str)] = &[
    ("rooflens.vision.sam", SAM),
    ("rooflens.vision.clip", CLIP),
    ("rooflens.projector", PROJECTOR),
    ("rooflens.vision", VISION),
];
const SAM: &str = "sam";
const CLIP: &str = "clip";
const PROJECTOR: &str = "projector";
const VISION: &str = "vision";

/// DeepSeek-OCR calls its encoders so: SAM, and CLIP beside it. Elsewhere `vision_model` is the only one.
const SAM_MODULE: &str = "sam_model";
const CLIP_MODULE: &str = "vision_model";
const PROJECTORS: &[&str] = &["projector", "multi_modal_projector", "mm_projector"];

/// The stage of each module and range, looked up once.
pub(crate) struct Stages<'t> {
    tables: &'t RankTables,
    modules: Vec<Option<Option<&'static str>>>,
    has_sam: bool,
}

impl<'t> Stages<'t> {
    pub(crate) fn new(tables: &'t RankTables) -> Self {
        let has_sam = tables.names.iter().any(|(_, name)| name.split('.').any(|word| word == SAM_MODULE));
        Stages { tables, modules: vec![None; tables.names.len()], has_sam }
    }

    pub(crate) fn of(&mut self, module: Opt<NameId>, phase: Option<i32>) -> Option<&'static str> {
        let (tables, has_sam) = (self.tables, self.has_sam);
        let by_module = module.get().and_then(|name| {
            let known = self.modules.get_mut(name.index())?;
            *known.get_or_insert_with(|| of_path(tables.names.get(name), has_sam))
        });
        by_module.or_else(|| {
            let row = usize::try_from(phase?).ok()?;
            let range = tables.names.get(*tables.phases.name_id.get(row)?);
            RANGES.iter().find(|(name, _)| *name == range).map(|(_, stage)| *stage)
        })
    }
}

fn of_path(path: &str, has_sam: bool) -> Option<&'static str> {
    // The outermost word decides: an encoder may hold a projector of its own.
    path.split(['.', '/']).find_map(|word| match word {
        SAM_MODULE => Some(SAM),
        CLIP_MODULE if has_sam => Some(CLIP),
        word if PROJECTORS.contains(&word) => Some(PROJECTOR),
        word => is_vision(word).then_some(VISION),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_078_stages_by_the_names_of_modules() {
        for (path, stage) in [
            ("model.sam_model.blocks.0.attn.qkv", Some(SAM)),
            ("model.vision_model.transformer.layers.3.mlp.fc1", Some(CLIP)),
            ("model.projector.layers", Some(PROJECTOR)),
            ("model.layers.0.self_attn.q_proj", None),
            ("lm_head", None),
        ] {
            assert_eq!(of_path(path, true), stage, "{path}");
        }
        // With one encoder there is nothing to tell apart.
        assert_eq!(of_path("model.vision_model.encoder", false), Some(VISION));
        assert_eq!(of_path("model.visual.merger", false), Some(VISION));
        assert_eq!(of_path("multi_modal_projector.linear_1", false), Some(PROJECTOR));
    }
}
