//! Multiprocessors that could hold more warps, where warps wait.

use super::{KernelRemark, KernelRule, is_latency_bound, uses_tensor_cores};
use crate::kernels::Kernel;

/// Neither compute nor memory reaches 60 % of its peak, the grid fills the device, a scheduler has fewer than one eligible warp, blocks allow less than 80 % of the warps that the device can hold, and tensor cores are not used.
pub(super) struct LowOccupancy;

/// Of the most that the device can hold, below this share: `low_theoretical_threshold` of the profiler's own rule
/// (`sections/TheoreticalOccupancy.py` of Nsight Compute 2024.2).
const BELOW_PCT: f64 = 80.0;
/// Fewer eligible warps of a scheduler than this leave cycles without an instruction.
const ELIGIBLE_BELOW: f64 = 1.0;

impl KernelRule for LowOccupancy {
    fn name(&self) -> &'static str {
        "low_occupancy"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let occupancy = &kernel.occupancy;
        let theoretical = occupancy.theoretical_pct.filter(|pct| *pct < BELOW_PCT)?;
        let achieved = occupancy.achieved_pct?;
        let eligible = kernel.counters.eligible_warps.filter(|warps| *warps < ELIGIBLE_BELOW)?;
        // With a grid smaller than the device the limit is not what keeps it empty.
        kernel.waves.filter(|waves| *waves >= 1.0)?;
        if !is_latency_bound(kernel) || uses_tensor_cores(kernel) || occupancy.limited_by.is_empty() {
            return None;
        }
        let change = match occupancy.limited_by.first().map(|limit| &**limit) {
            Some("registers") => "fewer registers (__launch_bounds__, smaller tiles), if that does not spill",
            Some("shared_memory") => "less shared memory per block: smaller tiles, fewer stages",
            Some("barriers") => "fewer barriers per block",
            _ => "another block size",
        };
        Some(KernelRemark {
            measured: format!(
                "{eligible:.2} eligible warps per scheduler (below {ELIGIBLE_BELOW:.0}); occupancy {achieved:.0} % of at most {theoretical:.0} % (below {BELOW_PCT:.0} %), limited by {}",
                occupancy.limited_by.join(" and ").replace('_', " ")
            ),
            change: change.to_owned(),
        })
    }
}
