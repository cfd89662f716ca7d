//! The answer: what a workload costs on a device, with everything it rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoder::{Encoder, ModelWorkload};
use crate::figures::{Figure, Figures};
use crate::hardware::Device;
use crate::layout::{Refusal, refusals};
use crate::memory::{Cache, MemoryFootprint, cache, layers_in_stage, memory};
use crate::model::Model;
use crate::operator::Work;
use crate::practice::Assumed;
use crate::precision::Dtype;
use crate::roof::{Limit, Seconds};
use crate::routing::{Band, Touch};
use crate::setup::{Setup, VisionSharding};
use crate::step::{Mask, Phase, Step};
use crate::tally::{OperatorPlace, Spent, Tally, TallyRow};
use crate::units::{Slice, Unit};
use crate::workload::{Prefill, Workload, WorkloadError};

/// What cannot be estimated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    /// The workload is out of bounds.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The model cannot be sharded so.
    #[error("{reason}")]
    Parallel {
        /// Why.
        reason: String,
    },
    /// The device has no bandwidth or no rate of matmuls.
    #[error("{device}: {missing} is not known, so there is no roofline")]
    NoRoof {
        /// The device.
        device: String,
        /// What is not known.
        missing: &'static str,
    },
    /// An encoder that cannot read what it is given, or that the model does not have.
    #[error("encoder: {reason}")]
    Encoder {
        /// Why.
        reason: String,
    },
    /// Images, for a model without a vision tower, or of a size that it does not take.
    #[error("images: {reason}")]
    Images {
        /// Why.
        reason: String,
    },
}

/// What a workload costs.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Each phase, in order.
    pub phases: Vec<PhaseCost>,
    /// Tokens that the images of each sequence add to its prompt.
    pub(crate) image_tokens: u64,
    /// Positions of the encoder that each sequence's decoder attends to; 0 without an encoder.
    pub encoder_tokens: u64,
    /// Whether the prompt is what the encoder reads.
    pub(crate) encodes_prompt: bool,
    /// What the model keeps for each sequence, all devices together.
    pub cache: Cache,
    /// What the fullest device holds.
    pub memory: MemoryFootprint,
    /// Why engines refuse to shard the model so; nothing where they do not.
    pub refused: Vec<Refusal>,
    /// The estimate's assumptions; none without a device.
    pub(crate) assumed: Option<Assumed>,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
}

/// What a phase costs on the busiest device of a stage; all stages together.
#[derive(Debug, Clone)]
pub struct PhaseCost {
    /// What it does.
    pub phase: Phase,
    /// Sequences of one replica, new tokens of each, and steps.
    pub(crate) steps: u64,
    /// New tokens of all sequences of all replicas.
    pub(crate) tokens: u128,
    /// Its operators, as the bound counts them.
    pub tally: Tally,
    /// Its operators, as the estimate counts them.
    pub(crate) estimated: Tally,
    /// Times, where there is a device.
    pub time: Option<PhaseTime>,
}

/// Times of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseTime {
    /// The lower bound from the first operator to the last, by how experts may be chosen: no implementation
    /// is faster.
    pub seconds: f64,
    /// What an implementation takes under the stated assumptions.
    #[serde(default)]
    pub estimate_s: f64,
    /// The bound if all tokens choose the same experts, and if all choose as differently as can be.
    pub band: Band,
    /// Seconds between two batches when a pipeline is full: the bound of its slowest stage.
    pub(crate) interval_s: f64,
    /// What takes most of the bound.
    pub limit: Limit,
    /// Useful operations over what the matrix units could do in the bound: no run can have a higher MFU.
    pub mfu_ceiling: f64,
    /// Bytes over what memory could move in the bound: no run can have a higher MBU.
    pub mbu_ceiling: f64,
    /// New tokens a second of all replicas at the bound, one batch at a time: no run makes more.
    pub tokens_per_s: f64,
    /// New tokens a second of all replicas under the stated assumptions, one batch at a time.
    #[serde(default)]
    pub estimate_tokens_per_s: f64,
    /// The energy that all devices take for a new token in the estimated time, if each draws its TDP.
    pub joules_per_token: Option<f64>,
    /// Pipeline bubble: the fraction of time that a pipeline is idle while it fills and drains.
    pub bubble: f64,
}

