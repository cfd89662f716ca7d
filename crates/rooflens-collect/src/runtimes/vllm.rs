//! vLLM's own engine, offline.

use super::{RecordingGate, Runtime, engine, left, named_range};
use crate::error::SettingsError;
use crate::plan::WorkloadPass;
use crate::settings::{ConfigSection, RuntimeOptions};

/// The runtime.
pub(crate) struct Vllm;

impl Runtime for Vllm {
    fn name(&self) -> &'static str {
        "vllm"
    }

    fn about(&self) -> &'static str {
        "vLLM's own engine, offline: its scheduler, kernels and KV cache"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["vllm"]
    }

    fn read(&self, keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError> {
        keys.name("device")?;
        keys.optional_positive("max_model_len")?;
        keys.optional_number("gpu_memory_utilization")?;
        keys.flag("enable_prefix_caching")?;
        keys.flag("enforce_eager")?;
        engine(keys)
    }

    fn leaves(&self, pass: WorkloadPass) -> Vec<&'static str> {
        // One for each worker, named by vLLM.
        left(pass, "traces")
    }

    // The engine starts and stops it in every worker.
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
