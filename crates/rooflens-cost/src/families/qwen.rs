//! Qwen2 and Qwen2.5 (arXiv 2407.10671, 2412.15115), Qwen3 (arXiv 2505.09388), their mixtures of experts, and the
//! language models of Qwen2-VL, Qwen2.5-VL and Qwen3-VL; Transformers' classes of these names.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, QkNorm, dense_mlp, pre_norm, renamed};
use super::trunk::{Class, Trunk, mask_of, window_or};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::Unit;
use crate::vision;

const QWEN2: Class =
    Class { vocab: 151_936, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(32), head_dim: None };
const QWEN2_VL: Class =
    Class { vocab: 152_064, hidden: 8192, layers: 80, heads: 64, kv_heads: Some(8), head_dim: None };

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

fn qwen2_layers(
    keys: &Keys,
    class: Class,
    inner: u64,
    windows_from: u64,
    tied: bool,
) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(keys, class)?;
    let hidden = trunk.hidden;
    // The biases are the class's, whatever the file says.
    let attention = Gqa { qkv_bias: true, ..trunk.attention() };
    let feed_forward = dense_mlp(hidden, keys.size_or("intermediate_size", inner)?, false);
    let layers = upper_windows(keys, &trunk, windows_from)?
        .into_iter()
        .map(|mask| pre_norm(hidden, Gqa { mask, ..attention }.units(), feed_forward.clone()));
    Ok(trunk.decoder(tied, layers))
}

pub(super) fn qwen2(config: &FamilyConfig) -> Result<Design, ConfigError> {
    qwen2_layers(&config.text, QWEN2, 22_016, 28, config.tied(false)?)
}

pub(super) fn qwen2_vl(config: &FamilyConfig) -> Result<Design, ConfigError> {
    // Either may say so; older files have all keys of the language model beside the others.
    let tied = config.root.flag_or("tie_word_embeddings", false)?
        || config.text.flag_or("tie_word_embeddings", false)?;
    let mut design = qwen2_layers(&config.text, QWEN2_VL, 29_568, 80, tied)?;
    design.vision = match config.model_type {
        "qwen2_vl" => vision::qwen_vl::qwen2_vl(&config.root)?,
        _ => vision::qwen_vl::qwen2_5_vl(&config.root)?,
    };
    Ok(design)
}

const QWEN2_MOE: Class =
    Class { vocab: 151_936, hidden: 2048, layers: 24, heads: 16, kv_heads: Some(16), head_dim: None };
const QWEN2_EXPERTS: ExpertsClass =
    ExpertsClass { dense: 5632, inner: 1408, shared: Some(5632), experts: 60, top_k: 4 };

pub(super) fn qwen2_moe(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, QWEN2_MOE)?;
    let hidden = trunk.hidden;
    let attention = Gqa { qkv_bias: keys.flag_or("qkv_bias", true)?, ..trunk.attention() };
    let slides = keys.flag_or("use_sliding_window", false)?;
    let window = if slides { window_or(keys, Some(4096))? } else { None };
    // Every other layer from the first, below a limit: not as in Qwen2.
    let below = keys.count_or("max_window_layers", 28)?;
    let masks =
        trunk.masks(keys, window, |layer| slides && layer.is_multiple_of(2) && (layer as u64) < below)?;
    let feed_forwards = feed_forwards(keys, hidden, trunk.layers, QWEN2_EXPERTS)?;
    let layers = masks
        .into_iter()
        .zip(feed_forwards)
        .map(|(mask, feed_forward)| pre_norm(hidden, Gqa { mask, ..attention }.units(), feed_forward));
    Ok(trunk.decoder(config.tied(false)?, layers))
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ExpertsClass {
    /// `intermediate_size`, the width of dense layers.
    pub(crate) dense: u64,
    pub(crate) inner: u64,
    /// `shared_expert_intermediate_size`; none where the family has no shared expert.
    pub(crate) shared: Option<u64>,
    pub(crate) experts: u64,
    pub(crate) top_k: u64,
}

pub(crate) fn mixture(keys: &Keys, hidden: u64, class: ExpertsClass) -> Result<Vec<Unit>, ConfigError> {
    let mixture = Mixture::read(
        keys,
        hidden,
        ("num_experts", class.experts),
        class.top_k,
        ("moe_intermediate_size", class.inner),
    )?;
    let shared = match class.shared {
        Some(shared) => keys.count_or("shared_expert_intermediate_size", shared)?,
        None => 0,
    };
    let mixture = Mixture { shared, shared_gate: shared > 0, ..mixture };
    Ok(renamed(
        mixture.units(),
        &[
            ("mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj"),
            ("mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj"),
        ],
    ))
}

