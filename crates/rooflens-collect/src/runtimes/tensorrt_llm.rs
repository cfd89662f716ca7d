//! TensorRT-LLM by its LLM API, offline. Written against its documentation and tested against a module that
//! answers as documented: no TensorRT-LLM was run.

use super::{RecordingGate, Runtime, engine, left, named_range};
use crate::error::SettingsError;
use crate::plan::WorkloadPass;
use crate::settings::{ConfigSection, RuntimeOptions};

/// The runtime.
pub(crate) struct TensorRtLlm;

impl Runtime for TensorRtLlm {
    fn name(&self) -> &'static str {
        "tensorrt_llm"
    }

    fn about(&self) -> &'static str {
        "TensorRT-LLM by its LLM API, offline: its scheduler, kernels and KV cache"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["tensorrt-llm"]
    }

    fn read(&self, keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError> {
        keys.name("device")?;
        keys.optional_positive("max_seq_len")?;
        keys.optional_number("free_gpu_memory_fraction")?;
        keys.flag("enable_block_reuse")?;
        keys.flag("cuda_graph")?;
        engine(keys)
    }

    fn leaves(&self, pass: WorkloadPass) -> Vec<&'static str> {
        left(pass, "trace.json.gz")
    }

    // Started and stopped by the workload around the round that counts.
    fn gate(&self, phase: Option<&str>) -> RecordingGate {
        named_range(phase).unwrap_or(RecordingGate::CudaProfiler)
    }

    fn phases(&self) -> &'static [&'static str] {
        &["prefill", "decode"]
    }

    fn keeps_weights(&self) -> bool {
        true
    }
}
