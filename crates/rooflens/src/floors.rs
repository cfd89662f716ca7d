//! Least times for a ledger: the model and the device that a trace ran on, from the command line.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Ledger, PhaseLedger, StepShape};
use rooflens_analyze::ledger::{Floor, Floors, PhaseFloors};
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Device;
use rooflens_cost::measured::{self, Ran, RunPhase, Shape};
use rooflens_cost::step::Step;
use rooflens_cost::{ConfigError, Model, Parallel, Setup};
use rooflens_schema::tables::PhaseKind;

use crate::cost::amount::whole;
use crate::cost::files;
use crate::error::CliError;
use crate::project;

/// What is known of what ran, besides the trace.
#[derive(clap::Args, Default)]
#[group(id = "floor")]
pub struct Args {
    /// The model that ran: its config.json or folder; gives the ledger its floor
    #[arg(long, value_name = "PATH", help_heading = "Floor")]
    pub model: Option<PathBuf>,
    /// The device that it ran on, where the trace does not name it
    #[arg(long, value_name = "NAME", help_heading = "Floor")]
    pub hardware: Option<String>,
    /// Devices that share each layer
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Floor")]
    pub tp: u64,
    /// Tokens in the cache of each sequence, where the trace does not tell
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Floor")]
    pub context: Option<u64>,
    /// Sequences of a step, where the trace does not tell
    #[arg(long, value_name = "N", value_parser = whole, help_heading = "Floor")]
    pub batch: Option<u64>,
    /// Format of the weights, where the config does not tell it
    #[arg(long, value_name = "FORMAT", help_heading = "Floor")]
    pub dtype: Option<String>,
}

/// The model and device of a command line, or of a run.
#[derive(Clone)]
pub struct Known {
    /// Its config, to be changed.
    pub blueprint: Blueprint,
    /// The model.
    pub model: Model,
    /// Its name.
    pub name: String,
    /// How devices share it.
    pub setup: Setup,
    /// The device.
    pub device: Device,
}

impl Args {
    /// Reads what was asked for; nothing where no model was named.
    pub fn known(&self, findings: &Findings) -> Result<Option<Known>, CliError> {
        let Some(path) = &self.model else { return Ok(None) };
        let mut blueprint = files::blueprint(path)?;
        if let Some(format) = &self.dtype {
            blueprint.weights(format);
        }
        let model = blueprint.model().map_err(|source| CliError::NoFloor { reason: source.to_string() })?;
        let setup = Setup { parallel: Parallel { tp: self.tp, ..Parallel::NONE }, ..Setup::default() };
        if let Some(reason) = setup.parallel.fault(model.depth) {
            return Err(CliError::NoFloor { reason });
        }
        let in_trace = findings.get::<rooflens_analyze::analyses::Devices>();
        let in_trace = in_trace.and_then(|devices| devices.0.iter().find_map(|device| device.name.clone()));
        let Some(name) = self.hardware.clone().or(in_trace) else {
            let reason = "the trace does not name its device: --hardware names it".to_owned();
            return Err(CliError::NoFloor { reason });
        };
        let device = files::Devices::read(&project::hardware())?.find(&name)?.clone();
        Ok(Some(Known { blueprint, model, name: name_of(path), setup, device }))
    }

    /// Gives the ledger its floor, where a model was named.
    pub fn join(&self, findings: &mut Findings) -> Result<Option<Joined>, CliError> {
        let Some(known) = self.known(findings)? else { return Ok(None) };
        let Some(ledger) = findings.get_mut::<Ledger>() else { return Ok(None) };
        let joined = self.passes_of(ledger).map(|passes| Joined { known, passes });
        Ok(joined
            .and_then(|joined| joined.join(ledger).map(|()| joined))
            .map_err(|reason| ledger.without_floor(reason))
            .ok())
    }

    /// The passes of every phase that the ledger knows the shapes of.
    fn passes_of(&self, ledger: &Ledger) -> Result<Passes, String> {
        let mut passes = Passes::new();
        let mut lacking = None;
        for phase in &ledger.phases {
            let Some((kind, run_phase)) = phase_of(phase) else { continue };
            match self.passes(phase, run_phase) {
                Ok(ran) => drop(passes.insert(kind, ran)),
                Err(reason) => lacking = Some(reason),
            }
        }
        match lacking {
            Some(reason) if passes.is_empty() => Err(reason),
            _ if passes.is_empty() => Err("no phase of the trace is a prefill or a decode step".to_owned()),
            _ => Ok(passes),
        }
    }

    fn passes(&self, phase: &PhaseLedger, run_phase: RunPhase) -> Result<Vec<Ran>, String> {
        let mut ran = Vec::new();
        for shape in &phase.shapes {
            let one = Ran { shape: self.shape(shape, run_phase)?, dur_ns: 0 };
            ran.extend(std::iter::repeat_n(one, shape.steps));
        }
        Ok(ran)
    }

