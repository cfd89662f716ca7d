//! Any program of the user's, with the probe or NVTX ranges in it.

use super::{RecordingGate, Runtime, named_range};
use crate::error::SettingsError;
use crate::plan::WorkloadPass;
use crate::settings::{ConfigSection, RuntimeOptions};

/// The runtime.
pub(crate) struct CommandRuntime;

/// What starts and watches the program needs nothing beyond Python itself.
const USUAL_PYTHON: &str = "python3";

impl Runtime for CommandRuntime {
    fn name(&self) -> &'static str {
        "command"
    }

    fn about(&self) -> &'static str {
        "any program, with phases marked by rooflens.probe or NVTX"
    }

    fn packages(&self) -> &'static [&'static str] {
        &[]
    }

    fn read(&self, keys: &mut ConfigSection<'_>) -> Result<RuntimeOptions, SettingsError> {
        keys.words("argv")?;
        keys.name("cwd")?;
        let python = keys.optional_text("python")?.unwrap_or_else(|| USUAL_PYTHON.to_owned());
        Ok(RuntimeOptions { python, tensor_parallel: 1, kv_dtype: None, model: keys.optional_text("model")? })
    }

    fn runs_the_model(&self) -> bool {
        false
    }

    // A trace is there only where the program uses the probe with torch.
    fn leaves(&self, _: WorkloadPass) -> Vec<&'static str> {
        vec!["events.jsonl", "phases.jsonl"]
    }

    // As the probe names phases.
    fn gate(&self, phase: Option<&str>) -> RecordingGate {
        let probe =
            || phase.map_or(RecordingGate::Open, |phase| RecordingGate::Range(format!("rooflens.{phase}")));
        named_range(phase).unwrap_or_else(probe)
    }

    // Whatever the program calls its phases.
    fn phases(&self) -> &'static [&'static str] {
        &[]
    }
}
