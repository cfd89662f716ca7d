//! What can look at a workload while it runs, one a file. Adding one: a file here, a `mod` line, an
//! entry in [`ALL`].

pub(crate) mod cublas_log;
pub mod ncu;
mod nsys;
mod torch;

pub(crate) use self::nsys::SESSION;
use crate::plan::{PlannedStep, RunStage, WorkloadLaunch};

/// A profiler.
pub trait Profiler: Sync {
    /// Its name: that of its stage.
    fn name(&self) -> &'static str {
        self.stage().name()
    }
    /// The stage it is.
    fn stage(&self) -> RunStage;
    /// What it gives, in a line.
    fn about(&self) -> &'static str;
    /// The step that runs a workload under it.
    fn step(&self, launch: &WorkloadLaunch<'_>) -> PlannedStep;
}

/// Every profiler, in the order they are run in.
pub const ALL: &[&dyn Profiler] =
    &[&torch::Torch, &nsys::NsysProfiler, &ncu::NcuProfiler, &cublas_log::CublasLogProfiler];

/// The profiler of a stage, where there is one that is built.
#[must_use]
pub fn find(stage: RunStage) -> Option<&'static dyn Profiler> {
    ALL.iter().copied().find(|profiler| profiler.stage() == stage)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_an_entry() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/profilers");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files - 1, ALL.len(), "a file of src/profilers is not in ALL");
        for profiler in ALL {
            assert_eq!(find(profiler.stage()).unwrap().name(), profiler.name());
        }
    }
}
