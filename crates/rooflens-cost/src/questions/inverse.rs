//! Questions the other way round: what it takes to meet a target.
//!
//! A bound can rule a target out, never promise it: whether a target is met, and what it takes to meet it,
//! goes by the estimate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crossover::first;
use crate::estimate::{Estimate, EstimateError, PhaseCost};
use crate::hardware::Device;
use crate::model::Model;
use crate::operator::Work;
use crate::parallel::Parallel;
use crate::setup::Setup;
use crate::step::Phase;
use crate::workload::{Decode, Prefill, Workload};

/// What is wanted of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Target {
    /// Which time: of the whole prompt (TTFT), or of a decoding step (TPOT).
    pub phase: Phase,
    /// How long it may take.
    pub seconds: f64,
}

/// What it takes to meet a target. Each answer holds the rest of the question as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Needs {
    /// Whether the target is met now.
    #[serde(flatten)]
    pub now: Met,
    /// Useful operations a second that all devices together must do.
    pub flops_per_s: f64,
    /// Bytes a second that all devices together must move.
    pub bytes_per_s: f64,
    /// The fewest devices in tensor parallelism, a power of two up to 1,024, with which the estimate meets it and
    /// the model fits.
    pub devices: Option<u64>,
    /// The largest batch with which the estimate meets it and that fits; of a decoding step, beside the activations of
    /// a prefill step, as `memory.largest_batch` counts.
    pub largest_batch: Option<u64>,
    /// The most tokens with which the estimate meets it and that fit: of the prompt, or of the context. At most the
    /// positions that the config gives the model.
    pub largest_context: Option<u64>,
}

/// Whether a target is met.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Met {
    /// The target.
    pub target: Target,
    /// The lower bound of the time, where there is a device.
    pub now_s: Option<f64>,
    /// The same if all tokens choose the same experts; equal without experts.
    #[serde(default)]
    pub least_s: Option<f64>,
    /// The estimated time, where there is a device.
    pub estimate_s: Option<f64>,
    /// Whether the bound, however experts are chosen, is longer than the target, or the model does not fit.
    pub ruled_out: Option<bool>,
    /// Whether the estimate meets the target, memory included.
    pub met: Option<bool>,
}

impl Met {
    /// Whether a bound (as routing is assumed, and at its least) and an estimate are within the target, on devices
    /// with room or not.
    pub fn new(
        target: Target,
        [now_s, least_s]: [Option<f64>; 2],
        estimate_s: Option<f64>,
        fits: Option<bool>,
    ) -> Self {
        let within = |seconds: f64| seconds <= target.seconds && fits != Some(false);
        Self {
            target,
            now_s,
            least_s,
            estimate_s,
            ruled_out: least_s.map(|least| !within(least)),
            met: estimate_s.map(within),
        }
    }
}

const MOST_DEVICES: u32 = 10;
const MOST_BATCH: u64 = 1 << 18;
const MOST_TOKENS: u64 = 1 << 24;

