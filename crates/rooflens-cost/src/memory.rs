//! What a device must hold: weights, cache, activations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hardware::Device;
use crate::model::{Encoder, Model};
use crate::operator::Operator;
use crate::routing::Touch;
use crate::setup::Setup;
use crate::step::Step;
use crate::tally::{visit, visit_encoder};
use crate::units::{Kept, Slice, Unit};
use crate::vision::TowerStage;
use crate::workload::Workload;

/// What is kept for each sequence between steps.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Bytes that each token adds, however many there are.
    pub bytes_per_token: u128,
    /// What is kept of the last tokens only.
    pub windows: Vec<Window>,
    /// Bytes whatever the length: states.
    pub bytes_per_sequence: u128,
    /// Bytes for each token of the sequence's images, or position of its encoder.
    pub bytes_per_media_token: u128,
}

/// Layers that keep the last tokens only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// How many tokens.
    pub tokens: u64,
    /// How many layers.
    pub layers: u64,
    /// Bytes of a token in all of them.
    pub bytes_per_token: u128,
}

impl Cache {
    /// Adds what `layers` layers with a part keep.
    fn add(&mut self, kept: Kept, layers: u64) {
        let times = u128::from(layers);
        self.bytes_per_token += kept.bytes_per_token * times;
        self.bytes_per_sequence += kept.bytes_per_sequence * times;
        self.bytes_per_media_token += kept.bytes_per_media_token * times;
        if let Some((tokens, bytes)) = kept.window {
            match self.windows.iter_mut().find(|window| window.tokens == tokens) {
                Some(window) => {
                    window.layers += layers;
                    window.bytes_per_token += bytes * times;
                }
                None => self.windows.push(Window { tokens, layers, bytes_per_token: bytes * times }),
            }
        }
    }

    /// Bytes of a sequence of `tokens` tokens and `media` tokens of images or positions of the encoder.
    pub fn bytes(&self, tokens: u64, media: u64) -> u128 {
        let windows =
            self.windows.iter().map(|window| u128::from(tokens.min(window.tokens)) * window.bytes_per_token);
        self.bytes_per_token * u128::from(tokens)
            + windows.sum::<u128>()
            + self.bytes_per_sequence
            + self.bytes_per_media_token * u128::from(media)
    }
}

/// What the fullest device holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryFootprint {
    /// Weights.
    pub weights_bytes: u128,
    /// Keys, values and states of all its sequences at the end of the workload.
    pub kv_bytes: u128,
    /// The most that activations take at once.
    pub activations_bytes: u128,
    /// All of it.
    pub total_bytes: u128,
    /// What the device has for it.
    pub usable_bytes: Option<u128>,
    /// Whether it fits.
    pub fits: Option<bool>,
    /// The most sequences that fit on all devices together, at this length, whether or not the workload has
    /// a prefill: prompts are prefilled one after the other in steps of `prefill_step_tokens`, and all
    /// sequences decode together.
    pub largest_batch: Option<u64>,
    /// Tokens of the prefill step whose activations `largest_batch` leaves room for.
    #[serde(default)]
    pub prefill_step_tokens: u64,
}

/// The most tokens of a prefill step: vLLM's default `max_num_batched_tokens` for serving.
const PREFILL_STEP: u64 = 8192;

/// What the whole model keeps for each sequence, on one device as large as need be.
pub fn cache(model: &Model, setup: &Setup) -> Cache {
    stage_cache(model, &setup.on_one_device(), 0)
}

pub(crate) fn layers_in_stage(model: &Model, setup: &Setup, stage: u64, at: &[u32]) -> u64 {
    let pp = setup.parallel.pp;
    let depth = u64::from(model.depth);
    let before: u64 = (0..stage).map(|rank| Slice { of: pp, rank }.part(depth)).sum();
    let end = before + Slice { of: pp, rank: stage }.part(depth);
    at.iter().filter(|layer| (before..end).contains(&u64::from(**layer))).count() as u64
}

fn stage_cache(model: &Model, setup: &Setup, stage: u64) -> Cache {
    let pass = setup.pass(model, Step::decode(1, 0), 0, Touch::Expected);
    let mut cache = Cache::default();
    for kind in &model.kinds {
        let layers = layers_in_stage(model, setup, stage, &kind.at);
        for unit in &kind.layer.units {
            cache.add(unit.kept(&pass), layers);
        }
    }
    cache
}

fn stage_weights(model: &Model, setup: &Setup, stage: u64, drafts: bool) -> u128 {
    let pass = setup.pass(model, Step::decode(1, 0), 0, Touch::Expected);
    let of = |units: &[Unit]| units.iter().map(|unit| unit.weight_bytes(&pass)).sum::<u128>();
    let layers = model
        .kinds
        .iter()
        .map(|kind| u128::from(layers_in_stage(model, setup, stage, &kind.at)) * of(&kind.layer.units));
    let mut bytes = layers.sum::<u128>();
    let last = stage + 1 == setup.parallel.pp;
    if stage == 0 {
        bytes += of(&model.before);
        if let Some(tower) = &model.vision {
            let setup = setup.of_vision();
            let pass = setup.pass(model, Step::vision(1, 1), 0, Touch::Expected);
            let units =
                |stage: &TowerStage| stage.units.iter().map(|unit| unit.weight_bytes(&pass)).sum::<u128>();
            bytes += tower.stages.iter().map(|stage| u128::from(stage.count) * units(stage)).sum::<u128>();
        }
        bytes += model.encoder.as_ref().map_or(0, |encoder| encoder.weight_bytes(&pass));
    }
    if last {
        bytes += of(&model.after);
        // A head that shares the embedding needs a copy of it where it stands elsewhere.
        if stage > 0 && is_tied(model) {
            bytes += of(&model.before);
        }
        if drafts {
            bytes += model.drafts.iter().map(|layer| of(&layer.units)).sum::<u128>();
        }
    }
    bytes
}

