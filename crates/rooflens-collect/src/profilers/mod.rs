//! What can look at a workload while it runs. Adding one: an entry in [`ALL`].

pub mod ncu;
mod nsys;

pub(crate) use self::nsys::SESSION;
use crate::plan::{CommandWord, PlanRoot, PlannedStep, ProcessCommand, RunStage, StepWork, WorkloadLaunch};
use crate::settings::{MATRIX_LIBRARIES, RunSettings};

/// A profiler.
pub struct Profiler {
    stage: RunStage,
    /// What it gives, in a line.
    pub about: &'static str,
    /// Changes the command of a workload so that it runs under the profiler.
    around: fn(&RunSettings, &mut ProcessCommand),
}

impl Profiler {
    /// Its name: that of its stage.
    pub fn name(&self) -> &'static str {
        self.stage.name()
    }

    pub(crate) fn step(&self, launch: &WorkloadLaunch<'_>) -> PlannedStep {
        let mut step = launch.step(self.stage, self.about);
        if let StepWork::Process(command) = &mut step.work {
            (self.around)(launch.settings(), command);
        }
        step
    }
}

/// Every profiler, in the order they are run in.
pub const ALL: &[Profiler] = &[
    Profiler {
        stage: RunStage::TorchProfiler,
        about: "operators and kernels, by PyTorch's own profiler",
        // It lives in the workload's process: the pass alone switches it on.
        around: |_, _| {},
    },
    Profiler {
        stage: RunStage::Nsys,
        about: "the timeline of host and device, by Nsight Systems",
        around: nsys::around,
    },
    Profiler {
        stage: RunStage::Ncu,
        about: "counters of the kernels that take the time, by Nsight Compute",
        around: ncu::around,
    },
    Profiler {
        stage: RunStage::CublasLog,
        about: "shapes and dtypes of every GEMM, from the log of cuBLAS, cuBLASLt, hipBLASLt or rocBLAS",
        around: |settings, command| {
            let wanted = &settings.pipeline.cublas_library;
            let library = MATRIX_LIBRARIES.iter().find(|(name, _)| name == wanted);
            for (name, value) in library.map_or(&[][..], |(_, variables)| variables) {
                let value = match *value {
                    "LOG" => CommandWord::In(PlanRoot::Run, "raw/cublas_log/gemms.log".to_owned()),
                    value => CommandWord::plain(value),
                };
                command.env.insert((*name).to_owned(), value);
            }
        },
    },
];

pub(crate) fn find(stage: RunStage) -> Option<&'static Profiler> {
    ALL.iter().find(|profiler| profiler.stage == stage)
}