/// What it takes to meet `target` with `workload`.
pub fn needs(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    device: Option<&Device>,
    target: Target,
) -> Result<Needs, EstimateError> {
    let only = only(&model.with_positions(workload.clone()), target.phase);
    let now = Estimate::new(model, setup, &only, device)?;
    let met = Met::new(
        target,
        [seconds, least_seconds].map(|of| device.and_then(|_| of(&now, target.phase))),
        device.and_then(|_| estimate_s(&now, target.phase)),
        now.memory.fits,
    );
    let work = costs(&now, target.phase).fold(Work::default(), |sum, phase| sum + phase.tally.work());
    // Every device of a stage does as much as the busiest at most.
    let devices = setup.parallel.tp as f64 * setup.parallel.dp as f64;
    let meets = |setup: &Setup, workload: &Workload| {
        let Some(device) = device else { return false };
        let Ok(estimate) = Estimate::new(model, setup, workload, Some(device)) else { return false };
        estimate_s(&estimate, target.phase).is_some_and(|seconds| seconds <= target.seconds)
            && estimate.memory.fits != Some(false)
    };
    // Sequences that decode together were prefilled one after the other, beside the caches of the others.
    let has_room = |workload: &Workload| {
        let Some(device) = device.filter(|_| target.phase == Phase::Decode) else { return true };
        let Ok(estimate) = Estimate::new(model, setup, workload, Some(device)) else { return false };
        estimate.memory.largest_batch.is_none_or(|most| workload.batch <= most)
    };
    let meets_with_room = |workload: &Workload| meets(setup, workload) && has_room(workload);
    let last = |least: u64, most: u64, holds: &dyn Fn(u64) -> bool| match first(least, most, |n| !holds(n)) {
        Some(fails) if fails == least => None,
        Some(fails) => Some(fails - 1),
        None => Some(most),
    };
    // Steps of the workload's own prefill may be longer or shorter than usual.
    let most_beside_prefill = match (target.phase, workload.prefill.zip(workload.decode)) {
        (Phase::Decode, Some(_)) => Estimate::new(model, setup, workload, device)?.memory.largest_batch,
        _ => None,
    };
    let most_tokens = model.decoder_positions().map_or(MOST_TOKENS, |positions| positions.min(MOST_TOKENS));
    let with_batch = |batch| Workload { batch, ..only.clone() };
    let with_tokens = |tokens| with_tokens(&only, tokens);
    Ok(Needs {
        now: met,
        flops_per_s: work.flops.useful as f64 * devices / target.seconds,
        bytes_per_s: work.bytes.total() as f64 * devices / target.seconds,
        devices: device.and_then(|_| {
            let tp = (0..=MOST_DEVICES).map(|power| 1 << power);
            tp.into_iter().find(|tp| {
                let parallel = Parallel { tp: *tp, pp: 1, ep: 1, dp: 1 };
                meets(&Setup { parallel, ..setup.clone() }, &only)
            })
        }),
        largest_batch: device
            .and_then(|_| last(1, MOST_BATCH, &|batch| meets_with_room(&with_batch(batch))))
            .map(|batch| most_beside_prefill.map_or(batch, |most| batch.min(most)))
            .filter(|batch| *batch > 0),
        largest_context: device
            .and_then(|_| last(1, most_tokens, &|tokens| meets_with_room(&with_tokens(tokens)))),
    })
}

/// What a target counts: a step, or all that comes before the first token, images included.
fn costs(estimate: &Estimate, phase: Phase) -> impl Iterator<Item = &PhaseCost> {
    estimate.phases.iter().filter(move |cost| phase != Phase::Decode || cost.phase == Phase::Decode)
}

pub(crate) fn estimate_s(estimate: &Estimate, phase: Phase) -> Option<f64> {
    costs(estimate, phase).map(|cost| cost.time.map(|time| time.estimate_s)).sum()
}

pub(crate) fn seconds(estimate: &Estimate, phase: Phase) -> Option<f64> {
    costs(estimate, phase).map(|cost| cost.time.map(|time| time.seconds)).sum()
}

/// The bound of a phase if all tokens choose the same experts.
pub fn least_seconds(estimate: &Estimate, phase: Phase) -> Option<f64> {
    costs(estimate, phase).map(|cost| cost.time.map(|time| time.band.min)).sum()
}

/// The phase that a target speaks of: the whole prompt, or one step.
pub fn only(workload: &Workload, phase: Phase) -> Workload {
    match phase {
        Phase::Decode => {
            let context = match (workload.encoder_tokens, workload.prefill) {
                // The encoder has read the prompt, and the decoder its start token.
                (Some(_), _) => 1,
                (None, Some(prefill)) => prefill.prefix + prefill.tokens,
                (None, None) => 2048,
            };
            let decode = workload.decode.unwrap_or(Decode { context, steps: 1, draft: 0 });
            Workload { prefill: None, decode: Some(Decode { steps: 1, ..decode }), ..workload.clone() }
        }
        _ => {
            let context = workload.decode.map_or(2048, |decode| decode.context.max(1));
            let tokens = workload.encoder_tokens.unwrap_or(context);
            let prefill = workload.prefill.unwrap_or(Prefill { tokens, prefix: 0, chunk: None });
            Workload { prefill: Some(prefill), decode: None, ..workload.clone() }
        }
    }
}

fn with_tokens(workload: &Workload, tokens: u64) -> Workload {
    let mut workload = workload.clone();
    if let Some(prefill) = &mut workload.prefill {
        prefill.tokens = tokens;
        workload.encoder_tokens = workload.encoder_tokens.map(|_| tokens);
    }
    if let Some(decode) = &mut workload.decode {
        decode.context = tokens;
    }
    workload
}
