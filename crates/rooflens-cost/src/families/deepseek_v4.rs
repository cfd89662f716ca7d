//! DeepSeek-V4-Flash and V4-Pro: one key head that is the value too, attention to a window and to
//! summaries of what lies before it, a grouped output projection, several residual streams
//! (hyper-connections). Transformers' `DeepseekV4ForCausalLM`.

use super::design::{Design, FamilyConfig};
use super::shapes::{Mixture, all_reduce, gated_mlp, head};
use super::trunk::{Class, Trunk};
use crate::config::{ConfigError, Keys};
use crate::model::Layer;
use crate::units::{CompressedAttention, Dim, IndexScores, Linear, Norm, Product, Summaries, Unit, Weights};

/// How a layer sees what lies before its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    /// Not at all.
    Nothing,
    /// Entries of a few overlapping tokens, chosen by an indexer.
    Sparse,
    /// Entries of many tokens, all of them.
    Heavy,
}

pub(crate) struct AttentionSizes {
    hidden: u64,
    heads: u64,
    width: u64,
    q_rank: u64,
    rope: u64,
    groups: u64,
    o_rank: u64,
    window: u64,
    sparse_rate: u64,
    heavy_rate: u64,
    index_heads: u64,
    index_width: u64,
    top_k: u64,
}

impl AttentionSizes {
    pub fn read(keys: &Keys, trunk: &Trunk) -> Result<Self, ConfigError> {
        let rates = keys.inside("compress_rates");
        let rate = |named: &str, legacy: &str, default: u64| {
            let inner = match &rates {
                Some(rates) => rates.size_if(named)?,
                None => None,
            };
            keys.size_or(legacy, inner.unwrap_or(default))
        };
        let attention = Self {
            hidden: trunk.hidden,
            heads: trunk.heads,
            width: trunk.head_dim,
            q_rank: keys.size_or("q_lora_rank", 1_024)?,
            rope: keys.size_or("qk_rope_head_dim", 64)?,
            groups: keys.size_or("o_groups", 8)?,
            o_rank: keys.size_or("o_lora_rank", 1_024)?,
            window: keys.size_or("sliding_window", 128)?,
            sparse_rate: rate("compressed_sparse_attention", "compress_rate_csa", 4)?,
            heavy_rate: rate("heavily_compressed_attention", "compress_rate_hca", 128)?,
            index_heads: keys.size_or("index_n_heads", 64)?,
            index_width: keys.size_or("index_head_dim", 128)?,
            top_k: keys.size_or("index_topk", 512)?,
        };
        if !attention.heads.is_multiple_of(attention.groups) {
            return Err(keys.wrong("o_groups", "a divisor of num_attention_heads"));
        }
        Ok(attention)
    }

    pub(crate) fn units(&self, past: Past) -> Vec<Unit> {
        let AttentionSizes { hidden, heads, width, q_rank, groups, o_rank, .. } = *self;
        let linear = |name, class, input, output: u64, module| {
            Linear::new(name, class, Dim::whole(input), [Dim::whole(output)]).at(module)
        };
        let mut units = vec![
            linear("q_a_proj", "attn.q", hidden, q_rank, "self_attn.q_a_proj").unit("2·T·h·q_r"),
            Unit::Norm(Norm::fused("q_a_norm", "norm", q_rank, q_rank)),
            Linear::new("q_b_proj", "attn.q", Dim::whole(q_rank), [Dim::split(heads, width)])
                .at("self_attn.q_b_proj")
                .vector(6 * heads * self.rope)
                .unit("2·T·q_r·H·d"),
            // Each query head, without weights.
            Unit::Norm(Norm::fused("q_b_norm", "norm", heads * width, 0)),
            linear("kv_proj", "attn.kv", hidden, width, "self_attn.kv_proj").unit("2·T·h·d"),
            Unit::Norm(Norm::fused("kv_norm", "norm", width, width)),
        ];
        let summaries = match past {
            Past::Nothing => None,
            Past::Heavy => {
                units.extend(self.compressor("self_attn.compressor.kv_proj", width, 1, self.heavy_rate));
                Some(Summaries { rate: self.heavy_rate, top_k: None, overlap: 1 })
            }
            Past::Sparse => {
                units.extend(self.compressor("self_attn.compressor.kv_proj", width, 2, self.sparse_rate));
                units.extend(self.indexer());
                Some(Summaries { rate: self.sparse_rate, top_k: Some(self.top_k), overlap: 2 })
            }
        };
        units.push(Unit::Compressed(CompressedAttention {
            heads,
            width,
            window: self.window,
            summaries,
            sinks: heads,
        }));
        let grouped = Dim::whole(heads / groups * width);
        units.push(
            Linear::new("o_a_proj", "attn.o", grouped, [Dim::split(groups, o_rank)])
                .diagonal()
                .at("self_attn.o_a_proj")
                .unit("2·T·H·d·o_r"),
        );
        units.push(
            Linear::new("o_b_proj", "attn.o", Dim::split(groups, o_rank), [Dim::whole(hidden)])
                .at("self_attn.o_b_proj")
                .unit("2·T·g·o_r·h"),
        );
        units.push(all_reduce(hidden));
        units
    }

