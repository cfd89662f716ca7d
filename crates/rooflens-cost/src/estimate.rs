//! The answer: what a workload costs on a device, with everything it rests on.

use serde::Serialize;

use crate::hardware::Device;
use crate::memory::{Cache, Memory, cache, layers_in_stage, memory};
use crate::model::Model;
use crate::operator::Work;
use crate::precision::Dtype;
use crate::roof::{Limit, Roof, Seconds};
use crate::routing::{Band, Touch};
use crate::setup::Setup;
use crate::step::{Phase, Step};
use crate::tally::{Place, Row, Tally};
use crate::workload::{Workload, WorkloadError};

/// What cannot be estimated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EstimateError {
    /// The workload is out of bounds.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The devices cannot be dealt out so.
    #[error("{reason}")]
    Parallel {
        /// Why.
        reason: String,
    },
    /// The device has no bandwidth or no rate of matrix products.
    #[error("{device}: {missing} is not known, so there is no roofline")]
    NoRoof {
        /// The device.
        device: String,
        /// What is not known.
        missing: &'static str,
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
    /// What the model keeps for each sequence, all devices together.
    pub cache: Cache,
    /// What the fullest device holds.
    pub memory: Memory,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
}

/// What a phase costs on the busiest device of a stage; all stages together.
#[derive(Debug, Clone)]
pub struct PhaseCost {
    /// What it does.
    pub phase: Phase,
    /// Sequences of one replica, new tokens of each, and steps.
    pub steps: u64,
    /// New tokens of all sequences of all replicas.
    pub tokens: u128,
    /// Its operators.
    pub tally: Tally,
    /// Times, where there is a device.
    pub time: Option<PhaseTime>,
}

/// Times of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseTime {
    /// The least time from the first operator to the last, by how experts may be chosen.
    pub seconds: f64,
    /// The same if all tokens choose the same experts, and if all choose as differently as can be.
    pub band: Band,
    /// Seconds between two batches when a pipeline is full: those of its slowest stage.
    pub interval_s: f64,
    /// What takes most of the time.
    pub limit: Limit,
    /// Useful operations over what the matrix units could do in the time: no run can have a higher MFU.
    pub mfu_ceiling: f64,
    /// Bytes over what memory could move in the time: no run can have a higher MBU.
    pub mbu_ceiling: f64,
    /// New tokens a second of all replicas, one batch at a time.
    pub tokens_per_s: f64,
    /// The most energy that all devices take for a new token, if each draws what it is designed for.
    pub joules_per_token: Option<f64>,
    /// The share of a pipeline that waits while it fills and empties.
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
    /// assert!((time.seconds * 1e3 - 4.561).abs() < 0.02); // milliseconds a token, by memory
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(
        model: &Model,
        setup: &Setup,
        workload: &Workload,
        device: Option<&Device>,
    ) -> Result<Self, EstimateError> {
        workload.check()?;
        if let Some(reason) = setup.parallel.fault(model.depth) {
            return Err(EstimateError::Parallel { reason });
        }
        let roof = device.map(roof_of).transpose()?;
        let mut phases = Vec::new();
        let mut media = 0;
        if let Some(images) = &workload.images {
            let no_tower =
                || EstimateError::Images { reason: format!("{} has no vision tower", model.architecture) };
            let tower = model.vision.as_ref().ok_or_else(no_tower)?;
            let fault = |reason: String| EstimateError::Images { reason };
            media = tower.tokens(images).map_err(fault)?;
            let passes = tower.passes(images).map_err(fault)?;
            phases.push(vision_cost(model, setup, workload, &passes, media, roof.as_ref(), device));
        }
        let sequences = setup.sequences(workload.batch);
        for phase in workload.phases() {
            let steps = workload.steps(phase, sequences, media);
            phases.push(phase_cost(model, setup, workload, phase, &steps, roof.as_ref(), device));
        }
        let vision_rows = phases.iter().filter(|phase| phase.phase == Phase::Vision);
        let vision_rows = vision_rows.flat_map(|phase| &phase.tally.rows);
        let vision_activations =
            vision_rows.map(|row| row.operator.work.bytes.activations).max().unwrap_or(0);
        let mut formats: Vec<Dtype> = Vec::new();
        for row in phases.iter().flat_map(|phase| &phase.tally.rows) {
            let dtype = row.operator.storage.compute;
            if row.operator.work.flops.useful > 0 && !formats.contains(&dtype) {
                formats.push(dtype);
            }
        }
        let mut assumptions = crate::assumptions::of(model, setup, workload, device, &formats);
        if let Some(roof) = &roof {
            assumptions.extend(roof.notes.iter().cloned());
        }
        Ok(Self {
            phases,
            cache: cache(model, setup),
            memory: memory(model, setup, workload, media, vision_activations, device),
            assumptions,
        })
    }

    /// The work of all phases on the busiest device.
    #[must_use]
    pub fn work(&self) -> Work {
        self.phases.iter().fold(Work::default(), |sum, phase| sum + phase.tally.work())
    }

    /// The least time of all phases.
    #[must_use]
    pub fn seconds(&self) -> Option<f64> {
        self.phases.iter().map(|phase| phase.time.map(|time| time.seconds)).sum()
    }
}

/// The roof of a device, or what is missing for one.
pub fn roof_of(device: &Device) -> Result<Roof, EstimateError> {
    Roof::of(device).ok_or_else(|| EstimateError::NoRoof {
        device: device.name.clone(),
        missing: if device.bandwidth_bytes_per_s.is_none() { "memory bandwidth" } else { "any matrix rate" },
    })
}

