//! Many points quickly: one number of each kind for a workload, without the operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::encoder::ModelWorkload;
use crate::estimate::{Estimate, EstimateError, PhaseCost, PhaseTime, crossing};
use crate::figures::{Figure, Figures};
use crate::hardware::Device;
use crate::memory::memory;
use crate::model::Model;
use crate::operator::{Operator, Work};
use crate::roof::{Limit, Roof};
use crate::routing::Touch;
use crate::step::{Phase, Step};
use crate::tally::{OperatorPlace, Spent, visit, visit_drafts, visit_encoder};
use crate::workload::Workload;

/// What a workload costs, in a line: on the busiest device of each stage, all stages together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostSummary {
    /// Model FLOPs.
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
    /// The lower bound of the time; null without a device.
    pub seconds: Option<f64>,
    /// The time under the estimate's assumptions; null without a device.
    pub estimate_s: Option<f64>,
    /// New tokens a second at the bound, of all replicas.
    pub tokens_per_s: Option<f64>,
    /// What takes most of the bound.
    pub limit: Option<Limit>,
    /// No run can have a higher MFU.
    pub mfu_ceiling: Option<f64>,
    /// No run can have a higher MBU.
    pub mbu_ceiling: Option<f64>,
}

/// A phase of a workload, in a line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseSummary {
    /// Which.
    pub phase: Phase,
    /// The lower bound of the time; null without a device.
    pub seconds: Option<f64>,
    /// The time under the estimate's assumptions; null without a device.
    pub estimate_s: Option<f64>,
    /// New tokens a second at the bound, of all replicas.
    pub tokens_per_s: Option<f64>,
    /// What takes most of the bound.
    pub limit: Option<Limit>,
}

impl PhaseSummary {
    /// Those of an estimate.
    pub fn of(estimate: &Estimate) -> Vec<Self> {
        let line = |cost: &PhaseCost| Self {
            phase: cost.phase,
            seconds: cost.time.map(|time| time.seconds),
            estimate_s: cost.time.map(|time| time.estimate_s),
            tokens_per_s: cost.time.map(|time| time.tokens_per_s),
            limit: cost.time.map(|time| time.limit),
        };
        estimate.phases.iter().map(line).collect()
    }
}

/// What `workload` costs, without images, for which there is [`CostSummary::of`]. `buffer` only saves
/// allocations.
///
/// ```
/// use rooflens_cost::figures::Figures;
/// use rooflens_cost::{Model, Setup, Workload, hardware::Catalog, sweep::summary};
/// # let config = br#"{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
/// #     "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}"#;
/// let model = Model::from_json(config)?;
/// let device = Catalog::embedded().find("h200")?;
/// let figures = Figures::on(device, &Setup::default()).ok_or("no roofline")?;
/// let mut buffer = Vec::new();
/// for batch in [1, 2, 4, 8] {
///     let point = summary(&model, &figures, &Workload::decode(batch, 4096), Some(device), &mut buffer)?;
///     assert!(point.seconds < point.estimate_s);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn summary(
    model: &Model,
    figures: &Figures,
    workload: &Workload,
    device: Option<&Device>,
    buffer: &mut Vec<Operator>,
) -> Result<CostSummary, EstimateError> {
    let asked = model.asked(workload)?;
    let setup = &figures.bound.setup;
    setup.parallel.fault(model.depth).map_or(Ok(()), |reason| Err(EstimateError::Parallel(reason)))?;
    let bound = sum(model, &figures.bound, &asked, buffer);
    let roof = figures.bound.roof.as_ref();
    let seconds = bound.seconds;
    let estimate_s = roof.map(|_| sum(model, &figures.estimate, &asked, buffer).seconds);
    let memory = memory(model, &figures.estimate.setup, &asked.decoder, asked.positions, 0, device);
    let timed = |value: f64| roof.map(|_| value);
    let of_bound = |value: f64| if seconds > 0.0 { value / seconds } else { 0.0 };
    let limits = [Limit::Compute, Limit::Vector, Limit::Memory];
    let by_limit = bound.by_limit;
    let limit = limits.into_iter().max_by(|a, b| by_limit[*a as usize].total_cmp(&by_limit[*b as usize]));
    let limit = if bound.spent.link_s > bound.spent.local_s { Some(Limit::Link) } else { limit };
    let bytes = bound.work.bytes.total();
    Ok(CostSummary {
        flops: bound.work.flops.useful,
        bytes,
        weight_bytes: bound.work.bytes.weights,
        kv_read_bytes: bound.work.bytes.kv_read,
        intensity: if bytes > 0 { bound.work.flops.useful as f64 / bytes as f64 } else { 0.0 },
        kv_bytes: memory.kv_bytes,
        memory_bytes: memory.total_bytes,
        fits: memory.fits,
        seconds: timed(seconds),
        estimate_s,
        tokens_per_s: timed(of_bound(bound.tokens as f64)),
        limit: roof.and(limit),
        mfu_ceiling: timed(of_bound(bound.compute_s)),
        mbu_ceiling: timed(of_bound(bound.memory_s)),
    })
}

