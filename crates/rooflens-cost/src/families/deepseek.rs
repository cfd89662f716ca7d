//! DeepSeek-V2 (arXiv 2405.04434), DeepSeek-V3 and R1 (arXiv 2412.19437), Kimi-K2 and, with images, Kimi-K2.5:
//! Transformers' `DeepseekV2ForCausalLM`, `DeepseekV3ForCausalLM`, `Kimi_K25ForConditionalGeneration`.
//!
//! The published 671 B of V3 leave out the layer that drafts, the 685 B of its files have it.

use super::mla::{FeedForward, Mla, MlaDefaults, layer, with_drafts};
use super::trunk::{self, Trunk};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::vision;

/// The family.
pub(crate) struct Deepseek;

/// Kimi-K2.5.
pub(crate) struct KimiK25;

/// Defaults of `DeepseekV2Config`.
pub(crate) const V2: MlaDefaults = MlaDefaults {
    trunk: trunk::TrunkDefaults {
        vocab: 102_400,
        hidden: 4_096,
        layers: 32,
        heads: 32,
        kv_heads: None,
        head_dim: None,
    },
    inner: 11_008,
    moe_inner: 1_407,
    q_rank: 1_536,
    nope: 128,
    value: 128,
    experts: 64,
    shared: 2,
    top_k: None,
    first_dense: 0,
};

/// Defaults of `DeepseekV3Config`.
pub(crate) const V3: MlaDefaults = MlaDefaults {
    trunk: trunk::TrunkDefaults {
        vocab: 129_280,
        hidden: 7_168,
        layers: 61,
        heads: 128,
        kv_heads: None,
        head_dim: None,
    },
    inner: 18_432,
    moe_inner: 2_048,
    q_rank: 1_536,
    nope: 128,
    value: 128,
    experts: 256,
    shared: 1,
    top_k: Some(8),
    first_dense: 3,
};

impl Family for Deepseek {
    fn name(&self) -> &'static str {
        "deepseek"
    }

    fn about(&self) -> &'static str {
        "DeepSeek-V2, V3, V3.1 and R1, Kimi-K2"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["deepseek_v2", "deepseek_v3", "kimi_k2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let second = config.text.text("model_type").unwrap_or(config.model_type) == "deepseek_v2";
        decoder(&config.text, config.tied(false)?, second)
    }
}

impl Family for KimiK25 {
    fn name(&self) -> &'static str {
        "kimi_k25"
    }

    fn about(&self) -> &'static str {
        "Kimi-K2.5 and K2.6"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["kimi_k25"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        // The class asks the whole, not the language model, and takes silence for yes.
        let mut design = decoder(&config.text, config.root.flag_or("tie_word_embeddings", true)?, false)?;
        design.path = "language_model.model.layers";
        design.vision = vision::kimi_k25::read(&config.root, design.hidden)?;
        Ok(design)
    }
}

/// A decoder of either generation.
pub(crate) fn decoder(keys: &Keys, tied: bool, second: bool) -> Result<Design, ConfigError> {
    let defaults = if second { &V2 } else { &V3 };
    let trunk = Trunk::read(keys, defaults.trunk)?;
    let mla = Mla::read(keys, &trunk, defaults)?;
    let bias = second && keys.flag_or("mlp_bias", false)?;
    let feed_forward = FeedForward::read(keys, mla.hidden, defaults, bias)?;
    let depth = trunk.layers;
    let at = |index: usize| layer(&mla, feed_forward.at(index));
    with_drafts(trunk.decoder(tied, (0..depth).map(at).collect()), keys, &at(depth))
}
