//! DeepSeek-V4's attention: one key head that is the value too, a window, and summaries of what lies before
//! it. Transformers' `DeepseekV4Attention`, `DeepseekV4CSACompressor` and `DeepseekV4HCACompressor`.

use super::shapes::all_reduce;
use super::trunk::Trunk;
use crate::config::{ConfigError, Keys};
use crate::units::{CompressedAttention, Dim, IndexScores, Linear, Norm, Summaries, Unit, Weights};

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

/// Sizes of attention.
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
            Unit::Linear(
                linear("q_a_proj", "attn.q", hidden, q_rank, "self_attn.q_a_proj").formula("2·T·h·q_r"),
            ),
            Unit::Norm(Norm::fused("q_a_norm", "norm", q_rank, q_rank)),
            Unit::Linear(
                Linear::new("q_b_proj", "attn.q", Dim::whole(q_rank), [Dim::split(heads, width)])
                    .at("self_attn.q_b_proj")
                    .vector(6 * heads * self.rope)
                    .formula("2·T·q_r·H·d"),
            ),
            // Each query head, without weights.
            Unit::Norm(Norm::fused("q_b_norm", "norm", heads * width, 0)),
            Unit::Linear(linear("kv_proj", "attn.kv", hidden, width, "self_attn.kv_proj").formula("2·T·h·d")),
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
        units.push(Unit::Linear(
            Linear::new("o_a_proj", "attn.o", grouped, [Dim::split(groups, o_rank)])
                .diagonal()
                .at("self_attn.o_a_proj")
                .formula("2·T·H·d·o_r"),
        ));
        units.push(Unit::Linear(
            Linear::new("o_b_proj", "attn.o", Dim::split(groups, o_rank), [Dim::whole(hidden)])
                .at("self_attn.o_b_proj")
                .formula("2·T·g·o_r·h"),
        ));
        units.push(all_reduce(hidden));
        units
    }

    /// What makes entries of tokens: `series` values and gates of a token, a bias for each place.
    fn compressor(&self, module: &'static str, width: u64, series: u64, rate: u64) -> Vec<Unit> {
        let class = if width == self.width { "attn.compress" } else { "dsa.idx_proj" };
        let each = series * width;
        vec![
            Unit::Linear(
                Linear::new(
                    "compressor",
                    class,
                    Dim::whole(self.hidden),
                    [Dim::whole(each), Dim::whole(each)],
                )
                .at(module)
                // Softmax over the places of a window, then a sum.
                .vector(7 * each)
                .formula("4·T·h·c"),
            ),
            Unit::Weights(Weights { name: "position_bias", parameters: rate * each }),
            Unit::Norm(Norm::fused("compressor_norm", "norm", width, width)),
        ]
    }

    fn indexer(&self) -> Vec<Unit> {
        let (heads, width) = (self.index_heads, self.index_width);
        let mut units = self.compressor("self_attn.compressor.indexer.kv_proj", width, 2, self.sparse_rate);
        units.push(Unit::Linear(
            Linear::new("index_q", "dsa.idx_proj", Dim::whole(self.q_rank), [Dim::whole(heads * width)])
                .at("self_attn.compressor.indexer.q_b_proj")
                .formula("2·T·q_r·n_i·d_i"),
        ));
        units.push(Unit::Linear(
            Linear::new("index_weights", "dsa.idx_proj", Dim::whole(self.hidden), [Dim::whole(heads)])
                .formula("2·T·h·n_i"),
        ));
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