    /// What makes entries of tokens: `series` values and gates of a token, a bias for each place.
    fn compressor(&self, module: &'static str, width: u64, series: u64, rate: u64) -> Vec<Unit> {
        let class = if width == self.width { "attn.compress" } else { "dsa.idx_proj" };
        let each = series * width;
        vec![
            Linear::new("compressor", class, Dim::whole(self.hidden), [Dim::whole(each), Dim::whole(each)])
                .at(module)
                // Softmax over the places of a window, then a sum.
                .vector(7 * each)
                .unit("4·T·h·c"),
            Unit::Weights(Weights { name: "position_bias", parameters: rate * each }),
            Unit::Norm(Norm::fused("compressor_norm", "norm", width, width)),
        ]
    }

    fn indexer(&self) -> Vec<Unit> {
        let (heads, width) = (self.index_heads, self.index_width);
        let mut units = self.compressor("self_attn.compressor.indexer.kv_proj", width, 2, self.sparse_rate);
        units.push(
            Linear::new("index_q", "dsa.idx_proj", Dim::whole(self.q_rank), [Dim::whole(heads * width)])
                .at("self_attn.compressor.indexer.q_b_proj")
                .unit("2·T·q_r·n_i·d_i"),
        );
        units.push(
            Linear::new("index_weights", "dsa.idx_proj", Dim::whole(self.hidden), [Dim::whole(heads)])
                .unit("2·T·h·n_i"),
        );
        units.push(Unit::IndexScores(IndexScores {
            class: "dsa.idx_core",
            heads,
            width,
            every: self.sparse_rate,
            summed: false,
        }));
        units
    }
}

const CLASS: Class =
    Class { vocab: 129_280, hidden: 4_096, layers: 43, heads: 64, kv_heads: Some(1), head_dim: Some(512) };

pub(super) fn read(config: &FamilyConfig) -> Result<Design, ConfigError> {
    let keys = &config.text;
    // The class builds one shared expert and one key head whatever these say; the layers that draft
    // are not part of it, and how hashed layers choose experts changes no shape.
    keys.ignore(&["n_shared_experts", "num_nextn_predict_layers"]);
    // `expert_dtype` names the stored format, which the quantisation tells as well.
    keys.ignore(&["expert_dtype"]);
    let trunk = Trunk::read(keys, CLASS)?;
    check_choice(keys, trunk.layers)?;
    let pasts = pasts(keys, trunk.layers)?;
    let attention = AttentionSizes::read(keys, &trunk)?;
    let (hidden, vocab) = (trunk.hidden, trunk.vocab);
    let streams = keys.size_or("hc_mult", 4)?;
    if streams > 64 {
        return Err(keys.wrong("hc_mult", "at most 64 streams"));
    }
    let inner = keys.size_or("moe_intermediate_size", 2_048)?;
    let mixture =
        Mixture::read(keys, hidden, ("n_routed_experts", 256), 6, ("moe_intermediate_size", 2_048))?;
    let mut feed_forward = mixture.units();
    let sum = feed_forward.len().saturating_sub(1);
    feed_forward.splice(sum..sum, gated_mlp("moe.shared", hidden, inner, false));
    let layer = |past: &Past| {
        let mut units = connection("attn_hc", hidden, streams);
        units.push(Unit::Norm(Norm::residual("input_layernorm", hidden)));
        units.extend(attention.units(*past));
        units.push(mixing("attn_hc_mix", hidden, streams));
        units.extend(connection("ffn_hc", hidden, streams));
        units.push(Unit::Norm(Norm::residual("post_attention_layernorm", hidden)));
        units.extend(feed_forward.clone());
        units.push(mixing("ffn_hc_mix", hidden, streams));
        Layer::new(units)
    };
    let tied = config.tied(false)?;
    let mut after = vec![
        Linear::new("hc_head", "hc", Dim::whole(streams * hidden), [Dim::whole(streams)]).unit("2·T·n²·h"),
        Unit::Weights(Weights { name: "hc_head", parameters: streams + 1 }),
    ];
    after.extend(head(vocab, hidden, tied));
    let mut design = trunk.decoder(tied, Vec::new());
    design.layers = pasts.iter().map(layer).collect();
    design.after = after;
    if keys.has("num_nextn_predict_layers") {
        design.notes.push(
            "the draft layer is in the checkpoint, but its shape is in no public class: not counted"
                .to_owned(),
        );
    }
    Ok(design)
}

