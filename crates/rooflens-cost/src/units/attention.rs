//! Attention itself: scores, softmax and values.

use super::dim::Dim;
use super::{Kept, Parameters, Part, tiles};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};
use crate::step::Mask;

/// Whose keys and values are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KvCache {
    /// The layer's own, which it also writes.
    Own,
    /// Those that an earlier layer wrote.
    Shared,
    /// None outlives the pass, as in vision towers and encoders.
    None,
}

/// The core of attention: `2·pairs·H·(d_qk + d_v)` operations, softmax on the vector units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Attention {
    pub(crate) class: &'static str,
    pub(crate) heads: u64,
    pub(crate) kv_heads: u64,
    pub(crate) qk_width: u64,
    pub(crate) v_width: u64,
    /// Which keys a query sees.
    pub mask: Mask,
    pub(crate) cache: KvCache,
    pub(crate) sinks: u64,
    pub(crate) storage: Storage,
}

/// Operations of the vector units for a pair: scale, subtract the maximum, exponentiate, add, divide.
const SOFTMAX: u128 = 5;

impl Attention {
    pub(crate) fn plain(
        class: &'static str,
        [heads, kv_heads]: [u64; 2],
        width: u64,
        mask: Mask,
        cache: KvCache,
    ) -> Self {
        let storage = Storage::plain(Dtype::Bf16);
        Self { class, heads, kv_heads, qk_width: width, v_width: width, mask, cache, sinks: 0, storage }
    }

    fn cached(&self, pass: &Pass) -> u128 {
        let heads = Dim::split_or_copy(self.kv_heads, 1).local(pass.tp);
        heads * (u128::from(self.qk_width) + u128::from(self.v_width))
    }
}

impl Part for Attention {
    fn parameters(&self) -> Parameters {
        Parameters { stored: self.sinks.into(), ..Parameters::default() }
    }

    fn kept(&self, pass: &Pass) -> Kept {
        if self.cache != KvCache::Own {
            return Kept::default();
        }
        let bytes = pass.kv_bytes(self.cached(pass));
        match self.mask {
            Mask::Window(width) | Mask::Chunk(width) => {
                Kept { window: Some((width, bytes)), ..Kept::default() }
            }
            Mask::Cross => Kept { bytes_per_media_token: bytes, ..Kept::default() },
            Mask::All | Mask::Causal | Mask::TopK(_) => Kept { bytes_per_token: bytes, ..Kept::default() },
        }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let heads = u128::from(pass.tp.part(self.heads));
        let widths = u128::from(self.qk_width) + u128::from(self.v_width);
        let per_pair = 2 * heads * widths;
        let pairs = self.mask.pairs(step);
        let sequences = u128::from(step.sequences);

        let kv_heads = u128::from(Dim::split_or_copy(self.kv_heads, 1).local_units(pass.tp)).max(1);
        let group = heads.div_ceil(kv_heads).max(1) as u64;
        let (kept, causal) = match self.mask {
            Mask::Window(keys) | Mask::Chunk(keys) | Mask::TopK(keys) => (Some(keys), true),
            Mask::Causal => (None, true),
            Mask::All | Mask::Cross => (None, false),
        };
        let a_head = match self.mask {
            Mask::Cross => tiles::rectangle(step.new, step.media, group),
            _ => tiles::pairs(step.new, step.past, group, kept, causal),
        };
        let tiled = sequences * kv_heads * a_head;
        let issued = (2 * tiled * widths).max(per_pair * pairs);

        let cached = self.cached(pass);
        let (read, written, fresh) = match self.cache {
            KvCache::None => (0, 0, step.tokens()),
            // What this pass writes is also what it reads fresh.
            KvCache::Own if self.mask == Mask::Cross => {
                let media = sequences * u128::from(step.media);
                (media, if step.past == 0 { media } else { 0 }, 0)
            }
            KvCache::Own => (sequences * u128::from(self.mask.read(step)), step.tokens(), step.tokens()),
            KvCache::Shared => (sequences * u128::from(self.mask.read(step)), 0, step.tokens()),
        };
        let queries_and_result = step.tokens() * heads * widths;
        into.push(Operator {
            name: "attention",
            class: self.class,
            work: Work {
                flops: Flops {
                    as_counted: per_pair * self.mask.pairs_counted(step),
                    useful: per_pair * pairs,
                    issued,
                },
                vector_flops: SOFTMAX * pairs * heads,
                bytes: Bytes {
                    weights: 0,
                    kv_read: pass.kv_bytes(read * cached),
                    kv_write: pass.kv_bytes(written * cached),
                    activations: pass.activation_bytes(queries_and_result + fresh * cached),
                },
                ..Work::default()
            },
            storage: self.storage,
            formula: "2·pairs·H·(d_qk + d_v)",
        });
    }
}
