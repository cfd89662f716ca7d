//! The model and the device that a trace ran on, and the lower bounds that they give its ledger.

pub mod files;
pub mod links;
pub mod peaks;
pub mod trace_device;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{
    Communication, FloorSource, Ledger, PhaseLedger, Reachable, StepShape, Trace,
};
use rooflens_analyze::ledger::{Floor, OperatorFloor, StepAsked, StepModel};
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Device;
use rooflens_cost::measured::{self, Ran, RunPhase, Shape};
use rooflens_cost::practice::Assume;
use rooflens_cost::step::Step;
use rooflens_cost::{ConfigError, Model, Parallel, Setup};
use rooflens_schema::tables::PhaseKind;

use crate::error::Error;
use crate::project;

/// What is known of what ran, besides the trace.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// Model that ran: config.json or its folder; gives the ledger its floor
    pub model: Option<PathBuf>,
    /// Device that it ran on; the one the trace names by default
    pub hardware: Option<String>,
    /// Tensor-parallel size; by default the number of ranks that the trace's collectives span
    pub tp: Option<u64>,
    /// Tokens in the KV cache per sequence, if the trace does not say
    pub context: Option<u64>,
    /// Batch size, if the trace does not say
    pub batch: Option<u64>,
    /// Weight dtype, if the config does not say
    pub dtype: Option<String>,
    /// Take the model even where the trace contradicts it
    pub force: bool,
}

/// The model and device of a command line, or of a run.
#[derive(Clone)]
pub struct ResolvedModel {
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

impl ModelRequest {
    /// Fails where a device was named that nobody knows, whether or not its peaks are asked for.
    pub fn check_device(&self) -> Result<(), Error> {
        match &self.hardware {
            Some(name) => Ok(files::DeviceCatalog::read(&project::hardware())?.find(name).map(drop)?),
            None => Ok(()),
        }
    }

    /// Reads what was asked for; nothing where no model was named.
    pub fn known(&self, findings: &Findings) -> Result<Option<ResolvedModel>, Error> {
        let Some(path) = &self.model else { return Ok(None) };
        let mut blueprint = files::blueprint(path)?;
        if let Some(format) = &self.dtype {
            blueprint.weights(format);
        }
        let model = blueprint.model().map_err(|source| Error::NoFloor { reason: source.to_string() })?;
        let tp = self.tensor_parallel(findings, &name_of(path))?;
        let setup = Setup { parallel: Parallel { tp, ..Parallel::NONE }, ..Setup::default() };
        if let Some(reason) = setup.parallel.fault(model.depth) {
            return Err(Error::NoFloor { reason });
        }
        let name = trace_device::device_name(findings, self.hardware.as_deref())
            .map_err(|reason| Error::NoFloor { reason })?;
        let device = files::DeviceCatalog::read(&project::hardware())?.find(&name)?.clone();
        Ok(Some(ResolvedModel { blueprint, model, name: name_of(path), setup, device }))
    }

    /// Gives the ledger its floor, where a model was named.
    pub fn join(&self, findings: &mut Findings) -> Result<Option<ModelContext>, Error> {
        let Some(known) = self.known(findings)? else { return Ok(None) };
        let Some(ledger) = findings.get_mut::<Ledger>() else { return Ok(None) };
        let joined = self.passes_of(ledger).map(|(passes, told)| ModelContext { known, passes, told });
        match joined.and_then(|joined| joined.join(ledger).map(|disagreements| (joined, disagreements))) {
            Ok((joined, disagreements)) if disagreements.is_empty() || self.force => Ok(Some(joined)),
            Ok((joined, disagreements)) => {
                Err(Error::ModelDoesNotFit { model: joined.known.name, disagreements })
            }
            Err(reason) => {
                ledger.without_floor(reason);
                Ok(None)
            }
        }
    }

    /// The tensor-parallel size: as asked for, where the trace does not contradict it; else that of the trace.
    fn tensor_parallel(&self, findings: &Findings, model: &str) -> Result<u64, Error> {
        let ranks = ranks_of(findings);
        let Some(tp) = self.tp else { return Ok(ranks.spanned()) };
        match ranks.disagreement(tp).filter(|_| !self.force) {
            Some(disagreement) => {
                Err(Error::ModelDoesNotFit { model: model.to_owned(), disagreements: vec![disagreement] })
            }
            None => Ok(tp),
        }
    }

