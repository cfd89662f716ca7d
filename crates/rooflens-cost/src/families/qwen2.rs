//! Qwen2 and Qwen2.5 (arXiv 2407.10671, 2412.15115), and the language models of Qwen2-VL and
//! Qwen2.5-VL; Transformers' `Qwen2ForCausalLM`, `Qwen2VLForConditionalGeneration` and
//! `Qwen2_5_VLForConditionalGeneration`.

use super::shapes::{Gqa, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::vision;

/// The language models.
pub(crate) struct Qwen2;

/// The models with images.
pub(crate) struct Qwen2Vl;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 151_936, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(32), head_dim: None };
const VL_CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 152_064, hidden: 8192, layers: 80, heads: 64, kv_heads: Some(8), head_dim: None };

/// Windows as Qwen2 and Qwen3 have them: off unless switched on, and then in the upper layers.
pub(super) fn upper_windows(
    keys: &Keys,
    trunk: &Trunk,
    max_window_layers: u64,
) -> Result<Vec<Mask>, ConfigError> {
    let window = if keys.flag_or("use_sliding_window", false)? { window_or(keys, Some(4096))? } else { None };
    let from = keys.count_or("max_window_layers", max_window_layers)?;
    trunk.masks(keys, window, |layer| window.is_some() && layer as u64 >= from)
}

fn layers(
    keys: &Keys,
    class: TrunkDefaults,
    inner: u64,
    windows_from: u64,
    tied: bool,
) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(keys, class)?;
    // The biases are the class's, whatever the file says.
    let attention = Gqa { qkv_bias: true, ..trunk.attention() };
    let mut feed_forward = gated_mlp("mlp", trunk.hidden, keys.size_or("intermediate_size", inner)?, false);
    feed_forward.push(all_reduce(trunk.hidden));
    let layers = upper_windows(keys, &trunk, windows_from)?
        .into_iter()
        .map(|mask| pre_norm(trunk.hidden, Gqa { mask, ..attention }.units(), feed_forward.clone()));
    let layers = layers.collect();
    Ok(trunk.decoder(tied, layers))
}

impl Family for Qwen2 {
    fn name(&self) -> &'static str {
        "qwen2"
    }

    fn about(&self) -> &'static str {
        "Qwen2, Qwen2.5"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        layers(&config.text, CLASS, 22_016, 28, config.tied(false)?)
    }
}

impl Family for Qwen2Vl {
    fn name(&self) -> &'static str {
        "qwen2_vl"
    }

    fn about(&self) -> &'static str {
        "Qwen2-VL, Qwen2.5-VL"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen2_vl", "qwen2_5_vl"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        // Either may say so; older files have all keys of the language model beside the others.
        let tied = config.root.flag_or("tie_word_embeddings", false)?
            || config.text.flag_or("tie_word_embeddings", false)?;
        let mut design = layers(&config.text, VL_CLASS, 29_568, 80, tied)?;
        design.vision = match config.model_type {
            "qwen2_vl" => vision::qwen2_vl::read(&config.root)?,
            _ => vision::qwen2_5_vl::read(&config.root)?,
        };
        Ok(design)
    }
}