    fn shape(&self, shape: &StepShape, phase: RunPhase) -> Result<Shape, String> {
        let told =
            |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
        let batch = told(shape.batch).or(self.batch);
        let prompt = told(shape.prefill_tokens);
        let mut needed = Vec::new();
        if phase != RunPhase::Decode {
            let prompt = prompt.ok_or("the trace does not tell how many tokens its prompts have")?;
            let going_on = told(shape.decode_tokens).unwrap_or(0);
            let prompts = batch.map_or(1, |batch| batch.saturating_sub(going_on)).max(1);
            // Of a step of prompts alone all that is in sight is theirs: what is not new was cached before.
            let in_sight = told(shape.kv_tokens).filter(|_| phase == RunPhase::Prefill);
            let past = in_sight.map_or(0, |all| all.saturating_sub(prompt) / prompts);
            needed.push(Step::prefill(prompts, prompt / prompts, past));
        }
        let going_on = if phase == RunPhase::Decode { batch } else { told(shape.decode_tokens) };
        if phase != RunPhase::Prefill {
            let going_on =
                going_on.ok_or("the trace does not tell how many sequences a step has: --batch tells it")?;
            // What is in sight of a mixed step is in part its prompts.
            let in_sight = told(shape.kv_tokens).map(|all| all.saturating_sub(prompt.unwrap_or(0)));
            let context = in_sight.or(self.context.map(|each| each.saturating_mul(going_on)));
            let context = context
                .ok_or("the trace does not tell how many tokens are in the cache: --context tells it")?;
            needed.extend(measured::decoding(going_on, context.max(going_on)));
        }
        Ok(Shape { phase, padded: needed.clone(), needed, pictures: Some(Vec::new()) })
    }
}

/// What went through the model, by phase.
pub type Passes = BTreeMap<PhaseKind, Vec<Ran>>;

/// A model with what went through it.
pub struct Joined {
    /// The model and the device.
    pub known: Known,
    /// Its passes.
    pub passes: Passes,
}

impl Joined {
    /// Gives a ledger its floor.
    pub fn join(&self, ledger: &mut Ledger) -> Result<(), String> {
        let mut phases = BTreeMap::new();
        for (kind, ran) in &self.passes {
            let classes = self.known.floors(ran)?;
            phases.insert(*kind, PhaseFloors { steps: ran.len(), classes });
        }
        let (model, device) = (self.known.name.clone(), self.known.device.name.clone());
        ledger.join(&Floors { model, device, phases });
        Ok(())
    }
}

impl Known {
    /// The same with keys of its config set to other values.
    pub fn with(&self, set: &[(String, String)]) -> Result<Known, ConfigError> {
        let mut blueprint = self.blueprint.clone();
        for (key, value) in set {
            blueprint.set(key, value)?;
        }
        let model = blueprint.model()?;
        Ok(Known { blueprint, model, ..self.clone() })
    }

    /// Least times of the passes of a phase, all together.
    pub fn floors(&self, ran: &[Ran]) -> Result<Vec<Floor>, String> {
        let phase = ran.first().ok_or("no step was counted")?.shape.phase;
        let found = measured::floors(&self.model, &self.setup, &self.device, ran).remove(&phase);
        let classes = found.ok_or("no step was counted")??;
        Ok(classes.into_iter().map(floor).collect())
    }
}

/// As the ledger takes it.
fn floor(class: measured::ClassFloor) -> Floor {
    Floor { class: class.class.to_owned(), ns: class.ns, flops: class.flops, bytes: class.bytes }
}

/// What a phase of a trace is to the cost model.
fn phase_of(phase: &PhaseLedger) -> Option<(PhaseKind, RunPhase)> {
    let kind = kind_of(phase.phase)?;
    Some((kind, RunPhase::named(kind.as_str())?))
}

/// The phase of that name, where the cost model knows it.
pub fn kind_of(name: &str) -> Option<PhaseKind> {
    let known = [PhaseKind::Prefill, PhaseKind::Decode, PhaseKind::Mixed];
    known.into_iter().find(|kind| kind.as_str() == name)
}

fn name_of(path: &Path) -> String {
    let path = if path.ends_with("config.json") { path.parent().unwrap_or(path) } else { path };
    let path = if path.is_file() { path.with_extension("") } else { path.to_owned() };
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(batch: i64, prompt: i64, going_on: i64, kv: i64, phase: RunPhase) -> Vec<Step> {
        let shape = StepShape {
            steps: 1,
            batch: Some(batch),
            prefill_tokens: Some(prompt),
            decode_tokens: Some(going_on),
            kv_tokens: Some(kv),
        };
        Args::default().shape(&shape, phase).unwrap().needed
    }

    #[test]
    fn what_is_in_sight_is_dealt_out_once() {
        // A prompt of 100 tokens, and two sequences with 50 in sight, their new tokens among them.
        let mixed = [Step::prefill(1, 100, 0), Step::decode(2, 24)];
        assert_eq!(steps(3, 100, 2, 150, RunPhase::Mixed), mixed);
        // Two prompts of 50 new tokens, after 200 each that were cached.
        assert_eq!(steps(2, 100, 0, 500, RunPhase::Prefill), [Step::prefill(2, 50, 200)]);
        assert_eq!(steps(2, 0, 2, 50, RunPhase::Decode), [Step::decode(2, 24)]);
    }
}