    /// The passes of every phase that the ledger knows the shapes of.
    fn passes_of(&self, ledger: &Ledger) -> Result<(Passes, ToldShapes), String> {
        let (mut passes, mut told) = (Passes::new(), ToldShapes::new());
        let mut lacking = None;
        for phase in &ledger.phases {
            let Some((kind, run_phase)) = phase_of(phase) else { continue };
            for shape in &phase.shapes {
                match self.shape(shape, run_phase) {
                    Ok(found) => {
                        let one = Ran { shape: found.clone(), dur_ns: 0 };
                        passes.entry(kind).or_default().extend(std::iter::repeat_n(one, shape.steps));
                        told.insert((kind, StepShape { steps: 1, ..*shape }), found);
                    }
                    Err(reason) => lacking = Some(reason),
                }
            }
        }
        match lacking {
            Some(reason) if passes.is_empty() => Err(reason),
            _ if passes.is_empty() => Err("the trace has no prefill or decode step".to_owned()),
            _ => Ok((passes, told)),
        }
    }

    fn shape(&self, shape: &StepShape, phase: RunPhase) -> Result<Shape, String> {
        let told =
            |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
        let batch = told(shape.batch).or(self.batch);
        let prompt = told(shape.prefill_tokens);
        let mut needed = Vec::new();
        if phase != RunPhase::Decode {
            let prompt = prompt.ok_or("the trace does not record the number of prompt tokens")?;
            let going_on = told(shape.decode_tokens).unwrap_or(0);
            let prompts = batch.map_or(1, |batch| batch.saturating_sub(going_on)).max(1);
            // Of a step of prompts alone all that is in sight is theirs: what is not new was cached before.
            let in_sight = told(shape.kv_tokens).filter(|_| phase == RunPhase::Prefill);
            let past = in_sight.map_or(0, |all| all.saturating_sub(prompt) / prompts);
            needed.push(Step::prefill(prompts, prompt / prompts, past));
        }
        let going_on = if phase == RunPhase::Decode { batch } else { told(shape.decode_tokens) };
        if phase != RunPhase::Prefill {
            let going_on = going_on.ok_or("the trace does not record the batch size: --batch sets it")?;
            // What is in sight of a mixed step is in part its prompts.
            let in_sight = told(shape.kv_tokens).map(|all| all.saturating_sub(prompt.unwrap_or(0)));
            let context = in_sight.or(self.context.map(|each| each.saturating_mul(going_on)));
            let context = context
                .ok_or("the trace does not record the number of tokens in the KV cache: --context sets it")?;
            needed.extend(measured::decoding(going_on, context.max(going_on)));
        }
        Ok(Shape { phase, padded: needed.clone(), needed, pictures: Some(Vec::new()) })
    }
}

/// What a trace says about the ranks that share its model.
#[derive(Debug, Default, Clone, Copy)]
struct Ranks {
    /// Ranks of the job.
    world: Option<u64>,
    /// Ranks of the largest group with a collective.
    group: Option<u64>,
    /// Communication kernels.
    collectives: usize,
}

fn ranks_of(findings: &Findings) -> Ranks {
    let positive = |count: i32| u64::try_from(count).ok().filter(|count| *count > 0);
    let trace = findings.get::<Trace>();
    let communication = findings.get::<Communication>();
    let groups = communication.into_iter().flat_map(|found| &found.collectives);
    Ranks {
        world: trace.and_then(|trace| trace.world_size).and_then(positive),
        group: groups.filter_map(|collective| collective.group_size.and_then(positive)).max(),
        collectives: communication.map_or(0, |found| found.count),
    }
}

impl Ranks {
    /// How many ranks share the layers: those that exchange something.
    fn spanned(&self) -> u64 {
        if self.collectives == 0 { 1 } else { self.group.or(self.world).unwrap_or(1) }
    }

