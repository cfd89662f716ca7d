//! PyTorch's own profiler, inside the process.

use super::Profiler;
use crate::plan::{PlannedStep, RunStage, WorkloadLaunch, WorkloadPass};

/// The profiler.
pub(crate) struct Torch;

impl Profiler for Torch {
    fn stage(&self) -> RunStage {
        RunStage::TorchProfiler
    }

    fn about(&self) -> &'static str {
        "operators and kernels, by PyTorch's own profiler"
    }

    // It lives in the workload's process: the pass alone switches it on.
    fn step(&self, launch: &WorkloadLaunch<'_>) -> PlannedStep {
        launch.step(self.stage(), WorkloadPass::TorchProfiler, self.about())
    }
}
