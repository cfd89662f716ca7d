//! The stages of a run, and the passes over the samples that they are made of.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
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

impl Stage {
    /// Every stage, in the order they are run in. What the model must cost comes last: how long the
    /// prompts are is known by then.
    pub const ALL: &[Stage] = &[
        Stage::Measure,
        Stage::TorchProfiler,
        Stage::Nsys,
        Stage::Ncu,
        Stage::CublasLog,
        Stage::DirectInference,
        Stage::StaticAnalysis,
    ];

    /// Its name: `pipeline.<name>`, and the folder of what it leaves.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Stage::Measure => "measure",
            Stage::TorchProfiler => "torch_profiler",
            Stage::Nsys => "nsys",
            Stage::Ncu => "ncu",
            Stage::CublasLog => "cublas_log",
            Stage::DirectInference => "direct_inference",
            Stage::StaticAnalysis => "static_analysis",
        }
    }
}

/// What a workload does in one process, by its name in the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pass {
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

impl Pass {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Pass::Measure => "measure",
            Pass::TorchProfiler => "torch_profiler",
            Pass::Nsys => "nsys",
            Pass::Ncu => "ncu",
            Pass::CublasLog => "cublas_log",
            Pass::Predict => "predict",
        }
    }
}
