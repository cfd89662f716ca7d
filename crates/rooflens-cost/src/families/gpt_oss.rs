//! gpt-oss-20b and gpt-oss-120b (arXiv 2508.10925): windows in every other layer, a sink for each head,
//! experts with biases; Transformers' `GptOssForCausalLM`.

use super::shapes::{Gqa, Mixture, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts, window_or};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

/// The family.
pub(crate) struct GptOss;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 201_088,
    hidden: 2880,
    layers: 36,
    heads: 64,
    kv_heads: Some(8),
    head_dim: Some(64),
};

impl Family for GptOss {
    fn name(&self) -> &'static str {
        "gpt_oss"
    }

    fn about(&self) -> &'static str {
        "gpt-oss-20b, gpt-oss-120b"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["gpt_oss"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        let trunk = Trunk::read(keys, CLASS)?;
        // The same number under its older name, which the class does not read.
        keys.ignore(&["experts_per_token"]);
        let bias = keys.flag_or("attention_bias", true)?;
        let attention = Gqa { qkv_bias: bias, o_bias: bias, sinks: true, ..trunk.attention() };
        let experts = keys.experts_or("num_local_experts", 128)?;
        let top_k = keys.size_or("num_experts_per_tok", 4)?;
        check_experts(keys, "num_experts_per_tok", top_k, experts)?;
        let feed_forward = Mixture {
            hidden: trunk.hidden,
            experts,
            top_k,
            // The only width in the file is that of an expert.
            inner: keys.size_or("intermediate_size", 2880)?,
            shared: 0,
            shared_gate: false,
            bias: true,
            router_bias: true,
        }
        .units();
        let layers = trunk
            .masks(keys, window_or(keys, Some(128))?, |layer| layer.is_multiple_of(2))?
            .into_iter()
            .map(|mask| pre_norm(trunk.hidden, Gqa { mask, ..attention }.units(), feed_forward.clone()))
            .collect();
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}
