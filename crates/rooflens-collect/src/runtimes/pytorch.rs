//! PyTorch with Hugging Face transformers, one step at a time.

use super::{RecordingGate, Runtime, left, named_range};
use crate::error::SettingsError;
use crate::plan::WorkloadPass;
use crate::settings::{ConfigSection, RuntimeOptions};

/// The runtime.
pub(crate) struct Pytorch;

impl Runtime for Pytorch {
    fn name(&self) -> &'static str {
        "pytorch"
    }

    fn about(&self) -> &'static str {
        "PyTorch with Hugging Face transformers, one step at a time"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["torch", "transformers"]
    }

    fn read(&self, keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError> {
        keys.name("device")?;
        keys.name("attention")?;
        keys.flag("compile")?;
        Ok(RuntimeOptions { python: keys.name("python")?, tensor_parallel: 1, kv_dtype: None, model: None })
    }

    fn leaves(&self, pass: WorkloadPass) -> Vec<&'static str> {
        left(pass, "trace.json.gz")
    }

    // Warm-up rounds have the same phases: only the workload knows which round counts.
    fn gate(&self, phase: Option<&str>) -> RecordingGate {
        match phase {
            None | Some("prefill" | "decode") => RecordingGate::Range("rooflens.capture".to_owned()),
            Some(encoder @ ("sam" | "clip")) => RecordingGate::Range(format!("rooflens.vision.{encoder}")),
            Some(part) => {
                named_range(phase).unwrap_or_else(|| RecordingGate::Range(format!("rooflens.{part}")))
            }
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["prefill", "decode", "vision", "sam", "clip", "projector", "language"]
    }
}
