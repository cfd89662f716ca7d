//! PyTorch's own profiler, inside the process.

use super::Profiler;
use crate::plan::{Launch, Pass, Stage, Step};

/// The profiler.
pub struct Torch;

impl Profiler for Torch {
    fn stage(&self) -> Stage {
        Stage::TorchProfiler
    }

    fn about(&self) -> &'static str {
        "operators and kernels, by PyTorch's own profiler"
    }

    // It lives in the workload's process: the pass alone switches it on.
    fn step(&self, launch: &Launch<'_>) -> Step {
        launch.step(self.stage(), Pass::TorchProfiler, self.about())
    }
}
