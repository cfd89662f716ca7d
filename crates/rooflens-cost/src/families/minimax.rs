//! MiniMax-Text-01 and MiniMax-M1 (arXiv 2501.08313): lightning attention with a softmax layer now and then.
//! MiniMax-M2: queries and keys normalised over all heads. MiniMax-M3: attention over blocks of keys that an indexer
//! chooses, dense layers before sparse ones. All others have experts in every layer. Transformers' `MiniMaxForCausalLM`,
//! `MiniMaxM2ForCausalLM` and `MiniMaxM3VLForCausalLM`, whose keys the text-only files of M3 have as well.

use super::design::{Design, FamilyConfig};
use super::shapes::{Gqa, Mixture, QkNorm, all_reduce, dense_mlp, pre_norm};
use super::trunk::{Class, DENSE_OR_SPARSE, Trunk, by_number, by_word};
use crate::config::{ConfigError, Keys};
use crate::step::Mask;
use crate::units::{Dim, IndexScores, Lightning, Linear, Norm, Unit};

const M1: Class =
    Class { vocab: 32_000, hidden: 4_096, layers: 32, heads: 32, kv_heads: Some(8), head_dim: None };

const M1_KINDS: &str = "full_attention or linear_attention for each layer";

pub(super) fn minimax(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // Weights of the residual, which change no shape.
    keys.ignore(&["linear_attn_alpha_factor", "linear_attn_beta_factor"]);
    if keys.has("shared_intermediate_size") {
        return Err(keys.wrong("shared_intermediate_size", "0: a shared expert is not known here"));
    }
    let trunk = Trunk::read(keys, M1)?;
    let Trunk { hidden, heads, head_dim, layers: depth, .. } = trunk;
    let softmax = Gqa { rotated: keys.size_or("rotary_dim", head_dim)?, ..trunk.attention() };
    let lightning = lightning(hidden, heads, head_dim, keys.size_or("block_size", 256)?);
    let mixture = Mixture::read(keys, hidden, ("num_local_experts", 8), 2, ("intermediate_size", 14_336))?;
    let layer = |full: bool| {
        let attention = if full { softmax.units() } else { lightning.clone() };
        pre_norm(hidden, attention, mixture.units())
    };
    // The first files have a list of 0 and 1 instead of names.
    let numbered = by_number(keys, "attn_type_list", depth)?;
    let full = by_word(keys, "layer_types", depth, "full_attention", "linear_attention", M1_KINDS)?
        .or(numbered)
        .unwrap_or_else(|| (0..depth).map(|index| index % 2 == 0).collect());
    let layers = full.into_iter().map(layer);
    Ok(trunk.decoder(config.tied(false)?, layers))
}

fn lightning(hidden: u64, heads: u64, head_dim: u64, block: u64) -> Vec<Unit> {
    let wide = Dim::split(heads, head_dim);
    vec![
        Linear::new("qkv_proj", "attn.qkv", Dim::whole(hidden), [wide, wide, wide])
            .at("self_attn.qkv_proj")
            .vector(3 * 4 * heads * head_dim)
            .unit("6·T·h·H·d"),
        Unit::Lightning(Lightning { heads, width: head_dim, block }),
        Unit::Norm(Norm::fused("norm", "norm", heads * head_dim, heads * head_dim)),
        Linear::new("output_gate", "attn.gate", Dim::whole(hidden), [wide])
            .at("self_attn.output_gate")
            .vector(5 * heads * head_dim)
            .unit("2·T·h·H·d"),
        Linear::new("out_proj", "attn.o", wide, [Dim::whole(hidden)])
            .at("self_attn.out_proj")
            .unit("2·T·H·d·h"),
        all_reduce(hidden),
    ]
}

const M2: Class =
    Class { vocab: 200_064, hidden: 3_072, layers: 62, heads: 48, kv_heads: Some(8), head_dim: Some(128) };

