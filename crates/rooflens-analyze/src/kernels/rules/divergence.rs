//! Warps whose threads go different ways.

use super::{KernelRemark, KernelRule};
use crate::kernels::{Bound, Kernel};

/// Fewer than 24 of the 32 threads of a warp are active in an instruction, of a kernel that memory does not bound.
pub(super) struct Divergence;

/// 24 of 32 threads: `threshold` of the profiler's own rule (`sections/ThreadDivergence.py` of Nsight Compute
/// 2024.2).
const BELOW_PCT: f64 = 75.0;

impl KernelRule for Divergence {
    fn name(&self) -> &'static str {
        "thread_divergence"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let active = kernel.counters.warp_execution_pct.filter(|pct| *pct < BELOW_PCT)?;
        kernel.bound.filter(|bound| *bound != Bound::Memory)?;
        Some(KernelRemark {
            measured: format!(
                "{:.1} of 32 threads of a warp are active in an instruction (below 24)",
                active * 32.0 / 100.0
            ),
            change: "use blocks of whole warps, and branches that a whole warp takes together".to_owned(),
        })
    }
}
