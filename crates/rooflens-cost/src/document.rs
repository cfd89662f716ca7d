//! An estimate as a document: every number of it, for programs.

mod flat;
mod places;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crossover::Crossovers;
use crate::estimate::{Estimate, PhaseCost, PhaseTime};
use crate::hardware::Device;
use crate::inverse::Needs;
use crate::layout::Refusal;
use crate::memory::{Cache, MemoryFootprint};
use crate::model::Model;
use crate::operator::{Bytes, Flops, Work};
use crate::practice::Assumed;
use crate::roof::{Limit, Roof, Seconds};
use crate::setup::Setup;
use crate::step::Phase;
use crate::tally::{HiddenSide, OperatorPlace, Tally, TallyRow};
use crate::workload::Workload;

pub(crate) use places::ranges;
use places::{encoder_part, place_name};

/// What a workload costs, and all it rests on. Work and times are those of the busiest device of each
/// stage, all stages together; parameters and `kv` are the whole model's.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EstimateDocument {
    /// What was read.
    pub model: ModelFacts,
    /// Its parameters.
    pub params: Params,
    /// The workload that is estimated.
    pub workload: Workload,
    /// How it is run.
    pub setup: Setup,
    /// On what; null without a device.
    pub hardware: Option<Device>,
    /// All phases together.
    pub totals: Totals,
    /// Each phase.
    pub phases: Vec<PhaseFacts>,
    /// What is kept for each sequence, all devices together.
    pub kv: KvFacts,
    /// What the fullest device holds.
    pub memory: MemoryFootprint,
    /// Where decoding changes its nature; null without a device or a decoding phase.
    pub crossovers: Option<Crossovers>,
    /// What it takes to meet the targets that were given.
    pub needs: Vec<Needs>,
    /// Why engines refuse to shard the model so; empty where they do not.
    #[serde(default)]
    pub refused: Vec<Refusal>,
    /// Tokens that the images of each sequence add to its prompt.
    #[serde(default)]
    pub(crate) image_tokens: u64,
    /// Positions of the encoder that the decoder attends to; 0 without an encoder.
    #[serde(default)]
    pub encoder_tokens: u64,
    /// The estimate's assumptions; null without a device.
    pub(crate) estimate_assumptions: Option<Assumed>,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
}

/// What was read of a model.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ModelFacts {
    /// The family that read it.
    pub(crate) family: Cow<'static, str>,
    /// Its architecture, as the config names it.
    pub architecture: String,
    /// Layers of the decoder.
    pub layers: u32,
    /// Layers that are alike.
    pub layer_kinds: Vec<LayerFacts>,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Rows of the embedding.
    pub(crate) vocab_size: u64,
    /// Format of weights that are not quantised.
    pub dtype: Cow<'static, str>,
    /// What is quantised.
    pub quantisation: Option<String>,
    /// Positions that the config gives it; null where it has no such key.
    #[serde(default)]
    pub positions: Option<u64>,
    /// What turns images into tokens.
    pub vision: Option<Cow<'static, str>>,
    /// What reads the input of an encoder-decoder model; null for a decoder alone.
    pub encoder: Option<EncoderFacts>,
}

/// What was read of an encoder.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct EncoderFacts {
    /// What it reads: `text` or `audio`.
    pub input: Cow<'static, str>,
    /// Its layers.
    pub layers: u32,
}

/// Layers that are alike.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LayerFacts {
    /// Which, as `0-2, 5`.
    pub(crate) layers: String,
    /// How many.
    pub(crate) count: u64,
    /// Parameters of one of them.
    pub(crate) params: u128,
}

/// Parameters.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Of the class that generates text, as Transformers has it: without layers that draft.
    pub total: u128,
    /// That a token meets: all of the language model but the experts that it does not visit.
    pub active: u128,
    /// The same without the input embedding, of which a token reads one row.
    pub(crate) active_without_embedding: u128,
    /// In routed experts.
    pub experts: u128,
    /// In the vision tower.
    pub vision: u128,
    /// In the encoder of an encoder-decoder model; a table of tokens that both use is the decoder's.
    #[serde(default)]
    pub encoder: u128,
    /// In layers that draft.
    pub draft: u128,
    /// In all that the checkpoint holds.
    pub(crate) checkpoint: u128,
}

/// What is kept for each sequence.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(from = "flat::KvFacts")]
pub struct KvFacts {
    /// Its format.
    pub(crate) dtype: Cow<'static, str>,
    /// Format of recurrent states.
    #[serde(default)]
    pub state_dtype: Cow<'static, str>,
    /// What is kept.
    #[serde(flatten)]
    pub cache: Cache,
}

