//! Everything that decides what a part costs beside the part itself: the step, the device's place, the
//! number formats, the routing.

use crate::precision::{Dtype, Storage};
use crate::routing::{Routing, Touch};
use crate::step::Step;
use crate::units::Slice;

/// In which order latent attention multiplies.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LatentOrder {
    /// Absorbed when decoding, expanded else: what engines do.
    ByPhase,
    /// Queries and results go through the up-projection.
    Absorbed,
    /// Keys and values of all context are made anew.
    Expanded,
}

/// One step on one device.
#[derive(Debug, Clone)]
pub struct Pass<'a> {
    pub(crate) step: Step,
    pub(crate) tp: Slice,
    pub(crate) ep: Slice,
    pub(crate) expert_tp: Slice,
    /// Batches of this size that the experts of one device serve: replicas in expert parallelism.
    pub(crate) expert_batches: u64,
    pub(crate) activation: Dtype,
    pub(crate) kv: Storage,
    pub(crate) state: Storage,
    /// Format in which tokens travel to experts.
    pub(crate) dispatch: Dtype,
    /// Whether work that every device of tensor parallelism would repeat is split by token instead.
    pub(crate) sequence_parallel: bool,
    pub(crate) multicast: bool,
    /// Devices of a node; none where all devices are in one.
    pub(crate) node: Option<u64>,
    pub(crate) routing: &'a Routing,
    pub(crate) touch: Touch,
    pub(crate) latent: LatentOrder,
}

impl Pass<'_> {
    pub(crate) fn activation_bytes(&self, elements: u128) -> u128 {
        (elements * u128::from(self.activation.bits())).div_ceil(8)
    }

    /// This device's part of rows that no weight's shard decides: all of them, or, split by token, its own.
    pub(crate) fn replicated_rows(&self, rows: u128) -> u128 {
        if self.sequence_parallel { self.tp.part_of(rows) } else { rows }
    }

    pub(crate) fn kv_bytes(&self, elements: u128) -> u128 {
        self.kv.bytes(elements)
    }

    /// How many of `count` experts at least one of `tokens` tokens visits.
    pub(crate) fn touched(&self, count: u64, top_k: u64, tokens: u128) -> f64 {
        self.routing.touched(count, top_k, tokens).of(self.touch)
    }
}