impl Estimate {
    /// Estimates `workload` for `model`, run by `setup`, on devices of a kind.
    ///
    /// ```
    /// use rooflens_cost::{Estimate, Model, Setup, Workload, hardware::Catalog};
    /// let config = br#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
    ///     "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
    ///     "vocab_size": 128256, "torch_dtype": "bfloat16"}"#;
    /// let model = Model::from_json(config)?;
    /// let h100 = Catalog::embedded().find("H100 SXM")?;
    /// let estimate = Estimate::new(&model, &Setup::default(), &Workload::decode(1, 2048), Some(h100))?;
    /// let time = estimate.phases[0].time.unwrap();
    /// assert!((time.seconds * 1e3 - 4.561).abs() < 0.02); // milliseconds per token, bound by memory
    /// assert!(time.estimate_s > time.seconds / 0.8); // at 80 % of the bandwidth, and launches
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        model: &Model,
        setup: &Setup,
        workload: &Workload,
        device: Option<&Device>,
    ) -> Result<Self, EstimateError> {
        let ModelWorkload { decoder, positions, encodes } = model.asked(workload)?;
        if let Some(reason) = setup.parallel.fault(model.depth) {
            return Err(EstimateError::Parallel { reason });
        }
        let figures = figures_of(setup, device)?;
        let mut phases = Vec::new();
        if let Some(encoder) = model.encoder.as_ref().filter(|_| encodes) {
            phases.push(encoder_cost(model, encoder, workload, positions, &figures, device));
        }
        let mut media = 0;
        if let Some(images) = &workload.images {
            let no_tower =
                || EstimateError::Images { reason: format!("{} has no vision tower", model.architecture) };
            let tower = model.vision.as_ref().ok_or_else(no_tower)?;
            let fault = |reason: String| EstimateError::Images { reason };
            media = tower.tokens(images).map_err(fault)?;
            let passes = tower.passes(images).map_err(fault)?;
            phases.push(vision_cost(model, workload, &passes, media, &figures, device));
        }
        let (asked, seen) = with_images(model, &decoder, media)?;
        let seen = seen.max(positions);
        let sequences = setup.sequences(asked.batch);
        for phase in asked.phases() {
            let steps = asked.steps(phase, sequences, seen);
            phases.push(phase_cost(model, &asked, phase, &steps, &figures, device));
        }
        let vision_rows = phases.iter().filter(|phase| phase.phase == Phase::Vision);
        let vision_rows = vision_rows.flat_map(|phase| &phase.estimated.rows);
        let vision_activations =
            vision_rows.map(|row| row.operator.work.bytes.activations).max().unwrap_or(0);
        let refused = refusals(model, setup);
        let formats = formats(&phases, &figures);
        let mut assumptions = crate::assumptions::of(model, setup, workload, positions, device, &formats);
        if let Some(roof) = &figures.bound.roof {
            assumptions.extend(roof.notes.iter().cloned());
        }
        Ok(Self {
            phases,
            image_tokens: media,
            encoder_tokens: positions,
            encodes_prompt: model.encoder.as_ref().is_some_and(Encoder::reads_prompt),
            cache: cache(model, setup),
            memory: memory(model, &figures.estimate.setup, &asked, seen, vision_activations, device),
            refused,
            assumed: figures.assumed,
            assumptions,
        })
    }

    /// The work of all phases on the busiest device, as the bound counts it.
    #[must_use]
    pub fn work(&self) -> Work {
        self.phases.iter().fold(Work::default(), |sum, phase| sum + phase.tally.work())
    }

    /// The lower bound of all phases.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        self.phases.iter().map(|phase| phase.time.map(|time| time.seconds)).sum()
    }

    /// The estimated time of all phases.
    #[must_use]
    pub fn estimate_s(&self) -> Option<f64> {
        self.phases.iter().map(|phase| phase.time.map(|time| time.estimate_s)).sum()
    }
}

/// Both figures of a setup, or what is missing for them.
pub fn figures_of(setup: &Setup, device: Option<&Device>) -> Result<Figures, EstimateError> {
    let Some(device) = device else { return Ok(Figures::without_device(setup)) };
    Figures::on(device, setup).ok_or_else(|| EstimateError::NoRoof {
        device: device.name.clone(),
        missing: if device.bandwidth_bytes_per_s.is_none() { "memory bandwidth" } else { "any matrix rate" },
    })
}

/// The workload of the language model, and the tokens that its layers attend to beside it. Tokens of images
/// stand in the prompt, unless the model attends to them by cross-attention.
fn with_images(model: &Model, workload: &Workload, media: u64) -> Result<(Workload, u64), WorkloadError> {
    let units = || model.kinds.iter().flat_map(|kind| &kind.layer.units);
    let is_cross = |unit: &Unit| matches!(unit, Unit::Attention(attention) if attention.mask == Mask::Cross);
    if units().any(is_cross) {
        return Ok((workload.clone(), media));
    }
    let longer = |prefill: Prefill| Prefill { tokens: prefill.tokens.saturating_add(media), ..prefill };
    let longer = Workload { prefill: workload.prefill.map(longer), ..workload.clone() };
    longer.check()?;
    Ok((longer, 0))
}

