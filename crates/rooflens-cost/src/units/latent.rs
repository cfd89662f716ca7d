//! Attention over a compressed cache: multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), and
//! the indexer of DeepSeek sparse attention (DeepSeek-V3.2).

use super::{Kept, Parameters, Part, Summaries, tiles};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::{LatentOrder, Pass};
use crate::precision::{Dtype, Storage};
use crate::step::{Mask, Phase};

/// Multi-head latent attention from the compressed keys and values on: the up-projection and the core.
///
/// Expanded, keys and values of all context are made anew from the cache, then attended to head by head.
/// Absorbed, queries and results go through the up-projection instead: `(2r + d_r) / (d_n + d_r + d_v)`
/// times the operations a pair, but only the compressed cache is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LatentAttention {
    /// Path of the up-projection below the layer.
    pub(crate) module: &'static str,
    pub(crate) heads: u64,
    pub(crate) rank: u64,
    /// Width of the part of a key that has no position.
    pub(crate) nope_width: u64,
    /// Width of the part that has, shared by all heads.
    pub(crate) rope_width: u64,
    pub(crate) v_width: u64,
    pub(crate) mask: Mask,
    pub(crate) storage: Storage,
    pub(crate) core: Storage,
}

/// Elements of the latent that share a scale in the 8-bit layout.
const SCALED_ELEMENTS: u64 = 128;

impl LatentAttention {
    fn cached(&self) -> u128 {
        u128::from(self.rank) + u128::from(self.rope_width)
    }

    /// Bytes of `tokens` tokens in the cache. Sparse attention in 8 bits has the layout of FlashMLA's sparse
    /// kernels (vLLM's `fp8_ds_mla`): the latent in fp8 with a 32-bit scale for each 128 elements, the part
    /// with a position in 16 bits. Dense attention has one scale per tensor.
    fn cache_bytes(&self, pass: &Pass, tokens: u128) -> u128 {
        if matches!(self.mask, Mask::TopK(_)) && pass.kv.element == Dtype::Fp8 {
            let latent = Storage::grouped(Dtype::Fp8, SCALED_ELEMENTS, 32, Dtype::Fp8);
            return tokens * (latent.bytes(self.rank.into()) + 2 * u128::from(self.rope_width));
        }
        pass.kv_bytes(tokens * self.cached())
    }

    /// Elements of the up-projection for `heads` heads.
    fn up(&self, heads: u128) -> u128 {
        u128::from(self.rank) * heads * (u128::from(self.nope_width) + u128::from(self.v_width))
    }
}