pub(super) fn minimax_m2(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    if keys.has("shared_intermediate_size") {
        return Err(keys.wrong("shared_intermediate_size", "0: a shared expert is not known here"));
    }
    let trunk = Trunk::read(keys, M2)?;
    let hidden = trunk.hidden;
    let attention = Gqa {
        qk_norm: QkNorm::Full,
        rotated: keys.size_or("rotary_dim", trunk.head_dim)?,
        ..trunk.attention()
    };
    let mixture = Mixture::read(keys, hidden, ("num_local_experts", 256), 8, ("intermediate_size", 1_536))?;
    let layer = pre_norm(hidden, attention.units(), mixture.units());
    let layers = vec![layer; trunk.layers];
    let mut design = trunk.decoder(config.tied(false)?, layers);
    if keys.has("num_mtp_modules") {
        design.notes.push("the draft modules are in no public class: not counted".to_owned());
    }
    Ok(design)
}

const M3: Class =
    Class { vocab: 200_064, hidden: 6_144, layers: 60, heads: 64, kv_heads: Some(4), head_dim: Some(128) };

const M3_KINDS: &str = "full_attention or minimax_m3_sparse for each layer";

pub(super) fn minimax_m3(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    if keys.flag_or("attention_output_gate", false)? {
        return Err(keys.wrong("attention_output_gate", "false: the gate's shape is in no public class"));
    }
    if keys.count_or("n_shared_experts", 1)? != 1 {
        return Err(keys.wrong("n_shared_experts", "1 shared expert"));
    }
    let trunk = Trunk::read(keys, M3)?;
    let (hidden, depth) = (trunk.hidden, trunk.layers);
    let inner = keys.size_or("intermediate_size", 3_072)?;
    if keys.size_or("moe_intermediate_size", inner)? != inner {
        return Err(keys.wrong("moe_intermediate_size", "the same as intermediate_size"));
    }
    let plain = Gqa { qk_norm: QkNorm::Head, rotated: keys.size_or("rotary_dim", 64)?, ..trunk.attention() };
    let indexer = Indexer::read(keys)?;
    let dense = dense_mlp(hidden, keys.size_or("dense_intermediate_size", 12_288)?, false);
    let mixture = Mixture {
        shared: keys.size_or("shared_intermediate_size", 3_072)?,
        ..Mixture::read(keys, hidden, ("num_local_experts", 128), 4, ("intermediate_size", 3_072))?
    };
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
    let mut design = trunk.decoder(config.tied(false)?, layers);
    design.vision = None;
    if keys.has("num_mtp_modules") || keys.has("num_nextn_predict_layers") {
        design.notes.push("the draft modules are in no public class: not counted".to_owned());
    }
    Ok(design)
}

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

    fn layers(&self, keys: &Keys, depth: usize) -> Result<Vec<bool>, ConfigError> {
        if let Some(chosen) =
            by_word(keys, "layer_types", depth, "minimax_m3_sparse", "full_attention", M3_KINDS)?
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

    fn attention(&self, plain: &Gqa) -> Vec<Unit> {
        // The block of the query itself is among the chosen, and full only at its end: at most this many.
        let mut units = Gqa { mask: Mask::TopK(self.keys), ..*plain }.units();
        let (heads, width) = (self.heads, self.width);
        let indexer = [
            Linear::new(
                "index_qk",
                "dsa.idx_proj",
                Dim::whole(plain.hidden),
                [Dim::whole(heads * width), Dim::whole(width)],
            )
            .at("self_attn.indexer.q_proj")
            .vector(3 * (heads + 1) * plain.rotated.min(width))
            .unit("2·T·h·(n_i + 1)·d_i"),
            Unit::Norm(Norm::fused("index_norm", "norm", (heads + 1) * width, 2 * width)),
            Unit::IndexScores(IndexScores { class: "dsa.idx_core", heads, width, every: 1, summed: false }),
        ];
        let core = units.iter().position(|unit| matches!(unit, Unit::Attention(_))).unwrap_or(0);
        units.splice(core..core, indexer);
        units
    }
}