/// Formats that matmuls are made in.
fn formats(phases: &[PhaseCost], figures: &Figures) -> Vec<Dtype> {
    let mut formats: Vec<Dtype> = Vec::new();
    for row in phases.iter().flat_map(|phase| &phase.tally.rows) {
        let storage = &row.operator.storage;
        let dtype = figures.bound.roof.as_ref().map_or(storage.compute, |roof| roof.compute_format(storage));
        if row.operator.work.flops.useful > 0 && !formats.contains(&dtype) {
            formats.push(dtype);
        }
    }
    formats
}

fn tally(model: &Model, figure: &Figure, steps: &[Step], touch: Touch, draft: u64) -> Tally {
    let mut tally = Tally::default();
    let mut buffer = Vec::new();
    let roof = figure.roof.as_ref();
    for step in steps {
        let pass = figure.setup.pass(model, *step, 0, touch);
        tally.add(model, &pass, roof, &mut buffer);
        tally.add_drafts(model, &pass, draft, roof);
        let crossed = pass.activation_bytes(crossing(model, step) * u128::from(model.hidden));
        tally.between_stages_s += figure.between_stages(crossed);
    }
    tally
}

/// Tokens that go from stage to stage in a step: the new ones, and in the decoder's first pass the positions
/// of the encoder, which stands in the first stage.
pub(crate) fn crossing(model: &Model, step: &Step) -> u128 {
    let encoded = if model.encoder.is_some() && step.past == 0 { step.media } else { 0 };
    step.tokens() + u128::from(step.sequences) * u128::from(encoded)
}

fn encoder_cost(
    model: &Model,
    encoder: &Encoder,
    workload: &Workload,
    positions: u64,
    figures: &Figures,
    device: Option<&Device>,
) -> PhaseCost {
    let of = |figure: &Figure| {
        let step = Step::encoder(figure.setup.sequences(workload.batch), positions);
        let mut tally = Tally::default();
        let pass = figure.setup.pass(model, step, 0, Touch::Expected);
        tally.add_encoder(encoder, &pass, figure.roof.as_ref());
        tally
    };
    let tokens = u128::from(positions) * u128::from(workload.batch);
    ahead(model, Phase::Encoder, tokens, (of(&figures.bound), of(&figures.estimate)), figures, device)
}

/// The cost of what runs before the first stage, where nothing passes through a pipeline.
fn ahead(
    model: &Model,
    phase: Phase,
    tokens: u128,
    (tally, estimated): (Tally, Tally),
    figures: &Figures,
    device: Option<&Device>,
) -> PhaseCost {
    let time = device.map(|device| {
        let seconds = figures.bound.seconds(tally.spent());
        let band = Band { min: seconds, expected: seconds, max: seconds };
        let counted = Counted { steps: 1, tokens, tally: &tally, estimated: &estimated };
        let time = phase_time(model, figures, counted, band, device);
        PhaseTime { interval_s: seconds, bubble: 0.0, ..time }
    });
    PhaseCost { phase, steps: 1, tokens, tally, estimated, time }
}

fn phase_cost(
    model: &Model,
    workload: &Workload,
    phase: Phase,
    steps: &[Step],
    figures: &Figures,
    device: Option<&Device>,
) -> PhaseCost {
    let draft = match phase {
        Phase::Decode => workload.decode.map_or(0, |decode| decode.draft),
        _ => 0,
    };
    let expected = tally(model, &figures.bound, steps, Touch::Expected, draft);
    let estimated = tally(model, &figures.estimate, steps, Touch::Expected, draft);
    let tokens = steps.iter().map(|step| u128::from(step.new)).sum::<u128>() * u128::from(workload.batch);
    let time = device.map(|device| {
        let seconds = figures.bound.seconds(expected.spent());
        let has_experts = model.language_parameters().routed > 0;
        let end = |touch| match has_experts {
            true => figures.bound.seconds(tally(model, &figures.bound, steps, touch, draft).spent()),
            false => seconds,
        };
        let band = Band { min: end(Touch::Min), expected: seconds, max: end(Touch::Max) };
        let counted = Counted { steps: steps.len() as u64, tokens, tally: &expected, estimated: &estimated };
        phase_time(model, figures, counted, band, device)
    });
    PhaseCost { phase, steps: steps.len() as u64, tokens, tally: expected, estimated, time }
}

