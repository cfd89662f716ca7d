//! Qwen3 (arXiv 2505.09388), dense and mixtures of experts, and the language models of Qwen3-VL;
//! Transformers' `Qwen3ForCausalLM`, `Qwen3MoeForCausalLM`, `Qwen3VLForConditionalGeneration` and
//! `Qwen3VLMoeForConditionalGeneration`.

use super::qwen_moe::{self, feed_forwards};
use super::qwen2::upper_windows;
use super::shapes::{Gqa, QkNorm, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, mask_of, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::Unit;
use crate::vision;

/// The dense models.
pub(crate) struct Qwen3;
/// The mixtures of experts.
pub(crate) struct Qwen3Moe;
/// The dense models with images.
pub(crate) struct Qwen3Vl;
/// The mixtures with images.
pub(crate) struct Qwen3VlMoe;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 151_936,
    hidden: 4096,
    layers: 32,
    heads: 32,
    kv_heads: Some(32),
    head_dim: Some(128),
};
const MOE_CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 151_936, hidden: 2048, layers: 24, heads: 32, kv_heads: Some(4), head_dim: None };
const VL_MOE_CLASS: TrunkDefaults = TrunkDefaults { heads: 16, kv_heads: Some(16), ..MOE_CLASS };
const EXPERTS: qwen_moe::QwenMoeDefaults =
    qwen_moe::QwenMoeDefaults { dense: 6144, inner: 768, shared: None, experts: 128, top_k: 8 };
const VL_EXPERTS: qwen_moe::QwenMoeDefaults =
    qwen_moe::QwenMoeDefaults { dense: 5632, inner: 1408, shared: None, experts: 60, top_k: 4 };

fn attention(keys: &Keys, trunk: &Trunk) -> Result<Gqa, ConfigError> {
    let bias = keys.flag_or("attention_bias", false)?;
    Ok(Gqa { qkv_bias: bias, o_bias: bias, qk_norm: QkNorm::Head, ..trunk.attention() })
}

fn dense_layers(keys: &Keys, trunk: &Trunk, masks: Vec<Mask>) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let attention = attention(keys, trunk)?;
    let mut feed_forward = gated_mlp("mlp", trunk.hidden, keys.size_or("intermediate_size", 22_016)?, false);
    feed_forward.push(all_reduce(trunk.hidden));
    let layer = |mask| pre_norm(trunk.hidden, Gqa { mask, ..attention }.units(), feed_forward.clone());
    Ok(masks.into_iter().map(layer).collect())
}

fn sparse_layers(
    keys: &Keys,
    trunk: &Trunk,
    mask: Mask,
    class: qwen_moe::QwenMoeDefaults,
) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let attention = Gqa { mask, ..attention(keys, trunk)? };
    let layer = |feed_forward| pre_norm(trunk.hidden, attention.units(), feed_forward);
    Ok(feed_forwards(keys, trunk.hidden, trunk.layers, class)?.into_iter().map(layer).collect())
}

impl Family for Qwen3 {
    fn name(&self) -> &'static str {
        "qwen3"
    }

    fn about(&self) -> &'static str {
        "Qwen3 0.6B to 32B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen3"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let trunk = Trunk::read(&config.text, CLASS)?;
        let masks = upper_windows(&config.text, &trunk, 28)?;
        let layers = dense_layers(&config.text, &trunk, masks)?;
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}

impl Family for Qwen3Moe {
    fn name(&self) -> &'static str {
        "qwen3_moe"
    }

    fn about(&self) -> &'static str {
        "Qwen3-30B-A3B, Qwen3-235B-A22B, Qwen3-Coder"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen3_moe"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, MOE_CLASS)?;
        let slides = keys.flag_or("use_sliding_window", false)?;
        let mask = mask_of(if slides { window_or(keys, Some(4096))? } else { None });
        let layers = sparse_layers(keys, &trunk, mask, EXPERTS)?;
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}

impl Family for Qwen3Vl {
    fn name(&self) -> &'static str {
        "qwen3_vl"
    }

    fn about(&self) -> &'static str {
        "Qwen3-VL 2B to 32B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen3_vl"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let trunk = Trunk::read(&config.text, CLASS)?;
        let layers = dense_layers(&config.text, &trunk, vec![Mask::Causal; trunk.layers])?;
        let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", false)?, layers);
        design.path = "model.language_model.layers";
        design.vision = vision::qwen3_vl::read(&config.root)?;
        Ok(design)
    }
}

impl Family for Qwen3VlMoe {
    fn name(&self) -> &'static str {
        "qwen3_vl_moe"
    }

    fn about(&self) -> &'static str {
        "Qwen3-VL-30B-A3B, Qwen3-VL-235B-A22B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen3_vl_moe"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let trunk = Trunk::read(&config.text, VL_MOE_CLASS)?;
        let layers = sparse_layers(&config.text, &trunk, Mask::Causal, VL_EXPERTS)?;
        let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", false)?, layers);
        design.path = "model.language_model.layers";
        design.vision = vision::qwen3_vl::read(&config.root)?;
        Ok(design)
    }
}