/// Work added up.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Operations of the matrix units.
    pub flops: Flops,
    /// Operations of the vector units.
    pub(crate) vector_flops: u128,
    /// Bytes between memory and chip.
    pub bytes: AllBytes,
    /// Bytes sent to other devices of the node.
    pub(crate) link_bytes: u128,
    /// Bytes sent to other nodes.
    #[serde(default)]
    pub(crate) inter_node_bytes: u128,
    /// Useful operations for each byte.
    pub intensity: Option<f64>,
    /// The lower bound of the time; null without a device.
    pub seconds: Option<f64>,
    /// The time under the estimate's assumptions; null without a device.
    pub(crate) estimate_s: Option<f64>,
    /// By class of operator.
    pub classes: BTreeMap<Cow<'static, str>, ClassTotals>,
}

/// Bytes with their sum.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(from = "flat::AllBytes")]
pub struct AllBytes {
    /// By what they are.
    #[serde(flatten)]
    pub parts: Bytes,
    /// All of them.
    pub total: u128,
}

/// The work of a class of operators.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ClassTotals {
    /// Operations of the matrix units.
    pub flops: Flops,
    /// Operations of the vector units.
    pub(crate) vector_flops: u128,
    /// Bytes between memory and chip.
    pub bytes: AllBytes,
    /// Bytes sent to other devices.
    pub(crate) link_bytes: u128,
    /// Useful operations for each byte.
    pub intensity: Option<f64>,
    /// The lower bound of its time.
    pub seconds: Option<f64>,
    /// Its time under the estimate's assumptions.
    pub estimate_s: Option<f64>,
    /// Its lower bound as a part of the phase's; null without a device, and where it is `hidden`.
    pub share: Option<f64>,
    /// Whether it takes no time of its own in the bound, where communication and the rest overlap: the shorter of
    /// the two is hidden behind the longer.
    #[serde(default)]
    pub hidden: bool,
    /// What it waits for.
    pub limit: Option<Limit>,
}

/// A phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(from = "flat::PhaseFacts")]
pub struct PhaseFacts {
    /// What it does.
    pub phase: Phase,
    /// In how many steps.
    pub steps: u64,
    /// New tokens, of all sequences.
    pub tokens: u128,
    /// Its work.
    #[serde(flatten)]
    pub totals: Totals,
    /// Its times; null without a device.
    pub time: Option<PhaseTime>,
    /// By encoder and projector, where there is more than one encoder, in the order of execution; left out
    /// elsewhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageCost>,
    /// Each kind of layer.
    pub(crate) layers: Vec<LayerCost>,
    /// Each operator, in the order of execution.
    pub operators: Vec<OperatorFacts>,
}

/// What an encoder or a projector costs, all of its layers.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StageCost {
    /// Its name, as `clip`.
    pub stage: Cow<'static, str>,
    /// Operations of the matrix units.
    pub flops: Flops,
    /// Bytes that must move.
    pub bytes: u128,
    /// The lower bound of its time.
    pub seconds: Option<f64>,
}

/// What one layer of a kind costs.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LayerCost {
    /// Which layers.
    pub(crate) layers: String,
    /// How many.
    pub(crate) count: u64,
    /// Operations of the matrix units of one of them.
    pub(crate) flops: Flops,
    /// Bytes of one of them.
    pub(crate) bytes: u128,
    /// The lower bound of the time of one of them, communication not overlapped.
    pub(crate) seconds: Option<f64>,
}

/// An operator; numbers are those of one layer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OperatorFacts {
    /// Which layers have it.
    pub layers: String,
    /// How many.
    pub count: u64,
    /// The same as numbers; empty for what stands outside the layers.
    #[serde(skip)]
    pub at: Vec<u32>,
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its class.
    pub class: Cow<'static, str>,
    /// How its weights are stored.
    pub storage: String,
    /// What is multiplied.
    pub dtype: Cow<'static, str>,
    /// Operations of the matrix units.
    pub flops: Flops,
    /// Operations of the vector units.
    pub vector_flops: u128,
    /// Bytes between memory and chip.
    pub bytes: AllBytes,
    /// Bytes sent to other devices.
    pub link_bytes: u128,
    /// Useful operations for each byte.
    pub intensity: Option<f64>,
    /// Lower bounds of its time.
    pub seconds: Option<Seconds>,
    /// What it waits for.
    pub limit: Option<Limit>,
    /// Its lower bound as a part of the phase's, all its layers together; null without a device, and where the
    /// bound hides it.
    pub share: Option<f64>,
    /// Formula of its model FLOPs.
    pub formula: Cow<'static, str>,
}

