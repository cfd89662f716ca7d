//! What the names of kernels tell is done already: compiled, captured, quantised.

use crate::advice::Case;
use crate::analyses::{KernelStat, Kernels, Launches};
use crate::kernel_catalog::KernelClass;

/// One generated kernel in so many is a compiled model; fewer are a compiled sampler or a helper.
const COMPILED: f64 = 0.05;
/// From this share of activities on, replays are in use already.
const CAPTURED: f64 = 0.5;
/// Classes that multiply by weights.
const WEIGHTS: &[KernelClass] = &[KernelClass::Gemm, KernelClass::Gemv, KernelClass::Moe];
/// Formats of fewer than 16 bits, in names of kernels that multiply by weights.
const NARROW: &[&str] = &[
    "mxfp4", "nvfp4", "e2m1", "e4m3", "fp8", "float8", "int8", "int4", "w4a16", "w8a8", "w4a8", "marlin",
    "awq", "gptq", "machete",
];

/// Whether a compiler made the kernel: it is what fusion and copies came to.
pub(super) fn is_generated(kernel: &KernelStat) -> bool {
    matches!(kernel.library.as_deref(), Some("inductor" | "nvfuser"))
}

/// Whether the kernel is PyTorch's own for a single operator, so that a compiler can fuse it with others. Kernels
/// of engines (vLLM, SGLang, AITER, FlashInfer, TensorRT-LLM …) are fused by hand.
pub(super) fn is_eager(kernel: &KernelStat) -> bool {
    matches!(kernel.library.as_deref(), Some("aten") | None)
}

impl Case<'_> {
    fn kernel_rows(&self) -> &[KernelStat] {
        self.findings.get::<Kernels>().map_or(&[][..], |found| &found.0)
    }

    /// Whether the model went through a compiler: as the run's config has it, else as kernels are named.
    pub(super) fn is_compiled(&self) -> bool {
        if let Some(told) = self.around.is_compiled {
            return told;
        }
        let all: usize = self.kernel_rows().iter().map(|row| row.count).sum();
        let rows = self.kernel_rows().iter().filter(|row| is_generated(row));
        let generated: usize = rows.map(|row| row.count).sum();
        generated > 0 && generated as f64 >= COMPILED * all as f64
    }

    /// Whether most activities come from graph replays.
    pub(super) fn is_captured(&self) -> bool {
        let all: usize = self.ledger.phases.iter().map(|phase| phase.activities).sum();
        let in_graphs = self.findings.get::<Launches>().map_or(0, |found| found.graph_activities);
        in_graphs as f64 >= CAPTURED * all.max(1) as f64
    }

    /// A kernel whose name tells that weights are in fewer than 16 bits.
    pub(super) fn quantised_kernel(&self) -> Option<&KernelStat> {
        let multiplies = |row: &&KernelStat| WEIGHTS.iter().any(|class| row.class == class.as_str());
        self.kernel_rows().iter().filter(multiplies).find(|row| is_narrow(row))
    }

    /// An attention kernel whose name tells that it reads a cache in fewer than 16 bits.
    pub(super) fn narrow_cache_kernel(&self) -> Option<&KernelStat> {
        let reads = |row: &&KernelStat| row.class == KernelClass::Attention.as_str();
        self.kernel_rows().iter().filter(reads).find(|row| is_narrow(row))
    }
}

fn is_narrow(kernel: &KernelStat) -> bool {
    let name = kernel.name.to_ascii_lowercase();
    // vLLM's kernels have a parameter for the format of the cache in every instance: 0 is 16 bits.
    let name = name.replace("fp8kvcachedatatype)0", "").replace("fp8kvcachedatatype)1", "fp8");
    let by_dtype =
        kernel.dtype.as_deref().is_some_and(|dtype| dtype.starts_with("fp8") || dtype.starts_with("fp4"));
    by_dtype || NARROW.iter().any(|word| name.contains(word))
}
