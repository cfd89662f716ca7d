//! What the names of kernels tell is done already: compiled, captured, quantised.

use crate::advice::Case;
use crate::analyses::{KernelStat, Kernels, Launches, Operators};
use crate::kernel_catalog::{KernelClass, made_by};

/// One generated kernel in so many, or this part of the time, is a compiled model; less is a compiled sampler or a helper.
const COMPILED: f64 = 0.05;
/// Beginnings of the names of operators that only a compiled model has.
const COMPILED_NAMES: &[&str] = &["CompiledFunction", "Torch-Compiled Region"];
/// From this share of activities on, replays are in use already.
const CAPTURED: f64 = 0.5;
/// Classes that multiply by weights.
const WEIGHTS: &[KernelClass] = &[KernelClass::Gemm, KernelClass::Gemv, KernelClass::Moe];

/// Whether a compiler made the kernel: it is what fusion and copies came to.
pub(super) fn is_generated(kernel: &KernelStat) -> bool {
    made_by(&kernel.name).compiler.is_some()
}

/// Whether the kernel is PyTorch's own for a single operator, so that a compiler can fuse it with others. Kernels
/// of engines (vLLM, SGLang, AITER, FlashInfer, TensorRT-LLM …) are fused by hand.
pub(super) fn is_eager(kernel: &KernelStat) -> bool {
    let making = made_by(&kernel.name);
    matches!(kernel.library.as_deref(), Some("aten") | None) && making.compiler.is_none() && !making.fused
}

impl Case<'_> {
    fn kernel_rows(&self) -> &[KernelStat] {
        self.findings.get::<Kernels>().map_or(&[][..], |found| &found.0)
    }

    /// Whether the model went through a compiler: as the run's config has it, else as kernels are named.
    pub(super) fn is_compiled(&self) -> bool {
        if let Some(told) = self.context.is_compiled {
            return told;
        }
        let operators = self.findings.get::<Operators>().map_or(&[][..], |found| &found.0);
        // AOTAutograd's functions, and what Dynamo calls a region: where kernels of theirs are more than a helper's.
        let is_compiled = |name: &str| COMPILED_NAMES.iter().any(|known| name.starts_with(known));
        let compiled = operators.iter().filter(|row| is_compiled(&row.name)).map(|row| row.device_ns as f64);
        let device: f64 = self.kernel_rows().iter().map(|row| row.total_ns as f64).sum();
        if device > 0.0 && compiled.sum::<f64>() >= COMPILED * device {
            return true;
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
        self.kernel_rows().iter().filter(multiplies).find(|row| made_by(&row.name).quantized)
    }

    /// An attention kernel whose name tells that it reads a cache in fewer than 16 bits.
    pub(super) fn narrow_cache_kernel(&self) -> Option<&KernelStat> {
        let reads = |row: &&KernelStat| row.class == KernelClass::Attention.as_str();
        self.kernel_rows().iter().filter(reads).find(|row| made_by(&row.name).quantized)
    }
}