impl Params {
    /// Those of a model.
    #[must_use]
    pub fn of(model: &Model) -> Self {
        let total = model.parameters();
        let vision = model.vision.as_ref().map_or(0, crate::vision::Tower::parameters);
        let draft = model.draft_parameters();
        let connector = model.vision.as_ref().map_or(0, crate::vision::Tower::connector_parameters);
        let apart = if model.vision_is_apart { vision + connector } else { 0 };
        Self {
            total: total.stored,
            active: model.active_parameters(),
            active_without_embedding: model.active_parameters() - total.input_embedding,
            experts: total.routed,
            vision,
            encoder: model.encoder.as_ref().map_or(0, |encoder| encoder.parameters().stored),
            draft,
            checkpoint: total.stored + draft + apart,
        }
    }
}

impl EstimateDocument {
    /// The document of an estimate.
    #[must_use]
    pub fn new(
        model: &Model,
        setup: &Setup,
        workload: &Workload,
        device: Option<&Device>,
        estimate: &Estimate,
    ) -> Self {
        let roof = device.and_then(|device| Roof::bound(device, setup));
        let rows = || estimate.phases.iter().flat_map(|phase| &phase.tally.rows);
        let estimated = || estimate.phases.iter().flat_map(|phase| &phase.estimated.rows);
        Self {
            model: model_facts(model),
            params: Params::of(model),
            workload: workload.clone(),
            setup: setup.clone(),
            hardware: device.cloned(),
            totals: totals(rows(), estimated(), estimate.work(), (estimate.seconds(), estimate.estimate_s())),
            phases: estimate.phases.iter().map(|phase| phase_facts(model, phase, roof.as_ref())).collect(),
            kv: KvFacts {
                dtype: setup.kv(model).as_str().into(),
                state_dtype: setup.state(model).as_str().into(),
                cache: estimate.cache.clone(),
            },
            memory: estimate.memory.clone(),
            crossovers: None,
            needs: Vec::new(),
            refused: estimate.refused.clone(),
            image_tokens: estimate.image_tokens,
            encoder_tokens: estimate.encoder_tokens,
            estimate_assumptions: estimate.assumed,
            assumptions: estimate.assumptions.clone(),
        }
    }
}

fn model_facts(model: &Model) -> ModelFacts {
    ModelFacts {
        family: model.family.into(),
        architecture: model.architecture.clone(),
        layers: model.depth,
        layer_kinds: model
            .kinds
            .iter()
            .map(|kind| LayerFacts {
                layers: ranges(&kind.at),
                count: kind.at.len() as u64,
                params: kind.layer.units.iter().map(|unit| unit.parameters().stored).sum(),
            })
            .collect(),
        hidden_size: model.hidden,
        vocab_size: model.vocab,
        dtype: model.dtype.as_str().into(),
        quantisation: model.quantisation.clone(),
        positions: model.positions,
        vision: model.vision.as_ref().map(|tower| tower.name.into()),
        encoder: model.encoder.as_ref().map(|encoder| EncoderFacts {
            input: if encoder.reads_prompt() { "text".into() } else { "audio".into() },
            layers: encoder.depth,
        }),
    }
}

fn all(parts: Bytes) -> AllBytes {
    AllBytes { parts, total: parts.total() }
}

fn intensity(work: &Work) -> Option<f64> {
    let bytes = work.bytes.total();
    (bytes > 0).then(|| work.flops.useful as f64 / bytes as f64)
}

fn totals<'a>(
    rows: impl Iterator<Item = &'a TallyRow>,
    estimated: impl Iterator<Item = &'a TallyRow>,
    work: Work,
    (seconds, estimate_s): (Option<f64>, Option<f64>),
) -> Totals {
    let mut estimates: BTreeMap<&'static str, f64> = BTreeMap::new();
    for row in estimated {
        *estimates.entry(row.operator.class).or_default() += row.seconds.bound * row.layers as f64;
    }
    let mut sums: BTreeMap<&'static str, (Work, Seconds)> = BTreeMap::new();
    let rows: Vec<&TallyRow> = rows.collect();
    let hidden = HiddenSide::of(&rows);
    for row in rows {
        let (work, time) = sums.entry(row.operator.class).or_default();
        *work += row.operator.work * u128::from(row.layers);
        *time += row.seconds.times(row.layers as f64);
    }
    let class = |name: &str, (work, time): (Work, Seconds)| ClassTotals {
        flops: work.flops,
        vector_flops: work.vector_flops,
        bytes: all(work.bytes),
        link_bytes: work.link_bytes,
        intensity: intensity(&work),
        seconds: seconds.map(|_| time.bound),
        estimate_s: estimate_s.and_then(|_| estimates.get(name).copied()),
        share: seconds.filter(|all| *all > 0.0 && !hidden.has(&time)).map(|all| time.bound / all),
        hidden: seconds.is_some() && hidden.has(&time),
        limit: seconds.map(|_| time.limit()),
    };
    Totals {
        flops: work.flops,
        vector_flops: work.vector_flops,
        bytes: all(work.bytes),
        link_bytes: work.link_bytes,
        inter_node_bytes: work.inter_node_bytes,
        intensity: intensity(&work),
        seconds,
        estimate_s,
        classes: sums.into_iter().map(|(name, sum)| (name.into(), class(name, sum))).collect(),
    }
}

