//! Linear attention with a state: the gated delta rule (arXiv 2412.06464) and lightning attention
//! (MiniMax-01, arXiv 2501.08313).

use super::{Kept, Part};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};

/// The gated delta rule in chunks of c tokens: a chunk of a value head takes
/// `2·(2·c²·d_k + c²·d_v + 3·c·d_k·d_v)` operations in matmuls and `2·c²·(d_k + d_v)` in the
/// triangular solve of the UT transform, which counters of frameworks leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeltaRule {
    /// Value heads.
    pub(crate) heads: u64,
    /// Width of a key.
    pub(crate) k_width: u64,
    /// Width of a value.
    pub(crate) v_width: u64,
    /// Tokens of a chunk.
    pub(crate) chunk: u64,
}

impl DeltaRule {
    fn state_elements(&self, pass: &Pass) -> u128 {
        u128::from(pass.tp.part(self.heads)) * u128::from(self.k_width) * u128::from(self.v_width)
    }
}

impl Part for DeltaRule {
    fn kept(&self, pass: &Pass) -> Kept {
        Kept { bytes_per_sequence: pass.state.bytes(self.state_elements(pass)), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let sequences = u128::from(step.sequences);
        let heads = u128::from(pass.tp.part(self.heads));
        let (c, dk, dv) = (u128::from(self.chunk.max(1)), u128::from(self.k_width), u128::from(self.v_width));
        let state = sequences * pass.state.bytes(self.state_elements(pass));
        let bytes = Bytes {
            weights: 0,
            kv_read: if step.past == 0 { 0 } else { state },
            kv_write: state,
            activations: pass.activation_bytes(step.tokens() * heads * (2 * dk + 2 * dv)),
        };
        let core = |flops, formula| Operator {
            name: "delta_rule",
            class: "gdn.core",
            work: Work { flops, vector_flops: 4 * step.tokens() * heads * dv, bytes, ..Work::default() },
            storage: Storage::plain(Dtype::Bf16),
            formula,
        };
        if step.new == 1 && step.past > 0 {
            // Recall with the key, update, read with the query: plain sums, which counters leave out.
            let useful = 6 * step.tokens() * self.state_elements(pass);
            into.push(core(Flops { as_counted: 0, useful, issued: useful }, "6·T·n·d_k·d_v"));
            return;
        }
        let chunks = sequences * u128::from(step.new).div_ceil(c) * heads;
        into.push(core(
            Flops::same(2 * chunks * (2 * c * c * dk + c * c * dv + 3 * c * dk * dv)),
            "2·(2·c²·d_k + c²·d_v + 3·c·d_k·d_v) per chunk and head",
        ));
        let solve = 2 * chunks * c * c * (dk + dv);
        into.push(Operator {
            name: "triangular_solve",
            class: "gdn.solve",
            work: Work { flops: Flops { as_counted: 0, useful: solve, issued: solve }, ..Work::default() },
            storage: Storage::plain(Dtype::Bf16),
            formula: "2·c²·(d_k + d_v) per chunk and head",
        });
    }
}

/// Lightning attention: within a block the products of attention, between blocks a state of `d²` a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lightning {
    /// Heads.
    pub(crate) heads: u64,
    /// Width of a head.
    pub(crate) width: u64,
    /// Tokens of a block.
    pub(crate) block: u64,
}

impl Part for Lightning {
    fn kept(&self, pass: &Pass) -> Kept {
        let heads = u128::from(pass.tp.part(self.heads));
        let width = u128::from(self.width);
        Kept { bytes_per_sequence: pass.state.bytes(heads * width * width), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let heads = u128::from(pass.tp.part(self.heads));
        let (new, width, block) =
            (u128::from(step.new), u128::from(self.width), u128::from(self.block.max(1)));
        let sequences = u128::from(step.sequences);
        let (whole, rest) = (new / block, new % block);
        let (counted, within) = if step.new == 1 && step.past > 0 {
            (0, 0)
        } else {
            // Within blocks: scores and values, all pairs as counted, half of them useful.
            (whole * block * block + rest * rest, (whole * block * (block + 1) + rest * (rest + 1)) / 2)
        };
        // Between blocks: the query reads the state, key and value update it.
        let between = 4 * step.tokens() * heads * width * width;
        let pairs = |pairs: u128| 4 * sequences * pairs * heads * width + between;
        let state = sequences * self.kept(pass).bytes_per_sequence;
        into.push(Operator {
            name: "lightning_attention",
            class: "attn.linear",
            work: Work {
                flops: Flops { as_counted: pairs(counted), useful: pairs(within), issued: pairs(counted) },
                vector_flops: 4 * step.tokens() * heads * width,
                bytes: Bytes {
                    weights: 0,
                    kv_read: if step.past == 0 { 0 } else { state },
                    kv_write: state,
                    activations: pass.activation_bytes(4 * step.tokens() * heads * width),
                },
                ..Work::default()
            },
            storage: Storage::plain(Dtype::Bf16),
            formula: "4·pairs within blocks·H·d + 4·T·H·d²",
        });
    }
}