impl Part for LatentAttention {
    fn parameters(&self) -> Parameters {
        Parameters { stored: self.up(self.heads.into()), ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        self.storage.bytes(self.up(pass.tp.part(self.heads).into()))
    }

    fn kept(&self, pass: &Pass) -> Kept {
        // Every device keeps all of it: it has no heads to be dealt out.
        Kept { bytes_per_token: self.cache_bytes(pass, 1), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let tokens = step.tokens();
        let heads = u128::from(pass.tp.part(self.heads));
        let absorbed = match pass.latent {
            LatentOrder::Absorbed => true,
            LatentOrder::Expanded => false,
            LatentOrder::ByPhase => step.phase == Phase::Decode,
        };
        let per_token = 2 * self.up(heads);
        let expanded_width =
            u128::from(self.nope_width) + u128::from(self.rope_width) + u128::from(self.v_width);
        let up_rows = if absorbed { tokens } else { step.context() };
        // Expanded keys and values go to memory and come back; absorbed, queries and results do.
        let up_moves = if absorbed {
            tokens * heads * (self.cached() + u128::from(self.rank) + expanded_width)
        } else {
            up_rows * (self.cached() + heads * expanded_width)
        };
        into.push(Operator {
            name: if absorbed { "kv_b_proj (absorbed)" } else { "kv_b_proj" },
            class: "attn.kv_b",
            work: Work {
                flops: Flops {
                    // The framework keeps the compressed cache and expands all of it in every pass.
                    as_counted: per_token * step.context(),
                    useful: per_token * up_rows,
                    issued: per_token * tiles::rows(up_rows),
                },
                bytes: Bytes {
                    weights: self.storage.bytes(self.up(heads)),
                    activations: pass.activation_bytes(up_moves),
                    ..Bytes::default()
                },
                ..Work::default()
            },
            storage: self.storage,
            formula: if absorbed { "2·T·H·r·(d_n + d_v)" } else { "2·context·H·r·(d_n + d_v)" },
        });

        let pairs = self.mask.pairs(step);
        let width =
            if absorbed { 2 * u128::from(self.rank) + u128::from(self.rope_width) } else { expanded_width };
        let kept = match self.mask {
            Mask::TopK(keys) | Mask::Window(keys) | Mask::Chunk(keys) => Some(keys),
            _ => None,
        };
        // Absorbed, all heads share the one key head and fill the rows of a tile.
        let (group, kv_heads) = if absorbed { (heads as u64, 1) } else { (1, heads) };
        let tiled =
            u128::from(step.sequences) * kv_heads * tiles::pairs(step.new, step.past, group, kept, true);
        let moved = if absorbed {
            tokens * (heads * width + self.cached())
        } else {
            tokens * heads * expanded_width + step.context() * heads * expanded_width
        };
        into.push(Operator {
            name: "attention",
            class: "attn.core",
            work: Work {
                flops: Flops {
                    as_counted: 2 * heads * expanded_width * self.mask.pairs_counted(step),
                    useful: 2 * heads * width * pairs,
                    issued: (2 * tiled * width).max(2 * heads * width * pairs),
                },
                vector_flops: 5 * pairs * heads,
                bytes: Bytes {
                    weights: 0,
                    kv_read: self
                        .cache_bytes(pass, u128::from(step.sequences) * u128::from(self.mask.read(step))),
                    kv_write: self.cache_bytes(pass, tokens),
                    activations: pass.activation_bytes(moved),
                },
                ..Work::default()
            },
            storage: self.core,
            formula: if absorbed { "2·pairs·H·(2r + d_r)" } else { "2·pairs·H·(d_n + d_r + d_v)" },
        });
    }
}

/// The scores by which an indexer chooses keys: one small key for each token or every few, several query
/// heads, and a sum or maximum over them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndexScores {
    pub(crate) class: &'static str,
    pub(crate) heads: u64,
    pub(crate) width: u64,
    /// Tokens that share a key: 1 for a key of every token.
    pub every: u64,
    /// Whether a weighted sum over the heads follows as a product.
    pub(crate) summed: bool,
}

impl IndexScores {
    /// Keys of one sequence after `tokens` tokens.
    fn keys(&self, tokens: u64) -> u64 {
        tokens / self.every.max(1)
    }

    /// A key: 8 bits an element and a 32-bit scale (DeepSeek-V3.2's and vLLM's indexer cache).
    fn key(&self) -> Storage {
        Storage::grouped(Dtype::Fp8, self.width, 32, Dtype::Fp8)
    }
}

impl Part for IndexScores {
    fn kept(&self, _pass: &Pass) -> Kept {
        let key = self.key().bytes(self.width.into());
        Kept { bytes_per_token: key.div_ceil(u128::from(self.every.max(1))), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        // The choice must be the same everywhere, so no device has heads of its own.
        let widths = u128::from(self.width) + u128::from(self.summed);
        let per_pair = 2 * u128::from(self.heads) * widths;
        let (past, all) = (self.keys(step.past), self.keys(step.past.saturating_add(step.new)));
        let sequences = u128::from(step.sequences);
        let (counted, pairs) = if self.every <= 1 {
            (Mask::Causal.pairs_counted(step), Mask::Causal.pairs(step))
        } else {
            let summaries = Summaries { rate: self.every, top_k: None, overlap: 1 };
            (step.tokens() * u128::from(all), sequences * summaries.pairs(step))
        };
        let tiled = sequences * tiles::pairs(step.new, past, self.heads, None, true);
        // Every device scores all keys for all heads, or, split by token, its own part.
        let pairs = pass.replicated_rows(pairs);
        let useful = per_pair * pairs;
        let query = u128::from(self.heads) * u128::from(self.width);
        into.push(Operator {
            name: "index_scores",
            class: self.class,
            work: Work {
                flops: Flops {
                    as_counted: per_pair * counted,
                    useful,
                    issued: (2 * tiled * widths).max(useful),
                },
                vector_flops: pairs * u128::from(self.heads),
                bytes: Bytes {
                    weights: 0,
                    kv_read: self
                        .key()
                        .bytes(pass.replicated_rows(sequences * u128::from(past)) * u128::from(self.width)),
                    kv_write: self.key().bytes(sequences * u128::from(all - past) * u128::from(self.width)),
                    activations: pass.activation_bytes(step.tokens() * query),
                },
                copied_flops: if pass.tp.rank > 0 && !pass.sequence_parallel { useful } else { 0 },
                ..Work::default()
            },
            storage: Storage::plain(Dtype::Fp8),
            formula: if self.summed { "2·pairs·n_i·(d_i + 1)" } else { "2·pairs·n_i·d_i" },
        });
    }
}
