//! The stages of a run, and the passes over the samples that they are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStage {
    /// Headline numbers, without any profiler. On unless the config switches it off.
    Measure,
    /// PyTorch's profiler.
    TorchProfiler,
    /// Nsight Systems.
    Nsys,
    /// Nsight Compute.
    Ncu,
    /// The log of the matrix library.
    CublasLog,
    /// Answers.
    DirectInference,
    /// What the model must cost.
    StaticAnalysis,
}

impl RunStage {
    /// Every stage, in the order they are run in. What the model must cost comes last: how long the
    /// prompts are is known by then.
    pub const ALL: &[RunStage] = &[
        RunStage::Measure,
        RunStage::TorchProfiler,
        RunStage::Nsys,
        RunStage::Ncu,
        RunStage::CublasLog,
        RunStage::DirectInference,
        RunStage::StaticAnalysis,
    ];

    /// Its name: `pipeline.<name>`, and the folder of what it leaves.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RunStage::Measure => "measure",
            RunStage::TorchProfiler => "torch_profiler",
            RunStage::Nsys => "nsys",
            RunStage::Ncu => "ncu",
            RunStage::CublasLog => "cublas_log",
            RunStage::DirectInference => "direct_inference",
            RunStage::StaticAnalysis => "static_analysis",
        }
    }
}

/// What a workload does in one process, by its name in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkloadPass {
    /// Warm-up and measured rounds.
    Measure,
    /// Warm-up and a round under PyTorch's profiler.
    TorchProfiler,
    /// Warm-up and a round under Nsight Systems, which is started around it.
    Nsys,
    /// Warm-up and a round under Nsight Compute, which is started around it.
    Ncu,
    /// Warm-up and a round, while the matrix library writes its log.
    CublasLog,
    /// Answers only.
    Predict,
}

impl WorkloadPass {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            WorkloadPass::Measure => "measure",
            WorkloadPass::TorchProfiler => "torch_profiler",
            WorkloadPass::Nsys => "nsys",
            WorkloadPass::Ncu => "ncu",
            WorkloadPass::CublasLog => "cublas_log",
            WorkloadPass::Predict => "predict",
        }
    }
}
