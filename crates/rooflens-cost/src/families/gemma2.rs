//! Gemma 2 (arXiv 2408.00118) and Gemma 3 (arXiv 2503.19786): norms around every block, windows in most
//! layers, tied embeddings; Transformers' `Gemma2ForCausalLM`, `Gemma3ForCausalLM` and
//! `Gemma3ForConditionalGeneration`.

use super::shapes::{Gqa, QkNorm, all_reduce, gated_mlp};
use super::trunk::{Trunk, TrunkDefaults, sandwich, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::units::Unit;
use crate::vision;

/// Gemma 2.
pub(crate) struct Gemma2;
/// Gemma 3.
pub(crate) struct Gemma3;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 256_000,
    hidden: 2304,
    layers: 26,
    heads: 8,
    kv_heads: Some(4),
    head_dim: Some(256),
};
const CLASS_3: TrunkDefaults = TrunkDefaults { vocab: 262_208, ..CLASS };

/// The norms of a layer.
pub(super) const NORMS: [&str; 4] = [
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
];

/// Refuses models that embed text: they see what follows, and generate nothing.
pub(super) fn check_causal(keys: &Keys) -> Result<(), ConfigError> {
    const KEY: &str = "use_bidirectional_attention";
    // `vision` concerns the tokens of one image among themselves.
    if keys.has(KEY) && keys.text(KEY) != Some("vision") {
        return Err(keys.wrong(KEY, "false, or \"vision\": a model that generates text"));
    }
    Ok(())
}

/// Counts the cap on logits: divide, tanh, multiply.
pub(super) fn cap_logits(design: &mut Design) {
    for unit in &mut design.after {
        if let Unit::Linear(head) = unit {
            head.vector_flops += 6 * design.vocab;
        }
    }
}

/// The layers of Gemma 2 and 3: `pattern` layers go by, then comes one with full attention.
fn layers(keys: &Keys, trunk: &Trunk, qk_norm: QkNorm, pattern: u64) -> Result<Vec<Vec<Unit>>, ConfigError> {
    check_causal(keys)?;
    let bias = keys.flag_or("attention_bias", false)?;
    let attention = Gqa { qkv_bias: bias, o_bias: bias, qk_norm, ..trunk.attention() };
    let mut feed_forward = gated_mlp("mlp", trunk.hidden, keys.size_or("intermediate_size", 9216)?, false);
    feed_forward.push(all_reduce(trunk.hidden));
    let window = window_or(keys, Some(4096))?;
    let masks = trunk.masks(keys, window, |layer| !(layer as u64 + 1).is_multiple_of(pattern))?;
    let layer = |mask| sandwich(trunk.hidden, NORMS, Gqa { mask, ..attention }.units(), feed_forward.clone());
    Ok(masks.into_iter().map(layer).collect())
}

impl Family for Gemma2 {
    fn name(&self) -> &'static str {
        "gemma2"
    }

    fn about(&self) -> &'static str {
        "Gemma 2 2B, 9B and 27B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["gemma2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        // Every other layer, which the file does not say.
        let layers = layers(keys, &trunk, QkNorm::None, 2)?;
        let mut design = trunk.decoder(config.tied(true)?, layers);
        if !keys.names("final_logit_softcapping") || keys.has("final_logit_softcapping") {
            cap_logits(&mut design);
        }
        Ok(design)
    }
}

impl Family for Gemma3 {
    fn name(&self) -> &'static str {
        "gemma3"
    }

    fn about(&self) -> &'static str {
        "Gemma 3 270M to 27B"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["gemma3", "gemma3_text"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS_3)?;
        let pattern = keys.size_or("sliding_window_pattern", 6)?;
        let layers = layers(keys, &trunk, QkNorm::Head, pattern)?;
        let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", true)?, layers);
        if keys.has("final_logit_softcapping") {
            cap_logits(&mut design);
        }
        if config.nested {
            design.path = "language_model.model.layers";
        }
        design.vision = vision::gemma3::read(&config.root, design.hidden)?;
        Ok(design)
    }
}
