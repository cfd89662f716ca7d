//! An estimate as a document: every number of it, for programs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crossover::Crossovers;
use crate::estimate::{Estimate, PhaseCost, PhaseTime};
use crate::hardware::Device;
use crate::inverse::Needs;
use crate::layout::Refusal;
use crate::memory::{Cache, MemoryFootprint, Window};
use crate::model::{EncoderPart, Model};
use crate::operator::{AllBytes, Flops, Work};
use crate::practice::Assumed;
use crate::roof::{Limit, Roof, Seconds};
use crate::setup::Setup;
use crate::step::Phase;
use crate::tally::{HiddenSide, OperatorPlace, Tally, TallyRow};
use crate::workload::Workload;

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
#[serde(from = "FlatKvFacts")]
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
#[serde(from = "FlatPhaseFacts")]
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
        bytes: work.bytes.into(),
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
        bytes: work.bytes.into(),
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
        bytes: work.bytes.into(),
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

fn encoder_part(model: &Model, number: usize) -> Option<&EncoderPart> {
    model.encoder.as_ref().and_then(|encoder| encoder.parts.get(number))
}

fn place_name(model: &Model, place: OperatorPlace) -> String {
    match place {
        OperatorPlace::Vision(stage) => {
            let stages = model.vision.as_ref().map(|tower| &tower.stages);
            stages.and_then(|stages| stages.get(stage)).map_or("vision", |stage| stage.name).to_owned()
        }
        OperatorPlace::Encoder(number) => encoder_part(model, number).map_or_else(String::new, |part| {
            if part.at.is_empty() {
                part.name.to_owned()
            } else {
                format!("{} {}", part.name, ranges(&part.at))
            }
        }),
        OperatorPlace::Before => "embedding".to_owned(),
        OperatorPlace::Kind(kind) => model.kinds.get(kind).map_or_else(String::new, |kind| ranges(&kind.at)),
        OperatorPlace::Draft(number) => format!("draft {number}"),
        OperatorPlace::After => "head".to_owned(),
    }
}

/// Numbers in order as ranges: `0-2, 5`, or every so many: `3-47 by 4`.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    if let [first, second, .., last] = numbers {
        let by = second - first;
        if by > 1 && numbers.windows(2).all(|pair| pair[1] - pair[0] == by) {
            return format!("{first}-{last} by {by}");
        }
    }
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(start, end): &(u32, u32)| match start == end {
        true => start.to_string(),
        false => format!("{start}-{end}"),
    };
    let shown: Vec<String> = parts.iter().take(12).map(part).collect();
    let more =
        if parts.len() > 12 { format!(", … to {}", parts[parts.len() - 1].1) } else { String::new() };
    shown.join(", ") + &more
}

// Serde reads flattened fields by way of a value that has no 128-bit numbers. The types below list the fields in full for
// reading; writing uses the types themselves.

#[derive(Deserialize, JsonSchema)]
struct FlatKvFacts {
    dtype: Cow<'static, str>,
    #[serde(default)]
    state_dtype: Cow<'static, str>,
    bytes_per_token: u128,
    windows: Vec<Window>,
    bytes_per_sequence: u128,
    #[serde(default)]
    bytes_per_media_token: u128,
}

impl From<FlatKvFacts> for KvFacts {
    fn from(flat: FlatKvFacts) -> Self {
        let FlatKvFacts {
            dtype,
            state_dtype,
            bytes_per_token,
            windows,
            bytes_per_sequence,
            bytes_per_media_token,
        } = flat;
        let cache = Cache { bytes_per_token, windows, bytes_per_sequence, bytes_per_media_token };
        KvFacts { dtype, state_dtype, cache }
    }
}

#[derive(Deserialize, JsonSchema)]
struct FlatPhaseFacts {
    phase: Phase,
    steps: u64,
    tokens: u128,
    flops: Flops,
    vector_flops: u128,
    bytes: AllBytes,
    link_bytes: u128,
    #[serde(default)]
    inter_node_bytes: u128,
    intensity: Option<f64>,
    seconds: Option<f64>,
    estimate_s: Option<f64>,
    classes: BTreeMap<Cow<'static, str>, ClassTotals>,
    time: Option<PhaseTime>,
    #[serde(default)]
    stages: Vec<StageCost>,
    layers: Vec<LayerCost>,
    operators: Vec<OperatorFacts>,
}

impl From<FlatPhaseFacts> for PhaseFacts {
    fn from(flat: FlatPhaseFacts) -> Self {
        PhaseFacts {
            phase: flat.phase,
            steps: flat.steps,
            tokens: flat.tokens,
            totals: Totals {
                flops: flat.flops,
                vector_flops: flat.vector_flops,
                bytes: flat.bytes,
                link_bytes: flat.link_bytes,
                inter_node_bytes: flat.inter_node_bytes,
                intensity: flat.intensity,
                seconds: flat.seconds,
                estimate_s: flat.estimate_s,
                classes: flat.classes,
            },
            time: flat.time,
            stages: flat.stages,
            layers: flat.layers,
            operators: flat.operators,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5]), "0-2, 5");
        assert_eq!(ranges(&[3, 7, 11]), "3-11 by 4");
        assert_eq!(ranges(&[4]), "4");
        assert_eq!(ranges(&[]), "");
    }
}
