//! Mamba-2: the state space dual form (arXiv 2405.21060).

use super::{Kept, Part};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};

/// The scan of Mamba-2, in chunks of `chunk` tokens.
///
/// For a chunk of c tokens and a head of width p with a state of N: scores `c²·N`, their sum `c²·p`, the
/// chunk's state and its use `2·c·N·p`; between n chunks `(n + 1)²·p·N` as Transformers writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ssd {
    /// Heads.
    pub(crate) heads: u64,
    /// Width of a head.
    pub(crate) width: u64,
    /// Size of the state of a channel.
    pub(crate) state: u64,
    /// Tokens of a chunk.
    pub(crate) chunk: u64,
}

impl Ssd {
    fn state_elements(&self, pass: &Pass) -> u128 {
        u128::from(pass.tp.part(self.heads)) * u128::from(self.width) * u128::from(self.state)
    }

    fn state_bytes(&self, pass: &Pass) -> u128 {
        pass.state.bytes(self.state_elements(pass))
    }
}

impl Part for Ssd {
    fn kept(&self, pass: &Pass) -> Kept {
        Kept { bytes_per_sequence: self.state_bytes(pass), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let sequences = u128::from(step.sequences);
        let heads = u128::from(pass.tp.part(self.heads));
        let (c, n_state, p) = (u128::from(self.chunk.max(1)), u128::from(self.state), u128::from(self.width));
        let recurrent = step.new == 1 && step.past > 0;
        let (flops, formula) = if recurrent {
            // Decay and update of the state, then its product with C.
            let useful = 6 * step.tokens() * self.state_elements(pass);
            (
                Flops { as_counted: 2 * step.tokens() * self.state_elements(pass), useful, issued: useful },
                "6·T·n·p·N",
            )
        } else {
            let chunks = u128::from(step.new).div_ceil(c);
            let within = 2 * chunks * heads * (c * c * n_state + 2 * c * n_state * p + c * c * p);
            let between = 2 * heads * (chunks + 1) * (chunks + 1) * p * n_state;
            (Flops::same(sequences * (within + between)), "2·n·(c²·N + 2·c·N·p + c²·p) + 2·(n+1)²·p·N a head")
        };
        let state = sequences * self.state_bytes(pass);
        into.push(Operator {
            name: "ssd",
            class: "mamba.ssd",
            work: Work {
                flops,
                vector_flops: 4 * step.tokens() * heads * p,
                bytes: Bytes {
                    weights: 0,
                    kv_read: if step.past == 0 { 0 } else { state },
                    kv_write: state,
                    activations: pass.activation_bytes(step.tokens() * heads * (3 * p)),
                },
                ..Work::default()
            },
            storage: Storage::plain(Dtype::Bf16),
            formula,
        });
    }
}