    /// What contradicts a tensor-parallel size.
    fn disagreement(&self, tp: u64) -> Option<String> {
        if let Some(world) = self.world.filter(|world| tp > *world) {
            return Some(format!("the job has only {world} ranks, too few for --tp {tp}"));
        }
        let is_alone = self.collectives == 0 && self.world.is_some();
        (tp > 1 && is_alone)
            .then(|| format!("the trace has no collectives, so its layers are not sharded with --tp {tp}"))
    }
}

/// What went through the model, by phase.
pub type Passes = BTreeMap<PhaseKind, Vec<Ran>>;

/// The shapes of steps, as a trace tells them and as the cost model takes them.
pub type ToldShapes = BTreeMap<(PhaseKind, StepShape), Shape>;

/// A model with what went through it.
pub struct ModelContext {
    /// The model and the device.
    pub known: ResolvedModel,
    /// Its passes, in the order of the steps where `told` is empty.
    pub passes: Passes,
    /// What each shape of the trace's steps is to the cost model; empty where a run tells its steps.
    pub told: ToldShapes,
}

impl ModelContext {
    /// Gives a ledger its floor; answers what of the trace contradicts the model.
    pub fn join(&self, ledger: &mut Ledger) -> Result<Vec<String>, String> {
        let (model, family) = (self.known.name.clone(), self.known.model.family);
        let device = self.known.device.name.clone();
        let assumed = Assume::default().on(&self.known.device);
        let reachable =
            Reachable { gemm: assumed.gemm, attention: assumed.attention, bandwidth: assumed.bandwidth };
        ledger.join(FloorSource { model, family: family.into(), device, reachable }, self)
    }

    /// What went through the model in a step.
    fn shape(&self, step: &StepAsked) -> Result<&Shape, String> {
        if self.told.is_empty() {
            let ran = self.passes.get(&step.kind).and_then(|ran| ran.get(step.ordinal));
            return ran
                .map(|ran| &ran.shape)
                .ok_or_else(|| "the run has fewer steps than its trace".to_owned());
        }
        let told = self.told.get(&(step.kind, step.shape));
        told.ok_or_else(|| "the trace does not record the batch and tokens of its steps".to_owned())
    }
}

impl StepModel for ModelContext {
    fn operators(&self, step: &StepAsked) -> Result<Vec<OperatorFloor>, String> {
        let known = &self.known;
        let found = measured::operators(&known.model, &known.setup, &known.device, self.shape(step)?)?;
        Ok(found.into_iter().map(operator).collect())
    }
}

/// As the ledger takes it.
fn operator(found: measured::PassOperator) -> OperatorFloor {
    OperatorFloor {
        layer: found.layer.and_then(|layer| i32::try_from(layer).ok()),
        name: found.name,
        class: found.class,
        matrix: found.matrix,
        parts: found.parts,
        ns: found.seconds.bound * 1e9,
        compute_ns: found.seconds.compute * 1e9,
        memory_ns: found.seconds.memory * 1e9,
        flops: found.work.flops.useful as f64,
        bytes: found.work.bytes.total() as f64,
    }
}

impl ResolvedModel {
    /// The same with keys of its config set to other values.
    pub fn with(&self, set: &[(String, String)]) -> Result<ResolvedModel, ConfigError> {
        let mut blueprint = self.blueprint.clone();
        for (key, value) in set {
            blueprint.set(key, value)?;
        }
        let model = blueprint.model()?;
        Ok(ResolvedModel { blueprint, model, ..self.clone() })
    }

    /// Least times of the passes of a phase, all together.
    pub fn floors(&self, ran: &[Ran]) -> Result<Vec<Floor>, String> {
        let phase = ran.first().ok_or("no step has a known size")?.shape.phase;
        let found = measured::floors(&self.model, &self.setup, &self.device, ran).remove(&phase);
        let classes = found.ok_or("no step has a known size")??;
        Ok(classes.into_iter().map(floor).collect())
    }
}

/// As the ledger takes it.
fn floor(class: measured::ClassFloor) -> Floor {
    Floor { class: class.class.to_owned(), ns: class.ns, flops: class.flops, bytes: class.bytes }
}

/// What a phase of a trace is to the cost model.
fn phase_of(phase: &PhaseLedger) -> Option<(PhaseKind, RunPhase)> {
    let kind = kind_of(&phase.phase)?;
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
        ModelRequest::default().shape(&shape, phase).unwrap().needed
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
