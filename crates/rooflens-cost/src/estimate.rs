//! The answer: what a workload costs on a device, with everything it rests on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoder::ModelWorkload;
use crate::figures::{Figure, Figures};
use crate::hardware::Device;
use crate::layout::{Refusal, refusals};
use crate::memory::{Cache, MemoryFootprint, cache, layers_in_stage, memory};
use crate::model::{Encoder, Model};
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

pub use crate::workload::EstimateError;

/// What a workload costs.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Each phase, in order.
    pub phases: Vec<PhaseCost>,
    pub(crate) image_tokens: u64,
    /// Positions of the encoder that each sequence's decoder attends to; 0 without an encoder.
    pub encoder_tokens: u64,
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
    pub(crate) steps: u64,
    pub(crate) tokens: u128,
    /// Its operators, as the bound counts them.
    pub tally: Tally,
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
        setup.parallel.fault(model.depth).map_or(Ok(()), |reason| Err(EstimateError::Parallel(reason)))?;
        let figures = figures_of(setup, device)?;
        let costs = Costs { model, figures: &figures, device, batch: workload.batch };
        let mut phases = Vec::new();
        if let Some(encoder) = model.encoder.as_ref().filter(|_| encodes) {
            phases.push(costs.of_encoder(encoder, positions));
        }
        let mut media = 0;
        if let Some(images) = &workload.images {
            let no_tower = || EstimateError::Images(format!("{} has no vision tower", model.architecture));
            let tower = model.vision.as_ref().ok_or_else(no_tower)?;
            media = tower.tokens(images).map_err(EstimateError::Images)?;
            let passes = tower.passes(images).map_err(EstimateError::Images)?;
            phases.push(costs.of_vision(&passes, media));
        }
        let (asked, seen) = with_images(model, &decoder, media)?;
        let seen = seen.max(positions);
        let sequences = setup.sequences(asked.batch);
        for phase in asked.phases() {
            let draft = asked.decode.filter(|_| phase == Phase::Decode).map_or(0, |decode| decode.draft);
            phases.push(costs.of_phase(phase, &asked.steps(phase, sequences, seen), draft));
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
    pub fn work(&self) -> Work {
        self.phases.iter().fold(Work::default(), |sum, phase| sum + phase.tally.work())
    }

    /// The lower bound of all phases.
    pub fn seconds(&self) -> Option<f64> {
        self.phases.iter().map(|phase| phase.time.map(|time| time.seconds)).sum()
    }

    /// The estimated time of all phases.
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
    let is_cross = |unit: &Unit| matches!(unit, Unit::Attention(attention) if attention.mask == Mask::Cross);
    if model.units().any(is_cross) {
        return Ok((workload.clone(), media));
    }
    let longer = |prefill: Prefill| Prefill { tokens: prefill.tokens.saturating_add(media), ..prefill };
    let longer = Workload { prefill: workload.prefill.map(longer), ..workload.clone() };
    longer.check()?;
    Ok((longer, 0))
}

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

/// What the costs of all phases rest on.
struct Costs<'a> {
    model: &'a Model,
    figures: &'a Figures,
    device: Option<&'a Device>,
    /// Sequences of all replicas.
    batch: u64,
}

