//! What the descendants of DeepSeek-V2 share: multi-head latent attention with its projections (arXiv
//! 2405.04434), dense layers before sparse ones, the indexer of V3.2, layers that draft (arXiv 2412.19437).

use super::design::Design;
use super::shapes::{Mixture, PLAIN, all_reduce, dense_mlp, gated_mlp, pre_norm};
use super::trunk::{Class, Trunk};
use crate::config::{ConfigError, Keys};
use crate::model::Layer;
use crate::step::Mask;
use crate::units::{Dim, IndexScores, LatentAttention, Linear, Norm, Unit};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mla {
    pub(crate) hidden: u64,
    pub(crate) heads: u64,
    /// Rank of compressed queries; none where queries are not compressed.
    pub(crate) q_rank: Option<u64>,
    pub(crate) kv_rank: u64,
    /// Width of the part of a key that has no position.
    pub(crate) nope: u64,
    /// Width of the part that has.
    pub(crate) rope: u64,
    pub(crate) value: u64,
    /// Whether the down-projections and the output have biases.
    pub(crate) bias: bool,
    pub(crate) mask: Mask,
    pub(crate) indexer: Option<Indexer>,
}

/// What chooses keys: small queries from the compressed ones, one small key for each token.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Indexer {
    pub(crate) heads: u64,
    pub(crate) width: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct MlaDefaults {
    pub(crate) trunk: Class,
    pub(crate) inner: u64,
    pub(crate) moe_inner: u64,
    pub(crate) q_rank: u64,
    pub(crate) nope: u64,
    pub(crate) value: u64,
    pub(crate) experts: u64,
    pub(crate) shared: u64,
    pub(crate) top_k: Option<u64>,
    pub(crate) first_dense: u64,
}

impl Mla {
    /// Reads the sizes of attention.
    pub fn read(keys: &Keys, trunk: &Trunk, defaults: &MlaDefaults) -> Result<Self, ConfigError> {
        let q_rank =
            if keys.names("q_lora_rank") { keys.size_if("q_lora_rank")? } else { Some(defaults.q_rank) };
        Ok(Self {
            hidden: trunk.hidden,
            heads: trunk.heads,
            q_rank,
            kv_rank: keys.size_or("kv_lora_rank", 512)?,
            nope: keys.size_or("qk_nope_head_dim", defaults.nope)?,
            rope: keys.size_or("qk_rope_head_dim", 64)?,
            value: keys.size_or("v_head_dim", defaults.value)?,
            bias: keys.flag_or("attention_bias", false)?,
            mask: Mask::Causal,
            indexer: None,
        })
    }

    pub(crate) fn units(&self) -> Vec<Unit> {
        let Mla { hidden, heads, kv_rank, nope, rope, value, bias, .. } = *self;
        let queries = Dim::split(heads, nope + rope);
        let rotation = 3 * heads * rope;
        let mut units = Vec::new();
        if let Some(rank) = self.q_rank {
            // Latent vectors have no heads to be dealt out: every device makes all of them.
            units.push(
                Linear::new("q_a_proj", "attn.q", Dim::whole(hidden), [Dim::whole(rank)])
                    .at("self_attn.q_a_proj")
                    .bias(bias)
                    .unit("2·T·h·q_r"),
            );
            units.push(Unit::Norm(Norm::fused("q_a_layernorm", "norm", rank, rank)));
            units.push(
                Linear::new("q_b_proj", "attn.q", Dim::whole(rank), [queries])
                    .at("self_attn.q_b_proj")
                    .vector(rotation)
                    .unit("2·T·q_r·H·(d_n + d_r)"),
            );
        } else {
            units.push(
                Linear::new("q_proj", "attn.q", Dim::whole(hidden), [queries])
                    .at("self_attn.q_proj")
                    .vector(rotation)
                    .unit("2·T·h·H·(d_n + d_r)"),
            );
        }
        units.push(
            Linear::new("kv_a_proj", "attn.kv_a", Dim::whole(hidden), [Dim::whole(kv_rank + rope)])
                .at("self_attn.kv_a_proj_with_mqa")
                .bias(bias)
                .vector(3 * rope)
                .unit("2·T·h·(r + d_r)"),
        );
        units.push(Unit::Norm(Norm::fused("kv_a_layernorm", "norm", kv_rank, kv_rank)));
        if let Some(indexer) = self.indexer {
            units.extend(indexer.units(hidden, self.q_rank.unwrap_or(hidden)));
        }
        units.push(Unit::Latent(LatentAttention {
            module: "self_attn.kv_b_proj",
            heads,
            rank: kv_rank,
            nope_width: nope,
            rope_width: rope,
            v_width: value,
            mask: self.mask,
            storage: PLAIN,
            core: PLAIN,
        }));
        units.push(
            Linear::new("o_proj", "attn.o", Dim::split(heads, value), [Dim::whole(hidden)])
                .at("self_attn.o_proj")
                .bias(bias)
                .unit("2·T·H·d_v·h"),
        );
        units.push(all_reduce(hidden));
        units
    }
}