#[derive(Default)]
struct Sum {
    work: Work,
    seconds: f64,
    spent: Spent,
    compute_s: f64,
    memory_s: f64,
    by_limit: [f64; 4],
    tokens: u128,
}

impl Sum {
    fn add(&mut self, spent: &mut Spent, roof: Option<&Roof>, layers: u64, operators: &[Operator]) {
        for operator in operators {
            self.work += operator.work * u128::from(layers);
            if let Some(roof) = roof {
                let seconds = roof.seconds(operator);
                let times = layers as f64;
                spent.add(&seconds, times);
                self.compute_s += seconds.compute * times;
                self.memory_s += seconds.memory * times;
                self.by_limit[seconds.limit() as usize] += seconds.bound * times;
            }
        }
    }

    fn end(&mut self, figure: &Figure, spent: Spent) {
        self.seconds += figure.seconds(spent);
        self.spent.local_s += spent.local_s;
        self.spent.link_s += spent.link_s;
    }
}

fn sum(model: &Model, figure: &Figure, asked: &ModelWorkload, buffer: &mut Vec<Operator>) -> Sum {
    let mut sum = Sum::default();
    let workload = &asked.decoder;
    let (sequences, roof) = (figure.setup.sequences(workload.batch), figure.roof.as_ref());
    if let Some(encoder) = model.encoder.as_ref().filter(|_| asked.encodes) {
        let pass = figure.setup.pass(model, Step::encoder(sequences, asked.positions), 0, Touch::Expected);
        let mut spent = Spent::default();
        visit_encoder(encoder, &pass, buffer, |_, layers, operators| {
            sum.add(&mut spent, roof, layers, operators)
        });
        if encoder.reads_prompt() {
            sum.tokens += u128::from(asked.positions) * u128::from(workload.batch);
        }
        sum.end(figure, spent);
    }
    for phase in workload.phases() {
        let draft = match phase {
            Phase::Decode => workload.decode.map_or(0, |decode| decode.draft),
            _ => 0,
        };
        let mut spent = Spent::default();
        for step in workload.steps(phase, sequences, asked.positions) {
            sum.tokens += u128::from(step.new) * u128::from(workload.batch);
            let pass = figure.setup.pass(model, step, 0, Touch::Expected);
            let mut add = |_: OperatorPlace, layers: u64, operators: &[Operator]| {
                sum.add(&mut spent, roof, layers, operators);
            };
            visit(model, &pass, buffer, &mut add);
            visit_drafts(model, &pass, draft, buffer, &mut add);
            let crossed = pass.activation_bytes(crossing(model, &step) * u128::from(model.hidden));
            spent.link_s += figure.between_stages(crossed);
        }
        sum.end(figure, spent);
    }
    sum
}

impl CostSummary {
    /// The line of an estimate.
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
            .filter(|phase| match phase.phase {
                Phase::Vision => false,
                Phase::Encoder => estimate.encodes_prompt,
                Phase::Prefill | Phase::Decode => true,
            })
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
            estimate_s: estimate.estimate_s(),
            tokens_per_s: seconds.filter(|seconds| *seconds > 0.0).map(|seconds| tokens as f64 / seconds),
            limit: times().max_by(|a, b| a.seconds.total_cmp(&b.seconds)).map(|time| time.limit),
            mfu_ceiling: weighted(|time| time.mfu_ceiling),
            mbu_ceiling: weighted(|time| time.mbu_ceiling),
        }
    }
}
