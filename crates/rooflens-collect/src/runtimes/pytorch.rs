//! PyTorch with Hugging Face transformers, one step at a time.

use super::{Gate, Runtime, left, named_range};
use crate::error::SettingsError;
use crate::plan::Pass;
use crate::settings::{Own, Section};

/// The runtime.
pub struct Pytorch;

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

    fn read(&self, keys: &mut Section<'_>) -> Result<Own, SettingsError> {
        keys.name("device")?;
        keys.name("attention")?;
        keys.flag("compile")?;
        Ok(Own { python: keys.name("python")?, tensor_parallel: 1, kv_dtype: None, model: None })
    }

    fn leaves(&self, pass: Pass) -> Vec<&'static str> {
        left(pass, "trace.json.gz")
    }

    // Warm-up rounds have the same phases: only the workload knows which round counts.
    fn gate(&self, phase: Option<&str>) -> Gate {
        match phase {
            None | Some("prefill" | "decode") => Gate::Range("rooflens.capture".to_owned()),
            Some(encoder @ ("sam" | "clip")) => Gate::Range(format!("rooflens.vision.{encoder}")),
            Some(part) => named_range(phase).unwrap_or_else(|| Gate::Range(format!("rooflens.{part}"))),
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        &["prefill", "decode", "vision", "sam", "clip", "projector", "language"]
    }
}
