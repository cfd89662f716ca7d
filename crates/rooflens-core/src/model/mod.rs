//! The model and the device that a trace ran on, and the lower bounds that they give its ledger.

pub mod files;
pub(crate) mod peaks;
mod record;
mod steps;
pub(crate) mod trace_device;

pub(crate) use self::record::ModelRecord;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Communication, FloorSource, Ledger, Reachable, StepShape, Trace};
use rooflens_analyze::ledger::{Floor, OperatorFloor, StepAsked, StepModel};
use rooflens_cost::blueprint::Blueprint;
use rooflens_cost::hardware::Device;
use rooflens_cost::measured::{self, Ran, Shape};
use rooflens_cost::practice::Assume;
use rooflens_cost::{ConfigError, Model, Setup};
use rooflens_schema::tables::PhaseKind;

use crate::error::Error;
use crate::project;

/// What is known of what ran, besides the trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelRequest {
    /// Model that ran: config.json or its folder; gives the ledger its floor
    pub model: Option<PathBuf>,
    /// Device that it ran on; the one the trace names by default
    pub hardware: Option<String>,
    /// Tensor-parallel size; by default the number of ranks that the trace's collectives span
    pub tp: Option<u64>,
    /// Tokens in the KV cache per sequence; used only if the trace does not give it
    pub context: Option<u64>,
    /// Batch size; used only if the trace does not give it
    pub batch: Option<u64>,
    /// Weight dtype, if the config does not say
    pub dtype: Option<String>,
    /// Take the model even where the trace contradicts it
    pub force: bool,
}

#[derive(Clone)]
pub(crate) struct ResolvedModel {
    pub(crate) blueprint: Blueprint,
    pub(crate) model: Model,
    pub(crate) name: String,
    pub(crate) setup: Setup,
    pub(crate) device: Device,
}

impl ModelRequest {
    /// Fails where a device was named that nobody knows, whether or not its peaks are asked for.
    pub(crate) fn check_device(&self) -> Result<(), Error> {
        self.named_device().map(drop)
    }

    /// The model that was asked for, and how it ran by what the trace tells; nothing where no model was named.
    pub(crate) fn record(&self, findings: &Findings) -> Result<Option<ModelRecord>, Error> {
        let Some(path) = &self.model else { return Ok(None) };
        let mut blueprint = files::blueprint(path)?;
        let record = ModelRecord::new(files::name_of(path), &blueprint);
        if let Some(format) = &self.dtype {
            blueprint.weights(format);
        }
        blueprint.model().map_err(|source| Error::no_floor(source.to_string()))?;
        let tensor_parallel = self.tensor_parallel(findings, &files::name_of(path))?;
        let device =
            trace_device::device_name(findings, self.hardware.as_deref()).map_err(Error::no_floor)?;
        let device = files::DeviceCatalog::read(&project::hardware())?.find(&device)?.clone();
        trace_device::check_kind(findings, &device).map_err(Error::no_floor)?;
        Ok(Some(ModelRecord {
            dtype: self.dtype.clone(),
            tensor_parallel,
            device: Some(device),
            is_device_named: self.hardware.is_some(),
            batch: self.batch,
            context: self.context,
            is_forced: self.force,
            ..record
        }))
    }

    /// The model that a run was compared with before, but for what is asked for now.
    pub(crate) fn instead_of(&self, record: ModelRecord, findings: &Findings) -> Result<ModelRecord, Error> {
        let tensor_parallel = match self.tp {
            Some(_) => self.tensor_parallel(findings, record.name.as_deref().unwrap_or_default())?,
            None => record.tensor_parallel,
        };
        let device = self.named_device()?;
        Ok(ModelRecord {
            dtype: self.dtype.clone().or(record.dtype),
            tensor_parallel,
            is_device_named: device.is_some() || record.is_device_named,
            no_device: record.no_device.filter(|_| device.is_none()),
            device: device.or(record.device),
            batch: self.batch.or(record.batch),
            context: self.context.or(record.context),
            is_forced: self.force || record.is_forced,
            ..record
        })
    }

    pub(crate) fn named_device(&self) -> Result<Option<Device>, Error> {
        let Some(name) = &self.hardware else { return Ok(None) };
        Ok(Some(files::DeviceCatalog::read(&project::hardware())?.find(name)?.clone()))
    }

    /// The tensor-parallel size: as asked for, where the trace does not contradict it; else that of the trace.
    fn tensor_parallel(&self, findings: &Findings, model: &str) -> Result<u64, Error> {
        let ranks = ranks_of(findings);
        let Some(tp) = self.tp else { return Ok(ranks.spanned()) };
        match ranks.disagreement(tp).filter(|_| !self.force) {
            Some(disagreement) => Err(not_of_this_trace(model, &[disagreement])),
            None => Ok(tp),
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Ranks {
    world: Option<u64>,
    /// Ranks of the largest group with a collective.
    group: Option<u64>,
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
pub(crate) type Passes = BTreeMap<PhaseKind, Vec<Ran>>;

/// The shapes of steps, as a trace tells them and as the cost model takes them.
pub(crate) type ToldShapes = BTreeMap<(PhaseKind, StepShape), Shape>;

pub(crate) struct ModelContext {
    pub(crate) known: ResolvedModel,
    /// Its passes, in the order of the steps where `told` is empty.
    pub(crate) passes: Passes,
    /// What each shape of the trace's steps is to the cost model; empty where a run tells its steps.
    pub(crate) told: ToldShapes,
}

impl ModelContext {
    fn join(&self, ledger: &mut Ledger) -> Result<Vec<String>, String> {
        let (model, family) = (self.known.name.clone(), self.known.model.family);
        let device = self.known.device.name.clone();
        let assumed = Assume::default().on(&self.known.device);
        let reachable =
            Reachable { gemm: assumed.gemm, attention: assumed.attention, bandwidth: assumed.bandwidth };
        ledger.join(FloorSource { model, family: family.into(), device, reachable }, self)
    }

    /// Gives a ledger its lower bounds, or the reason why it has none. A model that the trace contradicts is an error,
    /// unless it is trusted.
    pub(crate) fn give(
        joined: Result<Self, String>,
        ledger: &mut Ledger,
        is_trusted: bool,
    ) -> Result<Option<Self>, Error> {
        match joined.and_then(|joined| joined.join(ledger).map(|disagreements| (joined, disagreements))) {
            Ok((joined, disagreements)) if is_trusted || disagreements.is_empty() => Ok(Some(joined)),
            Ok((joined, disagreements)) => Err(not_of_this_trace(&joined.known.name, &disagreements)),
            Err(reason) => {
                ledger.without_floor(reason);
                Ok(None)
            }
        }
    }

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
    pub(crate) fn with(&self, set: &[(String, String)]) -> Result<ResolvedModel, ConfigError> {
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

fn floor(class: measured::ClassFloor) -> Floor {
    Floor { class: class.class.to_owned(), ns: class.ns, flops: class.flops, bytes: class.bytes }
}

pub(crate) fn kind_of(name: &str) -> Option<PhaseKind> {
    let known = [PhaseKind::Prefill, PhaseKind::Decode, PhaseKind::Mixed];
    known.into_iter().find(|kind| kind.as_str() == name)
}

fn not_of_this_trace(model: &str, disagreements: &[String]) -> Error {
    Error::usage(format!("{model} is not the model of this trace: {}", disagreements.join("; ")))
        .words("give the config.json of the model that ran, and its --tp; --force uses this one anyway")
}
