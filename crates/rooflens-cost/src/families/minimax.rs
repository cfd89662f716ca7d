//! MiniMax-Text-01 and MiniMax-M1 (arXiv 2501.08313): lightning attention with a softmax layer now and
//! then, and experts in every layer. Transformers' `MiniMaxForCausalLM`.

use super::lists::{by_number, by_word};
use super::shapes::{Gqa, Mixture, all_reduce, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts};
use super::{Design, Family, FamilyConfig};
use crate::config::ConfigError;
use crate::units::{Dim, Lightning, Linear, Norm, Unit};

const CLASS: TrunkDefaults =
    TrunkDefaults { vocab: 32_000, hidden: 4_096, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

const KINDS: &str = "full_attention or linear_attention for each layer";

/// The family.
pub(crate) struct Minimax;

impl Family for Minimax {
    fn name(&self) -> &'static str {
        "minimax"
    }

    fn about(&self) -> &'static str {
        "MiniMax-Text-01, MiniMax-M1"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["minimax", "minimax_text_01", "minimax_m1"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        // Weights of the residual, which change no shape.
        keys.ignore(&["linear_attn_alpha_factor", "linear_attn_beta_factor"]);
        if keys.has("shared_intermediate_size") {
            return Err(keys.wrong("shared_intermediate_size", "0: a shared expert is not known here"));
        }
        let trunk = Trunk::read(keys, CLASS)?;
        let Trunk { hidden, heads, head_dim, layers: depth, .. } = trunk;
        let softmax = Gqa { rotated: keys.size_or("rotary_dim", head_dim)?, ..trunk.attention() };
        let lightning = lightning(hidden, heads, head_dim, keys.size_or("block_size", 256)?);
        let mixture = Mixture {
            hidden,
            experts: keys.experts_or("num_local_experts", 8)?,
            top_k: keys.size_or("num_experts_per_tok", 2)?,
            inner: keys.size_or("intermediate_size", 14_336)?,
            shared: 0,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        check_experts(keys, "num_experts_per_tok", mixture.top_k, mixture.experts)?;
        let layer = |full: bool| {
            let attention = if full { softmax.units() } else { lightning.clone() };
            pre_norm(hidden, attention, mixture.units())
        };
        // The first files have a list of 0 and 1 instead of names.
        let numbered = by_number(keys, "attn_type_list", depth)?;
        let full = by_word(keys, "layer_types", depth, "full_attention", "linear_attention", KINDS)?
            .or(numbered)
            .unwrap_or_else(|| (0..depth).map(|index| index % 2 == 0).collect());
        let layers = full.into_iter().map(layer).collect();
        Ok(trunk.decoder(config.tied(false)?, layers))
    }
}

fn lightning(hidden: u64, heads: u64, head_dim: u64, block: u64) -> Vec<Unit> {
    let wide = Dim::split(heads, head_dim);
    vec![
        Unit::Linear(
            Linear::new("qkv_proj", "attn.qkv", Dim::whole(hidden), [wide, wide, wide])
                .at("self_attn.qkv_proj")
                .vector(3 * 4 * heads * head_dim)
                .formula("6·T·h·H·d"),
        ),
        Unit::Lightning(Lightning { heads, width: head_dim, block }),
        Unit::Norm(Norm::fused("norm", "norm", heads * head_dim, heads * head_dim)),
        Unit::Linear(
            Linear::new("output_gate", "attn.gate", Dim::whole(hidden), [wide])
                .at("self_attn.output_gate")
                .vector(5 * heads * head_dim)
                .formula("2·T·h·H·d"),
        ),
        Unit::Linear(
            Linear::new("out_proj", "attn.o", wide, [Dim::whole(hidden)])
                .at("self_attn.out_proj")
                .formula("2·T·H·d·h"),
        ),
        all_reduce(hidden),
    ]
}
