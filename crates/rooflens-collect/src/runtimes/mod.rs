//! The programs that can run a model, one a file. Adding one: a file here, a `mod` line, an entry in
//! [`ALL`]; and its module in `python/rooflens/runtimes`.

mod command;
mod pytorch;
mod tensorrt_llm;
mod vllm;

use std::fmt;

use crate::error::SettingsError;
use crate::plan::WorkloadPass;
use crate::settings::{ConfigSection, RuntimeOptions};

/// A program that runs a model.
pub trait Runtime: Sync {
    /// `runtime.name`.
    fn name(&self) -> &'static str;
    /// What it is, in a line.
    fn about(&self) -> &'static str;
    /// Python packages that its interpreter must have.
    fn packages(&self) -> &'static [&'static str];
    /// Reads the keys that only it has.
    ///
    /// # Errors
    /// [`SettingsError`], where one is missing or wrong.
    fn read(&self, keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError>;
    /// Whether it runs the model that the config names.
    fn runs_the_model(&self) -> bool {
        true
    }
    /// What a pass that ended well has left, from its folder. A folder must have something in it.
    fn leaves(&self, pass: WorkloadPass) -> Vec<&'static str>;
    /// What tells a profiler around it that a phase begins and ends.
    fn gate(&self, phase: Option<&str>) -> RecordingGate;
    /// Words that name what a profiler captures; none where the program has words of its own.
    fn phases(&self) -> &'static [&'static str];
    /// Whether it makes weights on disk that later passes can use.
    fn keeps_weights(&self) -> bool {
        false
    }
}

/// What a pass leaves beside what every workload does: its profiler's trace, or answers.
fn left(pass: WorkloadPass, trace: &'static str) -> Vec<&'static str> {
    let own: &[&str] = match pass {
        WorkloadPass::TorchProfiler => &[trace],
        WorkloadPass::Predict => &["predictions.jsonl"],
        WorkloadPass::Measure | WorkloadPass::Nsys | WorkloadPass::Ncu | WorkloadPass::CublasLog => &[],
    };
    [&TOKENS, own].concat()
}

/// What every engine that serves has: an interpreter, devices that share layers, a cache of a format.
fn engine(keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError> {
    Ok(RuntimeOptions {
        python: keys.name("python")?,
        tensor_parallel: keys.positive("tensor_parallel_size")?,
        kv_dtype: Some(keys.name("kv_cache_dtype")?).filter(|dtype| dtype != "auto"),
        model: None,
    })
}

/// The NVTX range that `nvtx:NAME` names.
fn named_range(phase: Option<&str>) -> Option<RecordingGate> {
    phase?.strip_prefix(NVTX).map(|name| RecordingGate::Range(name.to_owned()))
}

/// What stands before the name of an NVTX range.
pub(crate) const NVTX: &str = "nvtx:";

/// How a profiler that is started around a workload knows when to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordingGate {
    /// An NVTX range of this name is open.
    Range(String),
    /// The CUDA profiler is on.
    CudaProfiler,
    /// It always records.
    Open,
}

impl fmt::Debug for dyn Runtime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// Every runtime, in the order of lists.
pub const ALL: &[&dyn Runtime] =
    &[&pytorch::Pytorch, &vllm::Vllm, &tensorrt_llm::TensorRtLlm, &command::CommandRuntime];

/// The runtime of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Runtime> {
    ALL.iter().copied().find(|runtime| runtime.name() == name)
}

/// What every workload that makes tokens leaves.
const TOKENS: [&str; 4] = ["events.jsonl", "steps.csv", "requests.jsonl", "tokens.jsonl"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_an_entry_and_has_its_other_half_in_python() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(here.join("src/runtimes")).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert!(name == "mod" || find(&name).is_some(), "add {name} to ALL");
        }
        for runtime in ALL {
            let module = here.join("../../python/rooflens/runtimes").join(runtime.name());
            let file = module.with_extension("py");
            assert!(module.is_dir() || file.is_file(), "put its other half at {}", file.display());
        }
    }
}
