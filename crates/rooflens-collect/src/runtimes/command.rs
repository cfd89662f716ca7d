//! Any program of the user's, with the probe or NVTX ranges in it.

use super::{Gate, Runtime, named_range};
use crate::error::SettingsError;
use crate::plan::Pass;
use crate::settings::{Own, Section};

/// The runtime.
pub struct Command;

/// What starts and watches the program needs nothing beyond Python itself.
const USUAL_PYTHON: &str = "python3";

impl Runtime for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "any program, with phases marked by rooflens.probe or NVTX"
    }

    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    fn read(&self, keys: &mut Section<'_>) -> Result<Own, SettingsError> {
        keys.words("argv")?;
        keys.name("cwd")?;
        let python = keys.optional_text("python")?.unwrap_or_else(|| USUAL_PYTHON.to_owned());
        Ok(Own { python, tensor_parallel: 1, kv_dtype: None, model: keys.optional_text("model")? })
    }

    fn runs_the_model(&self) -> bool {
        false
    }

    // A trace is there only where the program uses the probe with torch.
    fn leaves(&self, _: Pass) -> Vec<&'static str> {
        vec!["events.jsonl", "phases.jsonl"]
    }

    // As the probe names phases.
    fn gate(&self, phase: Option<&str>) -> Gate {
        let probe = || phase.map_or(Gate::Open, |phase| Gate::Range(format!("rooflens.{phase}")));
        named_range(phase).unwrap_or_else(probe)
    }

    // Whatever the program calls its phases.
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }
}