fn is_tied(model: &Model) -> bool {
    model.after.iter().any(|unit| matches!(unit, Unit::Linear(linear) if linear.shared))
}

/// The most that activations take at once: the residual stream twice, and what the hungriest operator
/// reads and writes.
fn activations(model: &Model, setup: &Setup, steps: &[Step], buffer: &mut Vec<Operator>) -> u128 {
    let mut most = 0;
    for step in steps {
        let pass = setup.pass(model, *step, 0, Touch::Expected);
        let stream = 2 * pass.activation_bytes(step.tokens() * u128::from(model.hidden));
        visit(model, &pass, buffer, |_, _, operators| {
            for operator in operators {
                most = most.max(stream + operator.work.bytes.activations);
            }
        });
    }
    most
}

/// The most that activations of an encoder take at once, where there is one.
fn encoder_activations(model: &Model, setup: &Setup, sequences: u64, positions: u64) -> u128 {
    let Some(encoder) = &model.encoder else { return 0 };
    let pass = setup.pass(model, Step::encoder(sequences, positions), 0, Touch::Expected);
    let stream = 2 * pass.activation_bytes(pass.step.tokens() * u128::from(model.hidden));
    let mut most = 0;
    visit_encoder(encoder, &pass, &mut Vec::new(), |_, _, operators| {
        let largest = operators.iter().map(|operator| operator.work.bytes.activations).max();
        most = most.max(stream + largest.unwrap_or(0));
    });
    most
}

/// What the fullest device holds for a workload of the decoder; `media` are the tokens of images, or the
/// positions of the encoder, that it attends to, and `vision` is what activations of images take at once.
pub(crate) fn memory(
    model: &Model,
    setup: &Setup,
    workload: &Workload,
    media: u64,
    vision: u128,
    device: Option<&Device>,
) -> MemoryFootprint {
    let sequences = setup.sequences(workload.batch);
    let context = workload.final_context();
    let drafts = workload.decode.is_some_and(|decode| decode.draft > 0);
    let steps: Vec<Step> = workload
        .phases()
        .into_iter()
        .flat_map(|phase| {
            // The longest step of a phase is its first or its last.
            let steps = workload.steps(phase, sequences, media);
            steps.first().copied().into_iter().chain(steps.last().copied())
        })
        .collect();
    let encoded = |sequences| encoder_activations(model, setup, sequences, media);
    let ahead = vision.max(if workload.prefill.is_some() { encoded(sequences) } else { 0 });
    let activations_bytes = activations(model, setup, &steps, &mut Vec::new()).max(ahead);
    let stages = (0..setup.parallel.pp.max(1)).map(|stage| {
        let weights = stage_weights(model, setup, stage, drafts);
        (weights, stage_cache(model, setup, stage).bytes(context, media))
    });
    let fullest = stages.max_by_key(|(weights, kv)| weights + kv * u128::from(sequences));
    let (weights_bytes, kv_each) = fullest.unwrap_or_default();
    let kv_bytes = kv_each * u128::from(sequences);
    let total_bytes = weights_bytes + kv_bytes + activations_bytes;
    let usable_bytes =
        device.and_then(|device| device.memory_bytes).map(|bytes| (bytes as f64 * setup.usable) as u128);
    let chunk = workload.prefill.and_then(|prefill| prefill.chunk).unwrap_or(PREFILL_STEP);
    let prompt = workload.decode.map_or(context, |decode| decode.context);
    // Where an encoder reads the prompt, it does so at once, and the decoder begins with one token.
    let (new, prefill_step_tokens) = match model.encoder.as_ref().is_some_and(Encoder::reads_prompt) {
        true => (1, media),
        false => (prompt.clamp(1, chunk.max(1)), prompt.clamp(1, chunk.max(1))),
    };
    let at_once = |step: Step| activations(model, setup, &[Step { media, ..step }], &mut Vec::new());
    let prefill = at_once(Step::prefill(1, new, 0)).max(vision).max(encoded(1));
    // Activations of a decode step grow with the sequences, as the cache does.
    let draft = workload.decode.map_or(0, |decode| decode.draft);
    let decode = at_once(Step { new: 1 + draft, sampled: 1 + draft, ..Step::decode(1, context) });
    // An encoder reads the inputs of all sequences at once, as `fits` has it.
    let decode = if workload.prefill.is_some() { decode.max(encoded(1)) } else { decode };
    let largest = |usable: u128| {
        let room = usable.saturating_sub(weights_bytes);
        let beside_prefill = room.saturating_sub(prefill).checked_div(kv_each)?;
        let sequences = room.checked_div(kv_each + decode)?.min(beside_prefill);
        Some(u64::try_from(sequences).unwrap_or(u64::MAX).saturating_mul(setup.parallel.dp))
    };
    MemoryFootprint {
        weights_bytes,
        kv_bytes,
        activations_bytes,
        total_bytes,
        usable_bytes,
        fits: usable_bytes.map(|usable| total_bytes <= usable),
        largest_batch: usable_bytes.and_then(largest),
        prefill_step_tokens,
    }
}
