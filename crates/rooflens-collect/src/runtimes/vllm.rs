//! vLLM's own engine, offline.

use super::{Gate, Runtime, TOKENS, named_range};
use crate::error::SettingsError;
use crate::plan::Pass;
use crate::settings::{Own, Section};

/// The runtime.
pub struct Vllm;

impl Runtime for Vllm {
    fn name(&self) -> &'static str {
        "vllm"
    }

    fn about(&self) -> &'static str {
        "vLLM's own engine, offline: its scheduler, its kernels, its cache"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["vllm"]
    }

    fn read(&self, keys: &mut Section<'_>) -> Result<Own, SettingsError> {
        keys.name("device")?;
        keys.optional_positive("max_model_len")?;
        keys.optional_number("gpu_memory_utilization")?;
        keys.flag("enable_prefix_caching")?;
        keys.flag("enforce_eager")?;
        Ok(Own {
            python: keys.name("python")?,
            tensor_parallel: keys.positive("tensor_parallel_size")?,
            kv_dtype: Some(keys.name("kv_cache_dtype")?).filter(|dtype| dtype != "auto"),
            model: None,
        })
    }

    fn leaves(&self, pass: Pass) -> Vec<&'static str> {
        let own: &[&str] = match pass {
            // One for each worker, named by vLLM.
            Pass::TorchProfiler => &["traces"],
            Pass::Predict => &["predictions.jsonl"],
            Pass::Measure | Pass::Nsys | Pass::Ncu | Pass::CublasLog => &[],
        };
        [&TOKENS, own].concat()
    }

    // The engine starts and stops it in every worker.
    fn gate(&self, phase: Option<&str>) -> Gate {
        named_range(phase).unwrap_or(Gate::CudaProfiler)
    }

    fn phases(&self) -> &'static [&'static str] {
        &["prefill", "decode"]
    }

    fn keeps_weights(&self) -> bool {
        true
    }
}