fn vision_cost(
    model: &Model,
    workload: &Workload,
    passes: &[(usize, u64, Step)],
    media: u64,
    figures: &Figures,
    device: Option<&Device>,
) -> PhaseCost {
    // Every sequence of the batch has its own images.
    let sequences = figures.bound.setup.sequences(workload.batch);
    let tp = figures.bound.setup.parallel.tp;
    let whole = figures.bound.setup.vision == VisionSharding::Data;
    let passes: Vec<(usize, u64, Step)> = passes
        .iter()
        .map(|(stage, layers, step)| {
            let images = step.sequences * sequences;
            // The device with the most images, where each has some of them.
            let images = if whole { Slice { of: tp, rank: 0 }.part(images) } else { images };
            (*stage, *layers, Step { sequences: images, ..*step })
        })
        .collect();
    let of = |figure: &Figure| {
        let setup = vision_setup(&figure.setup);
        let pass = setup.pass(model, Step::vision(1, 1), 0, Touch::Expected);
        let mut tally = Tally::default();
        tally.add_vision(model, &pass, &passes, figure.roof.as_ref());
        tally
    };
    let tokens = u128::from(media) * u128::from(workload.batch);
    ahead(model, Phase::Vision, tokens, (of(&figures.bound), of(&figures.estimate)), figures, device)
}

/// How a vision tower is sharded: over the devices of tensor parallelism, or not at all.
pub(crate) fn vision_setup(setup: &Setup) -> Setup {
    let tp = match setup.vision {
        VisionSharding::Tensor => setup.parallel.tp,
        VisionSharding::Data => 1,
    };
    Setup { parallel: crate::parallel::Parallel { tp, ..crate::parallel::Parallel::NONE }, ..setup.clone() }
}

/// The bound of the slowest stage of the pipeline, with the transfer to the next.
fn slowest_stage(model: &Model, figure: &Figure, tally: &Tally) -> f64 {
    let stages = figure.setup.parallel.pp.max(1);
    let transfers = tally.between_stages_s / (stages.max(2) - 1) as f64;
    let of_stage = |stage: u64| {
        let last = stage + 1 == stages;
        let layers =
            |row: &TallyRow| match row.place {
                OperatorPlace::Vision(_) | OperatorPlace::Encoder(_) | OperatorPlace::Before => {
                    if stage == 0 { row.layers } else { 0 }
                }
                OperatorPlace::Kind(kind) => model
                    .kinds
                    .get(kind)
                    .map_or(0, |kind| layers_in_stage(model, &figure.setup, stage, &kind.at)),
                OperatorPlace::Draft(_) | OperatorPlace::After => {
                    if last {
                        row.layers
                    } else {
                        0
                    }
                }
            };
        let mut spent = Spent { local_s: 0.0, link_s: if stages > 1 { transfers } else { 0.0 } };
        tally.rows.iter().for_each(|row| spent.add(&row.seconds, layers(row) as f64));
        figure.seconds(spent)
    };
    (0..stages).map(of_stage).fold(0.0, f64::max)
}

/// What was counted of a phase.
#[derive(Clone, Copy)]
struct Counted<'a> {
    steps: u64,
    tokens: u128,
    tally: &'a Tally,
    estimated: &'a Tally,
}

fn phase_time(
    model: &Model,
    figures: &Figures,
    counted: Counted<'_>,
    band: Band,
    device: &Device,
) -> PhaseTime {
    let seconds = band.expected;
    let estimate_s = figures.estimate.seconds(counted.estimated.spent());
    let mut sum = Seconds::default();
    let mut by_limit = [(Limit::Memory, 0.0), (Limit::Compute, 0.0), (Limit::Vector, 0.0)];
    for row in &counted.tally.rows {
        let layers = row.layers as f64;
        sum.compute += row.seconds.compute * layers;
        sum.memory += row.seconds.memory * layers;
        for (limit, time) in &mut by_limit {
            if *limit == row.seconds.limit() {
                *time += row.seconds.bound * layers;
            }
        }
    }
    let spent = counted.tally.spent();
    let local =
        by_limit.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Limit::Memory, |(limit, _)| limit);
    let parallel = figures.bound.setup.parallel;
    let stages = parallel.pp.max(1) as f64;
    let of_time = |part: f64| if seconds > 0.0 { part / seconds } else { 0.0 };
    let tokens = counted.tokens as f64;
    let rate = |seconds: f64| if seconds > 0.0 { tokens / seconds } else { 0.0 };
    let energy = |watts: f64| watts * parallel.devices() as f64 * estimate_s / tokens;
    PhaseTime {
        seconds,
        estimate_s,
        band,
        interval_s: slowest_stage(model, &figures.bound, counted.tally),
        // Communication is overlapped: it is the limit where it takes longer than all else together.
        limit: if spent.link_s > spent.local_s { Limit::Link } else { local },
        mfu_ceiling: of_time(sum.compute),
        mbu_ceiling: of_time(sum.memory),
        tokens_per_s: rate(seconds),
        estimate_tokens_per_s: rate(estimate_s),
        joules_per_token: device.tdp_watts.filter(|_| tokens > 0.0).map(energy),
        bubble: (stages - 1.0) / (counted.steps as f64 + stages - 1.0),
    }
}
