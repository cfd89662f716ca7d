//! The programs that can run a model. Adding one: an entry in [`ALL`], and its module in `python/rooflens/runtimes`.

use crate::error::PlanError;
use crate::plan::RunStage;
use crate::settings::ConfigSection;

/// A program that runs a model.
#[derive(Debug)]
pub struct Runtime {
    /// `runtime.name`.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    pub(crate) packages: &'static [&'static str],
    pub(crate) read: fn(&mut ConfigSection<'_>) -> Result<RuntimeOptions, PlanError>,
    /// The trace of PyTorch's profiler; `None` for a program that does not run the config's model.
    trace: Option<&'static str>,
    /// The gate of a phase that is not an NVTX range.
    gate: fn(Option<&str>) -> RecordingGate,
    /// Words that name what a profiler captures; empty if the program has its own words.
    pub(crate) phases: &'static [&'static str],
    pub(crate) keeps_weights: bool,
}

/// What a runtime reads of its own keys.
#[derive(Debug, Clone)]
pub struct RuntimeOptions {
    pub(crate) python: String,
    /// Devices that share each layer.
    pub tensor_parallel: u64,
    /// Format of cached keys and values; `None` if the runtime chooses it.
    pub(crate) kv_dtype: Option<String>,
    /// Folder of the model, for a runtime that does not run the config's model.
    pub(crate) model: Option<String>,
}

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

pub(crate) const NVTX: &str = "nvtx:";

impl Runtime {
    pub(crate) fn runs_the_model(&self) -> bool {
        self.trace.is_some()
    }

    /// What a stage that ended well has left, from its folder. A folder must have something in it.
    pub(crate) fn leaves(&self, stage: RunStage) -> Vec<&'static str> {
        // Without a model, there is a trace only if the program uses the probe with torch.
        let Some(trace) = self.trace else { return vec!["events.jsonl", "phases.jsonl"] };
        let mut left = vec!["events.jsonl", "steps.csv", "requests.jsonl", "tokens.jsonl"];
        match stage {
            RunStage::TorchProfiler => left.push(trace),
            RunStage::DirectInference => left.push("predictions.jsonl"),
            _ => {}
        }
        left
    }

    /// What tells a profiler around it that a phase begins and ends.
    pub(crate) fn gate(&self, phase: Option<&str>) -> RecordingGate {
        match phase.and_then(|phase| phase.strip_prefix(NVTX)) {
            Some(name) => RecordingGate::Range(name.to_owned()),
            None => (self.gate)(phase),
        }
    }
}

/// Every runtime, in the order of lists.
pub const ALL: &[Runtime] = &[
    Runtime {
        name: "pytorch",
        about: "PyTorch with Hugging Face transformers, one step at a time",
        packages: &["torch", "transformers"],
        read: |keys| {
            keys.name("device")?;
            keys.name("attention")?;
            keys.flag("compile")?;
            let python = keys.name("python")?;
            Ok(RuntimeOptions { python, tensor_parallel: 1, kv_dtype: None, model: None })
        },
        trace: Some("trace.json.gz"),
        // Warm-up rounds have the same phases: only the workload knows which round counts.
        gate: |phase| {
            RecordingGate::Range(match phase {
                None | Some("prefill" | "decode") => "rooflens.capture".to_owned(),
                Some(encoder @ ("sam" | "clip")) => format!("rooflens.vision.{encoder}"),
                Some(part) => format!("rooflens.{part}"),
            })
        },
        phases: &["prefill", "decode", "vision", "sam", "clip", "projector", "language"],
        keeps_weights: false,
    },
    Runtime {
        name: "vllm",
        about: "vLLM's own engine, offline: its scheduler, kernels and KV cache",
        packages: &["vllm"],
        read: |keys| {
            keys.name("device")?;
            keys.optional_positive("max_model_len")?;
            keys.optional_number("gpu_memory_utilization")?;
            keys.flag("enable_prefix_caching")?;
            keys.flag("enforce_eager")?;
            engine(keys)
        },
        // One trace for each worker, named by vLLM.
        trace: Some("traces"),
        // The engine starts and stops it in every worker.
        gate: |_| RecordingGate::CudaProfiler,
        phases: &["prefill", "decode"],
        keeps_weights: true,
    },
    // Written against its documentation and tested against a module that answers as documented: no TensorRT-LLM was run.
    Runtime {
        name: "tensorrt_llm",
        about: "TensorRT-LLM by its LLM API, offline: its scheduler, kernels and KV cache",
        packages: &["tensorrt-llm"],
        read: |keys| {
            keys.name("device")?;
            keys.optional_positive("max_seq_len")?;
            keys.optional_number("free_gpu_memory_fraction")?;
            keys.flag("enable_block_reuse")?;
            keys.flag("cuda_graph")?;
            engine(keys)
        },
        trace: Some("trace.json.gz"),
        // The workload starts and stops it around the round that counts.
        gate: |_| RecordingGate::CudaProfiler,
        phases: &["prefill", "decode"],
        keeps_weights: true,
    },
    Runtime {
        name: "command",
        about: "any program, with phases marked by rooflens.probe or NVTX",
        packages: &[],
        read: |keys| {
            keys.words("argv")?;
            keys.name("cwd")?;
            // What starts and watches the program needs only Python itself.
            let python = keys.optional_text("python")?.unwrap_or_else(|| "python3".to_owned());
            let model = keys.optional_text("model")?;
            Ok(RuntimeOptions { python, tensor_parallel: 1, kv_dtype: None, model })
        },
        trace: None,
        // As the probe names phases.
        gate: |phase| {
            phase.map_or(RecordingGate::Open, |phase| RecordingGate::Range(format!("rooflens.{phase}")))
        },
        phases: &[],
        keeps_weights: false,
    },
];

fn engine(keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, PlanError> {
    Ok(RuntimeOptions {
        python: keys.name("python")?,
        tensor_parallel: keys.positive("tensor_parallel_size")?,
        kv_dtype: Some(keys.name("kv_cache_dtype")?).filter(|dtype| dtype != "auto"),
        model: None,
    })
}

pub(crate) fn find(name: &str) -> Option<&'static Runtime> {
    ALL.iter().find(|runtime| runtime.name == name)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_runtime_has_its_other_half_in_python() {
        for runtime in ALL {
            let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/rooflens/runtimes");
            let module = module.join(runtime.name);
            assert!(module.is_dir() || module.with_extension("py").is_file(), "{}", module.display());
        }
    }
}
