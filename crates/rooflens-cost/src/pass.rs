//! Everything that decides what a part costs beside the part itself: the step, the device's place, the
//! number formats, the routing.

use crate::precision::{Dtype, Storage};
use crate::routing::{Routing, Touch};
use crate::step::Step;
use crate::units::Slice;

/// In which order latent attention multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
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
    /// The step.
    pub step: Step,
    /// The device's place in tensor parallelism.
    pub tp: Slice,
    /// The device's place in expert parallelism.
    pub ep: Slice,
    /// The device's place among those that share each expert.
    pub expert_tp: Slice,
    /// Batches of this size that the experts of one device serve: replicas in expert parallelism.
    pub expert_batches: u64,
    /// Format of activations.
    pub activation: Dtype,
    /// Format of cached keys and values.
    pub kv: Storage,
    /// Format of states.
    pub state: Storage,
    /// Format in which tokens travel to experts.
    pub dispatch: Dtype,
    /// How tokens choose experts.
    pub routing: &'a Routing,
    /// Which end of the band of touched experts.
    pub touch: Touch,
    /// In which order latent attention multiplies.
    pub latent: LatentOrder,
}

impl Pass<'_> {
    /// Bytes of activations.
    #[must_use]
    pub fn activation_bytes(&self, elements: u128) -> u128 {
        (elements * u128::from(self.activation.bits())).div_ceil(8)
    }

    /// Bytes of cached keys and values.
    #[must_use]
    pub fn kv_bytes(&self, elements: u128) -> u128 {
        self.kv.bytes(elements)
    }

    /// How many of `count` experts at least one of `tokens` tokens visits.
    #[must_use]
    pub fn touched(&self, count: u64, top_k: u64, tokens: u128) -> f64 {
        self.routing.touched(count, top_k, tokens).of(self.touch)
    }
}