fn phase_facts(model: &Model, phase: &PhaseCost, roof: Option<&Roof>) -> PhaseFacts {
    let seconds = phase.time.map(|time| time.seconds);
    let hidden = HiddenSide::of(&phase.tally.rows.iter().collect::<Vec<_>>());
    let operator = |row: &TallyRow| operator_facts(model, row, roof, (seconds, hidden));
    PhaseFacts {
        phase: phase.phase,
        steps: phase.steps,
        tokens: phase.tokens,
        totals: totals(
            phase.tally.rows.iter(),
            phase.estimated.rows.iter(),
            phase.tally.work(),
            (seconds, phase.time.map(|time| time.estimate_s)),
        ),
        time: phase.time,
        stages: stage_costs(model, &phase.tally, seconds.is_some()),
        layers: layer_costs(model, &phase.tally, seconds.is_some()),
        operators: phase.tally.rows.iter().map(operator).collect(),
    }
}

/// `sam.neck` is a part of the stage `sam`.
fn stage_costs(model: &Model, tally: &Tally, timed: bool) -> Vec<StageCost> {
    let Some(tower) = &model.vision else { return Vec::new() };
    let parts: BTreeSet<&str> =
        tower.stages.iter().filter_map(|stage| Some(stage.name.split_once('.')?.0)).collect();
    if parts.len() < 2 {
        return Vec::new();
    }
    let mut costs: Vec<(&'static str, Work, f64)> = Vec::new();
    for row in &tally.rows {
        let OperatorPlace::Vision(number) = row.place else { continue };
        let Some(name) = tower.stages.get(number).and_then(|stage| stage.name.split('.').next()) else {
            continue;
        };
        let at = costs.iter().position(|(stage, ..)| *stage == name).unwrap_or_else(|| {
            costs.push((name, Work::default(), 0.0));
            costs.len() - 1
        });
        if let Some((_, work, bound_s)) = costs.get_mut(at) {
            *work += row.operator.work * u128::from(row.layers);
            *bound_s += row.seconds.bound * row.layers as f64;
        }
    }
    let cost = |(stage, work, bound_s): (&'static str, Work, f64)| StageCost {
        stage: stage.into(),
        flops: work.flops,
        bytes: work.bytes.total(),
        seconds: timed.then_some(bound_s),
    };
    costs.into_iter().map(cost).collect()
}

fn layer_costs(model: &Model, tally: &Tally, timed: bool) -> Vec<LayerCost> {
    let mut costs: Vec<(OperatorPlace, u64, Work, f64)> = Vec::new();
    for row in &tally.rows {
        match costs.last_mut() {
            Some((place, _, work, seconds)) if *place == row.place => {
                *work += row.operator.work;
                *seconds += row.seconds.bound;
            }
            _ => costs.push((row.place, row.layers, row.operator.work, row.seconds.bound)),
        }
    }
    let cost = |(place, count, work, seconds): (OperatorPlace, u64, Work, f64)| LayerCost {
        layers: place_name(model, place),
        count,
        flops: work.flops,
        bytes: work.bytes.total(),
        seconds: timed.then_some(seconds),
    };
    costs.into_iter().map(cost).collect()
}

fn operator_facts(
    model: &Model,
    row: &TallyRow,
    roof: Option<&Roof>,
    (seconds, hidden): (Option<f64>, HiddenSide),
) -> OperatorFacts {
    let work = &row.operator.work;
    let storage = &row.operator.storage;
    OperatorFacts {
        layers: place_name(model, row.place),
        count: row.layers,
        at: match row.place {
            OperatorPlace::Kind(kind) => model.kinds.get(kind).map_or_else(Vec::new, |kind| kind.at.clone()),
            OperatorPlace::Encoder(part) => {
                encoder_part(model, part).map_or_else(Vec::new, |part| part.at.clone())
            }
            _ => Vec::new(),
        },
        name: row.operator.name.into(),
        class: row.operator.class.into(),
        storage: storage.to_string(),
        dtype: roof.map_or(storage.compute, |roof| roof.compute_format(storage)).as_str().into(),
        flops: work.flops,
        vector_flops: work.vector_flops,
        bytes: all(work.bytes),
        link_bytes: work.link_bytes,
        intensity: intensity(work),
        seconds: seconds.map(|_| row.seconds),
        limit: seconds.map(|_| row.seconds.limit()),
        share: seconds
            .filter(|all| *all > 0.0 && !hidden.has(&row.seconds))
            .map(|all| row.seconds.bound * row.layers as f64 / all),
        formula: row.operator.formula.into(),
    }
}
