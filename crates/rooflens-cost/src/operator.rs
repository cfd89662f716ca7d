//! What one operator of one pass costs.

use std::ops::{Add, AddAssign, Mul};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::precision::Storage;

/// Floating-point operations of the matrix units, a multiplication and an addition counting as two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Flops {
    /// As `torch.utils.flop_counter` counts the eager Transformers model: nothing masked, logits of all
    /// tokens.
    pub as_counted: u128,
    /// What the result needs: the pairs that the mask leaves, logits of sampled rows only, the cheaper
    /// order of products where kernels choose it.
    pub useful: u128,
    /// What tiles of fixed size do: rows and pairs padded up.
    pub issued: u128,
}

impl Flops {
    pub(crate) fn same(flops: u128) -> Self {
        Self { as_counted: flops, useful: flops, issued: flops }
    }
}

/// Bytes that move between memory and chip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Weights read, scales included.
    pub weights: u128,
    /// Cached keys, values or states read.
    pub kv_read: u128,
    /// Keys, values or states written to the cache.
    pub kv_write: u128,
    /// Activations read and written.
    pub activations: u128,
}

impl Bytes {
    /// All of them.
    pub fn total(&self) -> u128 {
        self.weights + self.kv_read + self.kv_write + self.activations
    }
}

/// Bytes that move between memory and chip, with their sum.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct AllBytes {
    /// Weights read, scales included.
    pub weights: u128,
    /// Cached keys, values or states read.
    pub kv_read: u128,
    /// Keys, values or states written to the cache.
    pub kv_write: u128,
    /// Activations read and written.
    pub activations: u128,
    /// All of them.
    pub total: u128,
}

impl From<Bytes> for AllBytes {
    fn from(bytes: Bytes) -> Self {
        let Bytes { weights, kv_read, kv_write, activations } = bytes;
        AllBytes { weights, kv_read, kv_write, activations, total: bytes.total() }
    }
}

/// The work of an operator, without its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Operations of the matrix units.
    pub flops: Flops,
    /// Operations of the vector units: norms, softmax, activations.
    pub vector_flops: u128,
    /// Bytes between memory and chip.
    pub bytes: Bytes,
    /// Bytes that this device sends to others by the links within a node.
    pub link_bytes: u128,
    /// Bytes that this device sends to other nodes.
    pub inter_node_bytes: u128,
    /// Useful operations that another device does as well: no further work is done by them.
    pub copied_flops: u128,
}

/// An operator of a layer: what it is and what it costs in a pass.
#[derive(Debug, Clone, Copy)]
pub struct Operator {
    /// Its name within the layer, as `qkv_proj`.
    pub name: &'static str,
    /// What kind of work it is, as `attn.qkv`.
    pub class: &'static str,
    /// Its work.
    pub work: Work,
    /// How its weights are stored and what is multiplied.
    pub storage: Storage,
    pub(crate) formula: &'static str,
}

macro_rules! sums_and_multiples {
    ($type:ident: $($field:ident),+) => {
        impl Add for $type {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field),+ }
            }
        }

        impl Mul<u128> for $type {
            type Output = Self;
            fn mul(self, times: u128) -> Self {
                Self { $($field: self.$field * times),+ }
            }
        }
    };
}

sums_and_multiples!(Flops: as_counted, useful, issued);
sums_and_multiples!(Bytes: weights, kv_read, kv_write, activations);
sums_and_multiples!(Work: flops, vector_flops, bytes, link_bytes, inter_node_bytes, copied_flops);

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