impl Costs<'_> {
    fn of_encoder(&self, encoder: &Encoder, positions: u64) -> PhaseCost {
        self.ahead(Phase::Encoder, positions, |figure| {
            let step = Step::encoder(figure.setup.sequences(self.batch), positions);
            let mut tally = Tally::default();
            let pass = figure.setup.pass(self.model, step, 0, Touch::Expected);
            tally.add_encoder(encoder, &pass, figure.roof.as_ref());
            tally
        })
    }

    fn of_vision(&self, passes: &[(usize, u64, Step)], media: u64) -> PhaseCost {
        // Every sequence of the batch has its own images.
        let setup = &self.figures.bound.setup;
        let sequences = setup.sequences(self.batch);
        let scaled = |(stage, layers, step): &(usize, u64, Step)| {
            let images = step.sequences * sequences;
            // The device with the most images, where each has some of them.
            let images = match setup.vision {
                VisionSharding::Data => Slice { of: setup.parallel.tp, rank: 0 }.part(images),
                VisionSharding::Tensor => images,
            };
            (*stage, *layers, Step { sequences: images, ..*step })
        };
        let passes: Vec<(usize, u64, Step)> = passes.iter().map(scaled).collect();
        self.ahead(Phase::Vision, media, |figure| {
            let setup = figure.setup.of_vision();
            let pass = setup.pass(self.model, Step::vision(1, 1), 0, Touch::Expected);
            let mut tally = Tally::default();
            tally.add_vision(self.model, &pass, &passes, figure.roof.as_ref());
            tally
        })
    }

    /// The cost of what runs before the first stage, where nothing passes through a pipeline.
    fn ahead(&self, phase: Phase, tokens: u64, tally: impl Fn(&Figure) -> Tally) -> PhaseCost {
        let tokens = u128::from(tokens) * u128::from(self.batch);
        let (bound, estimated) = (tally(&self.figures.bound), tally(&self.figures.estimate));
        let mut cost = PhaseCost { phase, steps: 1, tokens, tally: bound, estimated, time: None };
        let seconds = self.figures.bound.seconds(cost.tally.spent());
        let band = Band { min: seconds, expected: seconds, max: seconds };
        let time = self.device.map(|device| self.time(&cost, band, device));
        cost.time = time.map(|time| PhaseTime { interval_s: seconds, bubble: 0.0, ..time });
        cost
    }

    fn of_phase(&self, phase: Phase, steps: &[Step], draft: u64) -> PhaseCost {
        let tally = |figure: &Figure, touch| tally(self.model, figure, steps, touch, draft);
        let bound = &self.figures.bound;
        let tokens = steps.iter().map(|step| u128::from(step.new)).sum::<u128>() * u128::from(self.batch);
        let mut cost = PhaseCost {
            phase,
            steps: steps.len() as u64,
            tokens,
            tally: tally(bound, Touch::Expected),
            estimated: tally(&self.figures.estimate, Touch::Expected),
            time: None,
        };
        cost.time = self.device.map(|device| {
            let expected = bound.seconds(cost.tally.spent());
            let has_experts = self.model.language_parameters().routed > 0;
            let end = |touch| if has_experts { bound.seconds(tally(bound, touch).spent()) } else { expected };
            self.time(&cost, Band { min: end(Touch::Min), expected, max: end(Touch::Max) }, device)
        });
        cost
    }

    fn time(&self, cost: &PhaseCost, band: Band, device: &Device) -> PhaseTime {
        let seconds = band.expected;
        let estimate_s = self.figures.estimate.seconds(cost.estimated.spent());
        let mut sum = Seconds::default();
        let mut by_limit = [(Limit::Memory, 0.0), (Limit::Compute, 0.0), (Limit::Vector, 0.0)];
        for row in &cost.tally.rows {
            let layers = row.layers as f64;
            sum.compute += row.seconds.compute * layers;
            sum.memory += row.seconds.memory * layers;
            for (limit, time) in &mut by_limit {
                if *limit == row.seconds.limit() {
                    *time += row.seconds.bound * layers;
                }
            }
        }
        let spent = cost.tally.spent();
        let local =
            by_limit.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Limit::Memory, |(limit, _)| limit);
        let parallel = self.figures.bound.setup.parallel;
        let stages = parallel.pp.max(1) as f64;
        let of_time = |part: f64| if seconds > 0.0 { part / seconds } else { 0.0 };
        let tokens = cost.tokens as f64;
        let rate = |seconds: f64| if seconds > 0.0 { tokens / seconds } else { 0.0 };
        let energy = |watts: f64| watts * parallel.devices() as f64 * estimate_s / tokens;
        PhaseTime {
            seconds,
            estimate_s,
            band,
            interval_s: slowest_stage(self.model, &self.figures.bound, &cost.tally),
            // Communication is overlapped: it is the limit where it takes longer than all else together.
            limit: if spent.link_s > spent.local_s { Limit::Link } else { local },
            mfu_ceiling: of_time(sum.compute),
            mbu_ceiling: of_time(sum.memory),
            tokens_per_s: rate(seconds),
            estimate_tokens_per_s: rate(estimate_s),
            joules_per_token: device.tdp_watts.filter(|_| tokens > 0.0).map(energy),
            bubble: (stages - 1.0) / (cost.steps as f64 + stages - 1.0),
        }
    }
}

/// The bound of the slowest stage of the pipeline, with the transfer to the next.
fn slowest_stage(model: &Model, figure: &Figure, tally: &Tally) -> f64 {
    let stages = figure.setup.parallel.pp.max(1);
    let transfers = tally.between_stages_s / (stages.max(2) - 1) as f64;
    let of_stage = |stage: u64| {
        let layers = |row: &TallyRow| match row.place {
            OperatorPlace::Kind(kind) => {
                let kind = model.kinds.get(kind);
                kind.map_or(0, |kind| layers_in_stage(model, &figure.setup, stage, &kind.at))
            }
            OperatorPlace::Draft(_) | OperatorPlace::After if stage + 1 < stages => 0,
            OperatorPlace::Vision(_) | OperatorPlace::Encoder(_) | OperatorPlace::Before if stage > 0 => 0,
            _ => row.layers,
        };
        let mut spent = Spent { local_s: 0.0, link_s: if stages > 1 { transfers } else { 0.0 } };
        tally.rows.iter().for_each(|row| spent.add(&row.seconds, layers(row) as f64));
        figure.seconds(spent)
    };
    (0..stages).map(of_stage).fold(0.0, f64::max)
}
