//! MiniMax-M3: grouped-query attention over blocks of keys that an indexer chooses, dense layers before
//! sparse ones. Transformers' `MiniMaxM3VLForCausalLM`, whose keys the text-only files have as well.

use super::lists::{DENSE_OR_SPARSE, by_number, by_word};
use super::shapes::{Gqa, Mixture, QkNorm, all_reduce, gated_mlp, pre_norm};
use super::trunk::{Trunk, TrunkDefaults, check_experts};
use super::{Design, Family, FamilyConfig};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Dim, IndexScores, Linear, Norm, Unit};

const CLASS: TrunkDefaults = TrunkDefaults {
    vocab: 200_064,
    hidden: 6_144,
    layers: 60,
    heads: 64,
    kv_heads: Some(4),
    head_dim: Some(128),
};

const KINDS: &str = "full_attention or minimax_m3_sparse for each layer";

/// The family.
pub(crate) struct MinimaxM3;

impl Family for MinimaxM3 {
    fn name(&self) -> &'static str {
        "minimax_m3"
    }

    fn about(&self) -> &'static str {
        "MiniMax-M3"
    }

    fn model_types(&self) -> &'static [&'static str] {
        &["minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text"]
    }

    fn read(&self, config: &FamilyConfig) -> Result<Design, ConfigError> {
        let keys = &config.text;
        if keys.flag_or("attention_output_gate", false)? {
            return Err(keys.wrong("attention_output_gate", "false: the gate's shape is in no public class"));
        }
        if keys.count_or("n_shared_experts", 1)? != 1 {
            return Err(keys.wrong("n_shared_experts", "1 shared expert"));
        }
        let trunk = Trunk::read(keys, CLASS)?;
        let (hidden, depth) = (trunk.hidden, trunk.layers);
        let inner = keys.size_or("intermediate_size", 3_072)?;
        if keys.size_or("moe_intermediate_size", inner)? != inner {
            return Err(keys.wrong("moe_intermediate_size", "the same as intermediate_size"));
        }
        let plain =
            Gqa { qk_norm: QkNorm::Head, rotated: keys.size_or("rotary_dim", 64)?, ..trunk.attention() };
        let indexer = Indexer::read(keys)?;
        let mut dense = gated_mlp("mlp", hidden, keys.size_or("dense_intermediate_size", 12_288)?, false);
        dense.push(all_reduce(hidden));
        let mixture = Mixture {
            hidden,
            experts: keys.experts_or("num_local_experts", 128)?,
            top_k: keys.size_or("num_experts_per_tok", 4)?,
            inner,
            shared: keys.size_or("shared_intermediate_size", 3_072)?,
            shared_gate: false,
            bias: false,
            router_bias: false,
        };
        check_experts(keys, "num_experts_per_tok", mixture.top_k, mixture.experts)?;
        let chosen = indexer.layers(keys, depth)?;
        // `first_k_dense_replace` says the same again; the list rules.
        let numbered = by_number(keys, "moe_layer_freq", depth)?;
        let sparse = by_word(keys, "mlp_layer_types", depth, "sparse", "dense", DENSE_OR_SPARSE)?
            .or(numbered)
            .unwrap_or_else(|| vec![true; depth]);
        let layers = chosen.into_iter().zip(sparse).map(|(chosen, sparse)| {
            let attention = if chosen { indexer.attention(&plain) } else { plain.units() };
            pre_norm(hidden, attention, if sparse { mixture.units() } else { dense.clone() })
        });
        let layers = layers.collect();
        let mut design = trunk.decoder(config.tied(false)?, layers);
        design.vision = None;
        if keys.has("num_mtp_modules") || keys.has("num_nextn_predict_layers") {
            design.notes.push("the draft modules are in no public class: not counted".to_owned());
        }
        Ok(design)
    }
}

/// What chooses blocks of keys, for each key head by itself.
struct Indexer {
    heads: u64,
    width: u64,
    /// Keys that a query sees at most.
    keys: u64,
}

impl Indexer {
    fn read(keys: &Keys) -> Result<Self, ConfigError> {
        let legacy = keys.inside("sparse_attention_config");
        let size = |key: &str, old: &str, default: u64| match &legacy {
            Some(legacy) => legacy.size_or(old, keys.size_or(key, default)?),
            None => keys.size_or(key, default),
        };
        Ok(Self {
            heads: size("index_n_heads", "sparse_num_index_heads", 4)?,
            width: size("index_head_dim", "sparse_index_dim", 128)?,
            keys: size("index_block_size", "sparse_block_size", 128)?
                * size("index_topk_blocks", "sparse_topk_blocks", 16)?,
        })
    }

    /// Which layers choose.
    fn layers(&self, keys: &Keys, depth: usize) -> Result<Vec<bool>, ConfigError> {
        if let Some(chosen) =
            by_word(keys, "layer_types", depth, "minimax_m3_sparse", "full_attention", KINDS)?
        {
            return Ok(chosen);
        }
        let Some(legacy) = keys.inside("sparse_attention_config") else { return Ok(vec![false; depth]) };
        let Some(flags) = legacy.numbers("sparse_attention_freq")? else { return Ok(vec![false; depth]) };
        legacy.check_length("sparse_attention_freq", flags.len(), depth)?;
        let without_value = legacy.numbers("sparse_disable_index_value")?;
        for (index, flag) in flags.iter().enumerate().take(depth) {
            let disabled = without_value.as_ref().map(|list| list.get(index).copied().unwrap_or(0));
            if *flag != 0 && disabled == Some(0) {
                return Err(legacy.wrong("sparse_disable_index_value", "1 in every sparse layer"));
            }
        }
        Ok(flags.into_iter().take(depth).map(|flag| flag != 0).collect())
    }

    /// Attention with the indexer before its core.
    fn attention(&self, plain: &Gqa) -> Vec<Unit> {
        // The block of the query itself is among the chosen, and full only at its end: at most this many.
        let mut units = Gqa { mask: Mask::TopK(self.keys), ..*plain }.units();
        let (heads, width) = (self.heads, self.width);
        let indexer = [
            Unit::Linear(
                Linear::new(
                    "index_qk",
                    "dsa.idx_proj",
                    Dim::whole(plain.hidden),
                    [Dim::whole(heads * width), Dim::whole(width)],
                )
                .at("self_attn.indexer.q_proj")
                .vector(3 * (heads + 1) * plain.rotated.min(width))
                .formula("2·T·h·(n_i + 1)·d_i"),
            ),
            Unit::Norm(Norm::fused("index_norm", "norm", (heads + 1) * width, 2 * width)),
            Unit::IndexScores(IndexScores { class: "dsa.idx_core", heads, width, every: 1, summed: false }),
        ];
        let core = units.iter().position(|unit| matches!(unit, Unit::Attention(_))).unwrap_or(0);
        units.splice(core..core, indexer);
        units
    }
}
