//! The log that cuBLAS and its relatives write of every matmul, switched on by environment variables.

use super::Profiler;
use crate::plan::{CommandWord, PlanRoot, PlannedStep, RunStage, StepWork, WorkloadLaunch, WorkloadPass};

/// The profiler.
pub(crate) struct CublasLogProfiler;

/// The log, from the run's folder.
pub(crate) const LOG: &str = "raw/cublas_log/gemms.log";

/// Libraries, and the variables that make each write its log. `LOG` stands for the file.
const LIBRARIES: &[(&str, &[(&str, &str)])] = &[
    ("cublas", &[("CUBLAS_LOGINFO_DBG", "1"), ("CUBLAS_LOGDEST_DBG", "LOG")]),
    ("cublaslt", &[("CUBLASLT_LOG_LEVEL", "2"), ("CUBLASLT_LOG_FILE", "LOG")]),
    ("hipblaslt", &[("HIPBLASLT_LOG_MASK", "32"), ("HIPBLASLT_LOG_FILE", "LOG")]),
    ("rocblas", &[("ROCBLAS_LAYER", "2"), ("ROCBLAS_LOG_BENCH_PATH", "LOG")]),
];

/// The libraries whose logs are read.
#[must_use]
pub(crate) fn libraries() -> Vec<&'static str> {
    LIBRARIES.iter().map(|(name, _)| *name).collect()
}

impl Profiler for CublasLogProfiler {
    fn stage(&self) -> RunStage {
        RunStage::CublasLog
    }

    fn about(&self) -> &'static str {
        "shapes and dtypes of every GEMM, from the log of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS"
    }

    fn step(&self, launch: &WorkloadLaunch<'_>) -> PlannedStep {
        let mut step = launch.step(self.stage(), WorkloadPass::CublasLog, self.about());
        let wanted = &launch.settings().pipeline.cublas_log.library;
        let StepWork::Process(command) = &mut step.work else { return step };
        let variables =
            LIBRARIES.iter().find(|(name, _)| name == wanted).map_or(&[][..], |(_, variables)| variables);
        for (name, value) in variables {
            let value = match *value {
                "LOG" => CommandWord::In(PlanRoot::Run, LOG.to_owned()),
                value => CommandWord::plain(value),
            };
            command.env.insert((*name).to_owned(), value);
        }
        step
    }
}