/// What decides how streams become one input: a projection of all of them to weights of streams.
fn connection(name: &'static str, hidden: u64, streams: u64) -> Vec<Unit> {
    let weights = (2 + streams) * streams;
    vec![
        Linear::new(name, "hc", Dim::whole(streams * hidden), [Dim::whole(weights)])
            .vector(6 * streams * hidden)
            .unit("2·T·n·h·(n² + 2·n)"),
        // A base for each weight and three scales.
        Unit::Weights(Weights { name, parameters: weights + 3 }),
    ]
}

fn mixing(name: &'static str, hidden: u64, streams: u64) -> Unit {
    let flops = 2 * streams * streams * hidden;
    Unit::Product(Product {
        name,
        class: "hc",
        counted: flops,
        useful: flops,
        moved: (2 * streams + 1) * hidden,
        formula: "2·T·n²·h",
    })
}

/// Layers with hashed and with learned choice of experts have the same shape; others are not known.
fn check_choice(keys: &Keys, depth: usize) -> Result<(), ConfigError> {
    let Some(kinds) = keys.texts("mlp_layer_types")? else { return Ok(()) };
    keys.check_length("mlp_layer_types", kinds.len(), depth)?;
    if kinds.iter().any(|kind| !matches!(*kind, "hash_moe" | "moe")) {
        return Err(keys.wrong("mlp_layer_types", "hash_moe or moe for each layer"));
    }
    Ok(())
}

fn pasts(keys: &Keys, depth: usize) -> Result<Vec<Past>, ConfigError> {
    // Asked for in any case: it may stand beside `layer_types`.
    let ratios = keys.numbers("compress_ratios")?;
    if let Some(types) = keys.texts("layer_types")? {
        keys.check_length("layer_types", types.len(), depth)?;
        let of = |kind: &&str| match *kind {
            "sliding_attention" => Ok(Past::Nothing),
            "compressed_sparse_attention" => Ok(Past::Sparse),
            "heavily_compressed_attention" => Ok(Past::Heavy),
            _ => Err(keys.wrong("layer_types", "sliding, compressed sparse or heavily compressed attention")),
        };
        return types.iter().take(depth).map(of).collect();
    }
    if let Some(ratios) = ratios {
        // One more entry than layers: that of the layer that drafts.
        keys.check_length("compress_ratios", ratios.len(), depth)?;
        let of = |ratio: &u64| match ratio {
            0 => Ok(Past::Nothing),
            4 => Ok(Past::Sparse),
            128 => Ok(Past::Heavy),
            _ => Err(keys.wrong("compress_ratios", "0, 4 or 128 for each layer")),
        };
        return ratios.iter().take(depth).map(of).collect();
    }
    let of = |index: usize| if index >= 2 && index % 2 == 1 { Past::Sparse } else { Past::Heavy };
    Ok((0..depth).map(of).collect())
}