/// The feed-forward network of each layer: experts in every `decoder_sparse_step`-th layer that is not
/// among `mlp_only_layers`, else dense.
pub(crate) fn feed_forwards(
    keys: &Keys,
    hidden: u64,
    layers: usize,
    class: ExpertsClass,
) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let dense_only = keys.numbers("mlp_only_layers")?.unwrap_or_default();
    let step = keys.size_or("decoder_sparse_step", 1)?;
    let is_sparse = |layer: u64| !dense_only.contains(&layer) && (layer + 1).is_multiple_of(step);
    let some_sparse = keys.count_or(keys.experts_key("num_experts")?, class.experts)? > 0;
    let sparse = if some_sparse { mixture(keys, hidden, class)? } else { Vec::new() };
    let dense = dense_mlp(hidden, keys.size_or("intermediate_size", class.dense)?, false);
    let of = |layer: usize| if some_sparse && is_sparse(layer as u64) { &sparse } else { &dense };
    Ok((0..layers).map(|layer| of(layer).clone()).collect())
}

const QWEN3: Class =
    Class { vocab: 151_936, hidden: 4096, layers: 32, heads: 32, kv_heads: Some(32), head_dim: Some(128) };
const QWEN3_MOE: Class =
    Class { vocab: 151_936, hidden: 2048, layers: 24, heads: 32, kv_heads: Some(4), head_dim: None };
const QWEN3_VL_MOE: Class = Class { heads: 16, kv_heads: Some(16), ..QWEN3_MOE };
const QWEN3_EXPERTS: ExpertsClass =
    ExpertsClass { dense: 6144, inner: 768, shared: None, experts: 128, top_k: 8 };
const QWEN3_VL_EXPERTS: ExpertsClass =
    ExpertsClass { dense: 5632, inner: 1408, shared: None, experts: 60, top_k: 4 };

fn qwen3_attention(keys: &Keys, trunk: &Trunk) -> Result<Gqa, ConfigError> {
    let bias = keys.flag_or("attention_bias", false)?;
    Ok(Gqa { qkv_bias: bias, o_bias: bias, qk_norm: QkNorm::Head, ..trunk.attention() })
}

fn dense_layers(keys: &Keys, trunk: &Trunk, masks: Vec<Mask>) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let attention = qwen3_attention(keys, trunk)?;
    let feed_forward = dense_mlp(trunk.hidden, keys.size_or("intermediate_size", 22_016)?, false);
    let layer = |mask| pre_norm(trunk.hidden, Gqa { mask, ..attention }.units(), feed_forward.clone());
    Ok(masks.into_iter().map(layer).collect())
}

fn sparse_layers(
    keys: &Keys,
    trunk: &Trunk,
    mask: Mask,
    class: ExpertsClass,
) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let attention = Gqa { mask, ..qwen3_attention(keys, trunk)? };
    let layer = |feed_forward| pre_norm(trunk.hidden, attention.units(), feed_forward);
    Ok(feed_forwards(keys, trunk.hidden, trunk.layers, class)?.into_iter().map(layer).collect())
}

pub(super) fn qwen3(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, QWEN3)?;
    let masks = upper_windows(&config.text, &trunk, 28)?;
    let layers = dense_layers(&config.text, &trunk, masks)?;
    Ok(trunk.decoder(config.tied(false)?, layers))
}

pub(super) fn qwen3_moe(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    let trunk = Trunk::read(keys, QWEN3_MOE)?;
    let slides = keys.flag_or("use_sliding_window", false)?;
    let mask = mask_of(if slides { window_or(keys, Some(4096))? } else { None });
    let layers = sparse_layers(keys, &trunk, mask, QWEN3_EXPERTS)?;
    Ok(trunk.decoder(config.tied(false)?, layers))
}

pub(super) fn qwen3_vl(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, QWEN3)?;
    let layers = dense_layers(&config.text, &trunk, vec![Mask::Causal; trunk.layers])?;
    let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", false)?, layers);
    design.path = "model.language_model.layers";
    design.vision = vision::qwen_vl::qwen3_vl(&config.root)?;
    Ok(design)
}

pub(super) fn qwen3_vl_moe(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let trunk = Trunk::read(&config.text, QWEN3_VL_MOE)?;
    let layers = sparse_layers(&config.text, &trunk, Mask::Causal, QWEN3_VL_EXPERTS)?;
    let mut design = trunk.decoder(config.root.flag_or("tie_word_embeddings", false)?, layers);
    design.path = "model.language_model.layers";
    design.vision = vision::qwen_vl::qwen3_vl(&config.root)?;
    Ok(design)
}

#[cfg(test)]
mod tests {
    use crate::Model;

    fn parameters(experts: &str) -> Option<u128> {
        let config = format!(
            r#"{{"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
                "num_key_value_heads": 1, "head_dim": 32, "vocab_size": 128, "moe_intermediate_size": 16, {experts}}}"#
        );
        Model::from_json(config.as_bytes()).ok().map(|model| model.parameters().routed)
    }

    #[test]
    fn both_names_of_the_number_of_experts() {
        let eight = Some(8 * 3 * 64 * 16);
        assert_eq!(parameters(r#""num_experts": 8"#), eight);
        assert_eq!(parameters(r#""num_local_experts": 8"#), eight);
        assert_eq!(parameters(r#""num_local_experts": 8, "num_experts": 8"#), eight);
        assert_eq!(parameters(r#""num_local_experts": 8, "num_experts": 9"#), None);
    }
}
