//! How a model is sharded over devices.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Slice;

/// Ways of dealing out. Devices in all: `tp · pp · dp`; experts lie on `ep` of the `tp · dp` devices of
/// a stage, each shared by `tp · dp / ep`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parallel {
    /// Tensor parallelism: heads and columns.
    pub tp: u64,
    /// Pipeline parallelism: layers.
    pub pp: u64,
    /// Expert parallelism: experts; 1 deals each expert's columns over the devices of tensor parallelism.
    pub ep: u64,
    /// Data parallelism: sequences; each replica has the attention's weights, and, without expert
    /// parallelism, all others.
    pub dp: u64,
}

impl Parallel {
    /// One device.
    pub const NONE: Parallel = Parallel { tp: 1, pp: 1, ep: 1, dp: 1 };

    /// Devices in all.
    pub fn devices(&self) -> u64 {
        self.tp * self.pp * self.dp
    }

    /// Boundaries between stages of a pipeline that lie between nodes of `node` devices. The devices of a
    /// replica are numbered stage by stage.
    pub(crate) fn stages_across_nodes(&self, node: Option<u64>) -> u64 {
        let Some(node) = node.filter(|node| *node > 0) else { return 0 };
        let at = |stage: u64| stage * self.tp / node;
        (1..self.pp).filter(|stage| at(*stage) != at(stage - 1)).count() as u64
    }

    /// The place of device `rank` of a stage's first replica.
    pub fn place(&self, rank: u64) -> ParallelPlace {
        let tp = Slice { of: self.tp, rank: rank % self.tp };
        if self.ep <= 1 {
            return ParallelPlace { tp, ep: Slice::WHOLE, expert_tp: tp, expert_batches: 1 };
        }
        let sharing = (self.tp * self.dp / self.ep).max(1);
        ParallelPlace {
            tp,
            ep: Slice { of: self.ep, rank: rank / sharing % self.ep },
            expert_tp: Slice { of: sharing, rank: rank % sharing },
            expert_batches: self.dp,
        }
    }

    /// Why it cannot be, if it cannot.
    pub fn fault(&self, depth: u32) -> Option<String> {
        let Parallel { tp, pp, ep, dp } = *self;
        if [tp, pp, ep, dp].contains(&0) {
            return Some("each parallelism degree must be at least 1".to_owned());
        }
        if [tp, pp, ep, dp].iter().any(|ways| *ways > 65_536) {
            return Some("a parallelism degree may be at most 65,536".to_owned());
        }
        if ep > 1 && (tp * dp) % ep != 0 {
            return Some(format!("the expert-parallel size {ep} must divide tp × dp = {}", tp * dp));
        }
        if pp > u64::from(depth.max(1)) {
            return Some(format!("the pipeline-parallel size {pp} is larger than the {depth} layers"));
        }
        None
    }
}

/// A device's place in every way of dealing out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParallelPlace {
    /// In tensor parallelism.
    pub tp: Slice,
    /// In expert parallelism.
    pub ep: Slice,
    /// Among those that share each expert.
    pub expert_tp: Slice,
    /// Batches that the experts serve.
    pub expert_batches: u64,
}
