//! Qwen1.5-MoE and Qwen2-57B-A14B (arXiv 2407.10671); Transformers' `Qwen2MoeForCausalLM`.

use super::qwen_moe::{self, feed_forwards};
use super::shapes::{Gqa, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct Qwen2Moe;

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 151_936, hidden: 2048, layers: 24, heads: 16, kv_heads: Some(16), head_dim: None };
const EXPERTS: qwen_moe::QwenMoeDefaults =
    qwen_moe::QwenMoeDefaults { dense: 5632, inner: 1408, shared: Some(5632), experts: 60, top_k: 4 };

impl Family for Qwen2Moe {
    fn name(&self) -> &'static str {
        "qwen2_moe"
    }

    fn about(&self) -> &'static str {
        "Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["qwen2_moe"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        let attention = Gqa { qkv_bias: keys.flag_or("qkv_bias", true)?, ..trunk.attention() };
        let slides = keys.flag_or("use_sliding_window", false)?;
        let window = if slides { window_or(keys, Some(4096))? } else { None };
        // Every other layer from the first, below a limit: not as in Qwen2.
        let below = keys.count_or("max_window_layers", 28)?;
        let masks =
            trunk.masks(keys, window, |layer| slides && layer.is_multiple_of(2) && (layer as u64) < below)?;
        let feed_forwards = feed_forwards(keys, trunk.hidden, trunk.layers, EXPERTS)?;
        let layers = masks
            .into_iter()
            .zip(feed_forwards)
            .map(|(mask, feed_forward)| {
                pre_norm(trunk.hidden, Gqa { mask, ..attention }.units(), feed_forward)
            })
            .collect();
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
