//! Many points quickly: one number of each kind for a workload, without the operators.

use serde::Serialize;

use crate::estimate::{Estimate, EstimateError, PhaseCost, PhaseTime};
use crate::hardware::Device;
use crate::memory::memory;
use crate::model::Model;
use crate::operator::{Operator, Work};
use crate::roof::{Limit, Roof};
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Phase;
use crate::tally::{Place, visit, visit_drafts};
use crate::workload::Workload;

/// What a workload costs, in a line: on the busiest device of each stage, all stages together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Useful operations of the matrix units.
    pub flops: u128,
    /// Bytes between memory and chip.
    pub bytes: u128,
    /// Bytes of weights among them.
    pub weight_bytes: u128,
    /// Bytes read of the cache among them.
    pub kv_read_bytes: u128,
    /// Useful operations for each byte.
    pub intensity: f64,
    /// Keys, values and states that the fullest device keeps.
    pub kv_bytes: u128,
    /// What the fullest device holds in all.
    pub memory_bytes: u128,
    /// Whether it fits; null where the device's memory is not known.
    pub fits: Option<bool>,
    /// The least time; null without a device.
    pub seconds: Option<f64>,
    /// New tokens a second, of all replicas.
    pub tokens_per_s: Option<f64>,
    /// What takes most of the time.
    pub limit: Option<Limit>,
    /// No run can have a higher MFU.
    pub mfu_ceiling: Option<f64>,
    /// No run can have a higher MBU.
    pub mbu_ceiling: Option<f64>,
}

/// A phase of a workload, in a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PhaseSummary {
    /// Which.
    pub phase: Phase,
    /// The least time; null without a device.
    pub seconds: Option<f64>,
    /// New tokens a second, of all replicas.
    pub tokens_per_s: Option<f64>,
    /// What takes most of the time.
    pub limit: Option<Limit>,
}

impl PhaseSummary {
    /// Those of an estimate.
    #[must_use]
    pub fn of(estimate: &Estimate) -> Vec<Self> {
        let line = |cost: &PhaseCost| Self {
            phase: cost.phase,
            seconds: cost.time.map(|time| time.seconds),
            tokens_per_s: cost.time.map(|time| time.tokens_per_s),
            limit: cost.time.map(|time| time.limit),
        };
        estimate.phases.iter().map(line).collect()
    }
}

/// What `workload` costs, without images, for which there is [`Summary::of`]. `buffer` only saves
/// allocations.
///
/// ```
/// use rooflens_cost::{Model, Setup, Workload, hardware::Catalog, roof::Roof, sweep::summary};
/// # let config = br#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
/// #     "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}"#;
/// let model = Model::from_json(config)?;
/// let device = Catalog::embedded().find("h200")?;
/// let roof = Roof::of(device);
/// let mut buffer = Vec::new();
/// for batch in [1, 2, 4, 8] {
///     let point = summary(&model, &Setup::default(), &Workload::decode(batch, 4096), Some(device), roof.as_ref(), &mut buffer)?;
///     assert!(point.seconds.is_some());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summary(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    device: Option<&Device>,
    roof: Option<&Roof>,
    buffer: &mut Vec<Operator>,
) -> Result<Summary, EstimateError> {
    workload.check()?;
    if let Some(reason) = setup.parallel.fault(model.depth) {
        return Err(EstimateError::Parallel { reason });
    }
    let sequences = setup.sequences(workload.batch);
    let mut work = Work::default();
    let (mut bound, mut compute, mut bytes_s) = (0.0, 0.0, 0.0);
    let mut by_limit = [0.0; 4];
    let mut tokens = 0;
    let mut between_stages = 0.0;
    let mut add = |_: Place, layers: u64, operators: &[Operator]| {
        for operator in operators {
            work += operator.work * u128::from(layers);
            if let Some(roof) = roof {
                let seconds = roof.seconds(operator).times(layers as f64);
                bound += seconds.bound;
                compute += seconds.compute;
                bytes_s += seconds.memory;
                by_limit[seconds.limit() as usize] += seconds.bound;
            }
        }
    };
    for phase in workload.phases() {
        let draft = match phase {
            Phase::Decode => workload.decode.map_or(0, |decode| decode.draft),
            _ => 0,
        };
        for step in workload.steps(phase, sequences, 0) {
            tokens += u128::from(step.new) * u128::from(workload.batch);
            let pass = setup.pass(model, step, 0, Touch::Expected);
            visit(model, &pass, buffer, &mut add);
            visit_drafts(model, &pass, draft, buffer, &mut add);
            if let Some(roof) = roof {
                let crossed = pass.activation_bytes(step.tokens() * u128::from(model.hidden));
                between_stages += (setup.parallel.pp - 1) as f64 * crossed as f64 / roof.link;
            }
        }
    }
    let bound: f64 = bound + between_stages;
    let memory = memory(model, setup, workload, 0, 0, device);
    let timed = |value: f64| roof.map(|_| value);
    let of_bound = |value: f64| if bound > 0.0 { value / bound } else { 0.0 };
    let limits = [Limit::Compute, Limit::Vector, Limit::Memory, Limit::Link];
    let limit = limits.into_iter().max_by(|a, b| by_limit[*a as usize].total_cmp(&by_limit[*b as usize]));
    let bytes = work.bytes.total();
    Ok(Summary {
        flops: work.flops.useful,
        bytes,
        weight_bytes: work.bytes.weights,
        kv_read_bytes: work.bytes.kv_read,
        intensity: if bytes > 0 { work.flops.useful as f64 / bytes as f64 } else { 0.0 },
        kv_bytes: memory.kv_bytes,
        memory_bytes: memory.total_bytes,
        fits: memory.fits,
        seconds: timed(bound),
        tokens_per_s: timed(of_bound(tokens as f64)),
        limit: roof.and(limit),
        mfu_ceiling: timed(of_bound(compute)),
        mbu_ceiling: timed(of_bound(bytes_s)),
    })
}

impl Summary {
    /// The line of an estimate.
    #[must_use]
    pub fn of(estimate: &Estimate) -> Self {
        let work = estimate.work();
        let bytes = work.bytes.total();
        let seconds = estimate.seconds();
        let times = || estimate.phases.iter().filter_map(|phase| phase.time);
        let weighted = |part: fn(&PhaseTime) -> f64| {
            let sum: f64 = times().map(|time| part(&time) * time.seconds).sum();
            seconds.map(|all| if all > 0.0 { sum / all } else { 0.0 })
        };
        let tokens: u128 = estimate
            .phases
            .iter()
            .filter(|phase| phase.phase != Phase::Vision)
            .map(|phase| phase.tokens)
            .sum();
        Self {
            flops: work.flops.useful,
            bytes,
            weight_bytes: work.bytes.weights,
            kv_read_bytes: work.bytes.kv_read,
            intensity: if bytes > 0 { work.flops.useful as f64 / bytes as f64 } else { 0.0 },
            kv_bytes: estimate.memory.kv_bytes,
            memory_bytes: estimate.memory.total_bytes,
            fits: estimate.memory.fits,
            seconds,
            tokens_per_s: seconds.filter(|seconds| *seconds > 0.0).map(|seconds| tokens as f64 / seconds),
            limit: times().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).map(|time| time.limit),
            mfu_ceiling: weighted(|time| time.mfu_ceiling),
            mbu_ceiling: weighted(|time| time.mbu_ceiling),
        }
    }
}
