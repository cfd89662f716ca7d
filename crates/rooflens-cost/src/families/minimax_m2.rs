//! MiniMax-M2, M2.1 and M2.5: grouped-query attention whose queries and keys are normalised over all
//! heads, experts in every layer. Transformers' `MiniMaxM2ForCausalLM`.

use super::shapes::{Gqa, Mixture, QkNorm, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 200_064,
    hidden: 3_072,
    layers: 62,
    heads: 48,
    kv_heads: Some(8),
    head_dim: Some(128),
};

/// The family.
pub(crate) struct MinimaxM2;

impl Family for MinimaxM2 {
    fn name(&self) -> &'static str {
        "minimax_m2"
    }

    fn about(&self) -> &'static str {
        "MiniMax-M2, M2.1 and M2.5"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["minimax_m2"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        if keys.has("shared_intermediate_size") {
            return Err(keys.wrong("shared_intermediate_size", "0: a shared expert is not known here"));
        }
        let trunk = Trunk::read(keys, CLASS)?;
        let hidden = trunk.hidden;
        let attention = Gqa {
            qk_norm: QkNorm::Full,
            rotated: keys.size_or("rotary_dim", trunk.head_dim)?,
            ..trunk.attention()
        };
        let mixture = Mixture {
            hidden,
            experts: keys.experts_or("num_local_experts", 256)?,
            top_k: keys.size_or("num_experts_per_tok", 8)?,
            inner: keys.size_or("intermediate_size", 1_536)?,
            shared: 0,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        check_experts(keys, "num_experts_per_tok", mixture.top_k, mixture.experts)?;
        let layer = pre_norm(hidden, attention.units(), mixture.units());
        let layers = vec![layer; trunk.layers];
        let mut design = trunk.decoder(config.tied(false)?, layers);
        if keys.has("num_mtp_modules") {
            design.notes.push("the draft modules are in no public class: not counted".to_owned());
        }
        Ok(design)
    }
}
