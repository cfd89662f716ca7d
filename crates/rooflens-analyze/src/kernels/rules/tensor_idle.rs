//! Matmuls that keep ordinary pipes busy and tensor pipes idle.

use super::{KernelRemark, KernelRule, TENSOR_FROM_PCT, is_product};
use crate::kernels::{Bound, Kernel};

/// A kernel of class gemm, attention, moe or convolution is bound by compute, and tensor pipes are active in less than 1 % of cycles.
pub(super) struct TensorIdle;

impl KernelRule for TensorIdle {
    fn name(&self) -> &'static str {
        "tensor_pipes_idle"
    }
    fn judge(&self, kernel: &Kernel) -> Option<KernelRemark> {
        // A matmul that waits for memory, as a matrix times a vector does, gains nothing from them.
        if !is_product(kernel) || !matches!(kernel.bound, Some(Bound::Compute | Bound::Balanced)) {
            return None;
        }
        let counters = &kernel.counters;
        let active = counters.tensor_pipe_pct.or(counters.tensor_pipe_elapsed_pct);
        let active = active.filter(|active| *active < TENSOR_FROM_PCT)?;
        let compute = kernel.compute_pct?;
        let precision = kernel.flops.leading.as_deref().map(|of| format!(", in {}", of.replace('_', " ")));
        Some(KernelRemark {
            measured: format!(
                "tensor pipes are active in {active:.1} % of cycles (below {TENSOR_FROM_PCT:.0} %) while other pipes are {compute:.0} % busy{}",
                precision.unwrap_or_default()
            ),
            change: "where the precision allows, a kernel on tensor cores (TF32, FP16, BF16, FP8), with dimensions that are multiples of 16 bytes"
                .to_owned(),
        })
    }
}