fn tally(
    model: &Model,
    setup: &Setup,
    steps: &[Step],
    roof: Option<&Roof>,
    touch: Touch,
    draft: u64,
) -> Tally {
    let mut tally = Tally::default();
    let mut buffer = Vec::new();
    for step in steps {
        let pass = setup.pass(model, *step, 0, touch);
        tally.add(model, &pass, roof, &mut buffer);
        tally.add_drafts(model, &pass, draft, roof);
        if let Some(roof) = roof {
            let crossed = pass.activation_bytes(step.tokens() * u128::from(model.hidden));
            tally.between_stages_s += (setup.parallel.pp - 1) as f64 * crossed as f64 / roof.link;
        }
    }
    tally
}

fn phase_cost(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    phase: Phase,
    steps: &[Step],
    roof: Option<&Roof>,
    device: Option<&Device>,
) -> PhaseCost {
    let draft = match phase {
        Phase::Decode => workload.decode.map_or(0, |decode| decode.draft),
        _ => 0,
    };
    let expected = tally(model, setup, steps, roof, Touch::Expected, draft);
    let tokens = steps.iter().map(|step| u128::from(step.new)).sum::<u128>() * u128::from(workload.batch);
    let time = roof.map(|roof| {
        let seconds = expected.seconds();
        let has_experts = model.language_parameters().routed > 0;
        let end = |touch| match has_experts {
            true => tally(model, setup, steps, Some(roof), touch, draft).seconds(),
            false => seconds,
        };
        let band = Band { min: end(Touch::Min), expected: seconds, max: end(Touch::Max) };
        phase_time(model, setup, steps.len() as u64, tokens, &expected, band, device)
    });
    PhaseCost { phase, steps: steps.len() as u64, tokens, tally: expected, time }
}

fn vision_cost(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    passes: &[(usize, u64, Step)],
    media: u64,
    roof: Option<&Roof>,
    device: Option<&Device>,
) -> PhaseCost {
    // Every sequence of the batch has its own images.
    let sequences = setup.sequences(workload.batch);
    let passes: Vec<(usize, u64, Step)> = passes
        .iter()
        .map(|(stage, layers, step)| {
            (*stage, *layers, Step { sequences: step.sequences * sequences, ..*step })
        })
        .collect();
    // Towers are small and stand whole on each device.
    let whole = Setup { parallel: crate::parallel::Parallel::NONE, ..setup.clone() };
    let mut tally = Tally::default();
    tally.add_vision(model, &whole.pass(model, Step::vision(1, 1), 0, Touch::Expected), &passes, roof);
    let tokens = u128::from(media) * u128::from(workload.batch);
    let time = roof.map(|_| {
        let seconds = tally.seconds();
        let band = Band { min: seconds, expected: seconds, max: seconds };
        phase_time(model, &whole, 1, tokens, &tally, band, device)
    });
    PhaseCost { phase: Phase::Vision, steps: 1, tokens, tally, time }
}

/// Seconds of the slowest stage of the pipeline, with the transfer to the next.
fn slowest_stage(model: &Model, setup: &Setup, tally: &Tally) -> f64 {
    let stages = setup.parallel.pp.max(1);
    let transfers = tally.between_stages_s / (stages.max(2) - 1) as f64;
    let of_stage = |stage: u64| {
        let last = stage + 1 == stages;
        let layers = |row: &Row| match row.place {
            Place::Vision(_) | Place::Before => {
                if stage == 0 {
                    row.layers
                } else {
                    0
                }
            }
            Place::Kind(kind) => {
                model.kinds.get(kind).map_or(0, |kind| layers_in_stage(model, setup, stage, &kind.at))
            }
            Place::Draft(_) | Place::After => {
                if last {
                    row.layers
                } else {
                    0
                }
            }
        };
        tally.rows.iter().map(|row| row.seconds.bound * layers(row) as f64).sum::<f64>()
    };
    let slowest = (0..stages).map(of_stage).fold(0.0, f64::max);
    if stages > 1 { slowest + transfers } else { slowest }
}

fn phase_time(
    model: &Model,
    setup: &Setup,
    steps: u64,
    tokens: u128,
    tally: &Tally,
    band: Band,
    device: Option<&Device>,
) -> PhaseTime {
    let seconds = band.expected;
    let mut sum = Seconds::default();
    let mut by_limit =
        [(Limit::Memory, 0.0), (Limit::Compute, 0.0), (Limit::Vector, 0.0), (Limit::Link, 0.0)];
    for row in &tally.rows {
        let layers = row.layers as f64;
        sum.compute += row.seconds.compute * layers;
        sum.memory += row.seconds.memory * layers;
        for (limit, time) in &mut by_limit {
            if *limit == row.seconds.limit() {
                *time += row.seconds.bound * layers;
            }
        }
    }
    let limit =
        by_limit.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(Limit::Memory, |(limit, _)| limit);
    let stages = setup.parallel.pp.max(1) as f64;
    let of_time = |part: f64| if seconds > 0.0 { part / seconds } else { 0.0 };
    let devices = setup.parallel.devices() as f64;
    let tokens = tokens as f64;
    PhaseTime {
        seconds,
        band,
        interval_s: slowest_stage(model, setup, tally),
        limit,
        mfu_ceiling: of_time(sum.compute),
        mbu_ceiling: of_time(sum.memory),
        tokens_per_s: if seconds > 0.0 { tokens / seconds } else { 0.0 },
        joules_per_token: device
            .and_then(|device| device.tdp_watts)
            .filter(|_| tokens > 0.0)
            .map(|watts| watts * devices * seconds / tokens),
        bubble: (stages - 1.0) / (steps as f64 + stages - 1.0),
    }
}
