//! Which layers of Qwen's mixtures are dense, and how wide the experts are: the keys that Qwen2-MoE,
//! Qwen3-MoE and Qwen3-Next share.

use super::modules::renamed;
use super::shapes::{Mixture, all_reduce, gated_mlp};
use super::trunk::check_experts;
use crate::config::{ConfigError, Keys};
use crate::units::Unit;

/// What a configuration class takes for keys that a file leaves out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QwenMoeDefaults {
    /// `intermediate_size`, the width of dense layers.
    pub(crate) dense: u64,
    /// `moe_intermediate_size`.
    pub(crate) inner: u64,
    /// `shared_expert_intermediate_size`; none where the family has no shared expert.
    pub(crate) shared: Option<u64>,
    /// `num_experts`.
    pub(crate) experts: u64,
    /// `num_experts_per_tok`.
    pub(crate) top_k: u64,
}

/// The experts, with the shared one where the family has one.
pub(crate) fn mixture(keys: &Keys, hidden: u64, class: QwenMoeDefaults) -> Result<Vec<Unit>, ConfigError> {
    let experts = keys.experts_or("num_experts", class.experts)?;
    let top_k = keys.size_or("num_experts_per_tok", class.top_k)?;
    check_experts(keys, "num_experts_per_tok", top_k, experts)?;
    let shared = match class.shared {
        Some(shared) => keys.count_or("shared_expert_intermediate_size", shared)?,
        None => 0,
    };
    let mixture = Mixture {
        hidden,
        experts,
        top_k,
        inner: keys.size_or("moe_intermediate_size", class.inner)?,
        shared,
        shared_gate: shared > 0,
        bias: false,
        router_bias: false,
    };
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
    class: QwenMoeDefaults,
) -> Result<Vec<Vec<Unit>>, ConfigError> {
    let dense_only = keys.numbers("mlp_only_layers")?.unwrap_or_default();
    let step = keys.size_or("decoder_sparse_step", 1)?;
    let is_sparse = |layer: u64| !dense_only.contains(&layer) && (layer + 1).is_multiple_of(step);
    let some_sparse = keys.count_or(keys.experts_key("num_experts")?, class.experts)? > 0;
    let sparse = if some_sparse { mixture(keys, hidden, class)? } else { Vec::new() };
    let mut dense = gated_mlp("mlp", hidden, keys.size_or("intermediate_size", class.dense)?, false);
    dense.push(all_reduce(hidden));
    let of = |layer: usize| if some_sparse && is_sparse(layer as u64) { &sparse } else { &dense };
    Ok((0..layers).map(|layer| of(layer).clone()).collect())
}

#[cfg(test)]
mod tests {
    use crate::Model;

    /// A config of one layer, with the given keys for the number of experts.
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
