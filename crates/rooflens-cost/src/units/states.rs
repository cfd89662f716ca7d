//! Layers that keep a state of fixed size: short causal convolutions over time with one filter a channel, the gated delta
//! rule (arXiv 2412.06464), lightning attention (MiniMax-01, arXiv 2501.08313), and Mamba-2's state space dual form (arXiv
//! 2405.21060).

use super::dim::Dim;
use super::{Kept, Parameters, Part, Unit};
use crate::operator::{Bytes, Flops, Operator, Work};
use crate::pass::Pass;
use crate::precision::{Dtype, Storage};

/// A depthwise causal convolution: `2·T·channels·kernel` operations.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conv {
    pub(crate) class: &'static str,
    pub(crate) channels: Vec<Dim>,
    pub(crate) kernel: u64,
    pub(crate) bias: bool,
    /// Operations of the vector units for each channel and token: activation, gates.
    pub(crate) vector_flops: u64,
    pub(crate) storage: Storage,
}

/// Rows that the framework's counter sees in a step of one token with a cache: it runs over the kept columns, one more
/// than it needs, and the new one.
const COUNTED_IN_STEP: u128 = 2;

impl Conv {
    pub(crate) fn unit(
        class: &'static str,
        channels: Vec<Dim>,
        kernel: u64,
        bias: bool,
        vector_flops: u64,
    ) -> Unit {
        Unit::Conv(Self { class, channels, kernel, bias, vector_flops, storage: Storage::plain(Dtype::Bf16) })
    }

    fn all(&self) -> u128 {
        self.channels.iter().map(Dim::elements).sum()
    }

    fn local(&self, pass: &Pass) -> u128 {
        self.channels.iter().map(|channels| channels.local(pass.tp)).sum()
    }

    fn copied(&self, pass: &Pass) -> u128 {
        let copies = self.channels.iter().filter(|channels| channels.is_copy(pass.tp));
        copies.map(|channels| channels.local(pass.tp)).sum()
    }

    fn state(&self, pass: &Pass) -> u128 {
        pass.activation_bytes(self.local(pass) * u128::from(self.kernel.saturating_sub(1)))
    }
}

impl Part for Conv {
    fn parameters(&self) -> Parameters {
        let taps = u128::from(self.kernel) + u128::from(self.bias);
        Parameters { stored: self.all() * taps, ..Parameters::default() }
    }

    fn weight_bytes(&self, pass: &Pass) -> u128 {
        self.storage.bytes(self.local(pass) * (u128::from(self.kernel) + u128::from(self.bias)))
    }

    fn kept(&self, pass: &Pass) -> Kept {
        Kept { bytes_per_sequence: self.state(pass), ..Kept::default() }
    }

    fn operators(&self, pass: &Pass, into: &mut Vec<Operator>) {
        let step = &pass.step;
        let kernel = u128::from(self.kernel);
        let sequences = u128::from(step.sequences);
        let tap = 2 * self.local(pass) * kernel;
        // The framework pads each sequence on both sides and cuts the result.
        let counted = if step.past > 0 && step.new == 1 {
            sequences * COUNTED_IN_STEP
        } else {
            sequences * (u128::from(step.new) + kernel - 1)
        };
        let useful = tap * step.tokens();
        let state = sequences * self.state(pass);
        into.push(Operator {
            name: "conv1d",
            class: self.class,
            work: Work {
                flops: Flops { as_counted: counted * tap, useful, issued: useful },
                vector_flops: u128::from(self.vector_flops) * step.tokens() * self.local(pass),
                bytes: Bytes {
                    weights: self.weight_bytes(pass),
                    kv_read: if step.past == 0 { 0 } else { state },
                    kv_write: state,
                    activations: pass.activation_bytes(2 * step.tokens() * self.local(pass)),
                },
                copied_flops: 2 * self.copied(pass) * kernel * step.tokens(),
                ..Work::default()
            },
            storage: self.storage,
            formula: "2·T·channels·kernel",
        });
    }
}

/// The gated delta rule in chunks of c tokens: a chunk of a value head takes
/// `2·(2·c²·d_k + c²·d_v + 3·c·d_k·d_v)` operations in matmuls and `2·c²·(d_k + d_v)` in the
/// triangular solve of the UT transform, which counters of frameworks leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeltaRule {
    pub(crate) heads: u64,
    pub(crate) k_width: u64,
    pub(crate) v_width: u64,
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
    pub(crate) heads: u64,
    pub(crate) width: u64,
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

/// The scan of Mamba-2, in chunks of `chunk` tokens.
///
/// For a chunk of c tokens and a head of width p with a state of N: scores `c²·N`, their sum `c²·p`, the
/// chunk's state and its use `2·c·N·p`; between n chunks `(n + 1)²·p·N` as Transformers writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ssd {
    pub(crate) heads: u64,
    pub(crate) width: u64,
    pub(crate) state: u64,
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