impl Indexer {
    fn units(&self, hidden: u64, q_rank: u64) -> Vec<Unit> {
        let Indexer { heads, width } = *self;
        // Every device chooses for itself, with all heads.
        vec![
            Linear::new("index_q", "dsa.idx_proj", Dim::whole(q_rank), [Dim::whole(heads * width)])
                .at("self_attn.indexer.wq_b")
                .unit("2·T·q_r·n_i·d_i"),
            Linear::new(
                "index_k",
                "dsa.idx_proj",
                Dim::whole(hidden),
                [Dim::whole(width), Dim::whole(heads)],
            )
            .at("self_attn.indexer.wk")
            .unit("2·T·h·(d_i + n_i)"),
            Unit::Norm(Norm::fused("index_k_norm", "norm", width, width).layer()),
            Unit::IndexScores(IndexScores { class: "dsa.idx_core", heads, width, every: 1, summed: true }),
        ]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct FeedForward {
    dense: Vec<Unit>,
    sparse: Vec<Unit>,
    first_dense: u64,
}

impl FeedForward {
    /// Reads their sizes; `bias` for all but the routed experts.
    pub fn read(keys: &Keys, hidden: u64, defaults: &MlaDefaults, bias: bool) -> Result<Self, ConfigError> {
        let first_dense = keys.count_or("first_k_dense_replace", defaults.first_dense)?;
        if keys.has("moe_layer_freq") && keys.count_if("moe_layer_freq")? != Some(1) {
            return Err(keys.wrong("moe_layer_freq", "1: every layer after the dense ones has experts"));
        }
        let inner = keys.size_or("intermediate_size", defaults.inner)?;
        let moe_inner = keys.size_or("moe_intermediate_size", defaults.moe_inner)?;
        let mut experts = defaults.experts;
        // Three spellings; where a file has several, `num_experts` rules.
        for key in ["n_routed_experts", "num_local_experts", "num_experts"] {
            experts = keys.size_or(key, experts)?;
        }
        let named = keys.size_if("num_experts_per_tok")?.or(keys.size_if("num_experts_per_token")?);
        let top_k = named.or(defaults.top_k).ok_or_else(|| keys.missing("num_experts_per_tok"))?;
        let named = keys.count_if("n_shared_experts")?.or(keys.count_if("num_shared_experts")?);
        let shared = named.unwrap_or(defaults.shared);
        let mut sparse =
            Mixture::plain(hidden, experts, top_k, moe_inner).checked(keys, "num_experts_per_tok")?.units();
        if shared > 0 {
            // Before the sum over devices, which is the last.
            let at = sparse.len().saturating_sub(1);
            sparse.splice(at..at, gated_mlp("moe.shared", hidden, shared * moe_inner, bias));
        }
        let dense = dense_mlp(hidden, inner, bias);
        Ok(Self { dense, sparse, first_dense })
    }

    pub(crate) fn at(&self, index: usize) -> Vec<Unit> {
        self.of((index as u64) >= self.first_dense)
    }

    pub(crate) fn of(&self, sparse: bool) -> Vec<Unit> {
        if sparse { self.sparse.clone() } else { self.dense.clone() }
    }
}

/// Layers that draft: the hidden state and the embedding of the token after it, each normalised, go
/// through `eh_proj` to a layer like the others and a norm of its own; embedding and head are the model's.
pub(crate) fn with_drafts(mut design: Design, keys: &Keys, layer: &[Unit]) -> Result<Design, ConfigError> {
    let drafts = keys.count_or("num_nextn_predict_layers", 0)?;
    if drafts > 64 {
        return Err(keys.wrong("num_nextn_predict_layers", "at most 64 draft layers"));
    }
    design.drafts = vec![draft(design.hidden, layer); drafts as usize];
    Ok(design)
}

pub(crate) fn draft(hidden: u64, layer: &[Unit]) -> Layer {
    let norm = |name| Unit::Norm(Norm { adds: false, ..Norm::residual(name, hidden) });
    let mut units = vec![
        norm("hnorm"),
        norm("enorm"),
        Linear::new("eh_proj", "mtp.proj", Dim::whole(2 * hidden), [Dim::whole(hidden)])
            .at("eh_proj")
            .unit("4·T·h²"),
    ];
    units.extend_from_slice(layer);
    units.push(Unit::Norm(Norm::residual("shared_head.norm", hidden)));
    Layer::new(units)
}

pub(crate) fn layer(mla: &Mla, feed_forward: Vec<Unit>) -> Vec<Unit> {
    pre_norm(mla.hidden, mla.units(), feed_forward)
}
