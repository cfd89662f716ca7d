//! One job or a sweep, as the command line of a Hydra program decides it.

use crate::compose::Composer;
use crate::composition::Composition;
use crate::error::ComposeError;
use crate::multirun::Multirun;
use crate::request::{ComposeRequest, Mode};
use crate::value::Value;

/// What a command line asks to run.
#[derive(Debug, Clone)]
pub enum RunOrSweep {
    /// One job.
    Run(Box<Composition>),
    /// The jobs of a sweep.
    Sweep(Box<Multirun>),
}

impl Composer {
    /// Composes what is to be run. `hydra.mode` decides between a job and a sweep where the config
    /// or an override sets it; else [`ComposeRequest::mode`] does, and is then noted as an override.
    ///
    /// # Errors
    /// [`ComposeError`] wherever Hydra would not run it either.
    pub fn launch(&self, request: &ComposeRequest) -> Result<RunOrSweep, ComposeError> {
        let mut request = request.clone();
        let asked = request.mode;
        let set = self.configured_mode(&request);
        if set.is_none() || (asked, set) == (Mode::Multirun, Some(Mode::Run)) {
            request.overrides.push(format!("hydra.mode={}", name(asked)));
        }
        match (set, asked) {
            (Some(Mode::Multirun), _) | (_, Mode::Multirun) => {
                self.multirun(&request).map(Box::new).map(RunOrSweep::Sweep)
            }
            _ => self.compose(&request).map(Box::new).map(RunOrSweep::Run),
        }
    }

    /// `hydra.mode`. What cannot be composed yet says nothing of it.
    fn configured_mode(&self, request: &ComposeRequest) -> Option<Mode> {
        let plan = self.compose(&ComposeRequest { mode: Mode::Multirun, ..request.clone() }).ok()?;
        match plan.value_at("hydra.mode").ok()??.value {
            Value::Str(mode) if mode == name(Mode::Multirun) => Some(Mode::Multirun),
            Value::Str(_) => Some(Mode::Run),
            _ => None,
        }
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Run => "RUN",
        Mode::Multirun => "MULTIRUN",
    }
}
