//! Accesses to shared memory that meet in a bank.

use super::{KernelRemark, KernelRule};
use crate::kernels::Kernel;

/// Bank conflicts are at least 10 % of the wavefronts of shared memory.
pub(super) struct BankConflicts;

/// Of the wavefronts, from this share on: `bank_conflicts_threshold` of the profiler's own rule
/// (`sections/SharedMemoryConflicts.py` of Nsight Compute 2024.2).
const FROM_PCT: f64 = 10.0;

impl KernelRule for BankConflicts {
    fn name(&self) -> &'static str {
        "bank_conflicts"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        let counters = &kernel.counters;
        let share = counters.bank_conflicts_pct.filter(|share| *share >= FROM_PCT)?;
        let conflicts = counters.bank_conflicts?;
        let each = counters.bank_conflicts_per_request.map(|each| format!(", {each:.2} per request"));
        Some(KernelRemark {
            measured: format!(
                "{conflicts:.0} bank conflicts{}: {share:.0} % of the wavefronts of shared memory (from {FROM_PCT:.0} %)",
                each.unwrap_or_default()
            ),
            change: "pad or swizzle the tiles in shared memory".to_owned(),
        })
    }
}
