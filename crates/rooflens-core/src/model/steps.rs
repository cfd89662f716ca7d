//! The steps of a trace as the cost model takes them.

use rooflens_analyze::analyses::{Ledger, PhaseLedger, StepShape};
use rooflens_cost::measured::{self, Ran, RunPhase, Shape};
use rooflens_cost::step::Step;
use rooflens_schema::tables::PhaseKind;

use super::{Passes, ToldShapes, kind_of};

/// The passes of every phase that the ledger knows the shapes of; `batch` and `context` (tokens in the KV cache per
/// sequence) are for traces that do not record them.
pub(crate) fn passes_of(
    ledger: &Ledger,
    batch: Option<u64>,
    context: Option<u64>,
) -> Result<(Passes, ToldShapes), String> {
    let (mut passes, mut told) = (Passes::new(), ToldShapes::new());
    let mut lacking = None;
    for phase in &ledger.phases {
        let Some((kind, run_phase)) = phase_of(phase) else { continue };
        for shape in &phase.shapes {
            match shape_of(shape, run_phase, batch, context) {
                Ok(found) => {
                    let one = Ran { shape: found.clone(), dur_ns: 0 };
                    passes.entry(kind).or_default().extend(std::iter::repeat_n(one, shape.steps));
                    told.insert((kind, StepShape { steps: 1, ..*shape }), found);
                }
                Err(reason) => lacking = Some(reason),
            }
        }
    }
    match lacking {
        Some(reason) if passes.is_empty() => Err(reason),
        _ if passes.is_empty() => Err("the trace has no prefill or decode step".to_owned()),
        _ => Ok((passes, told)),
    }
}

/// What a step is to the cost model; `otherwise` and `each` are what was said of batch and KV cache, for traces that do
/// not record them.
fn shape_of(
    shape: &StepShape,
    phase: RunPhase,
    otherwise: Option<u64>,
    each: Option<u64>,
) -> Result<Shape, String> {
    let told =
        |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
    let batch = told(shape.batch).or(otherwise);
    let prompt = told(shape.prefill_tokens);
    let mut needed = Vec::new();
    if phase != RunPhase::Decode {
        let prompt = prompt.ok_or("the trace does not record the number of prompt tokens")?;
        let going_on = told(shape.decode_tokens).unwrap_or(0);
        let prompts = batch.map_or(1, |batch| batch.saturating_sub(going_on)).max(1);
        // Of a step of prompts alone all that is in sight is theirs: what is not new was cached before.
        let in_sight = told(shape.kv_tokens).filter(|_| phase == RunPhase::Prefill);
        let past = in_sight.map_or(0, |all| all.saturating_sub(prompt) / prompts);
        needed.push(Step::prefill(prompts, prompt / prompts, past));
    }
    let going_on = if phase == RunPhase::Decode { batch } else { told(shape.decode_tokens) };
    if phase != RunPhase::Prefill {
        let going_on = going_on.ok_or("the trace does not record the batch size: --batch sets it")?;
        // What is in sight of a mixed step is in part its prompts.
        let in_sight = told(shape.kv_tokens).map(|all| all.saturating_sub(prompt.unwrap_or(0)));
        let context = in_sight.or(each.map(|each| each.saturating_mul(going_on)));
        let context = context
            .ok_or("the trace does not record the number of tokens in the KV cache: --context sets it")?;
        needed.extend(measured::decoding(going_on, context.max(going_on)));
    }
    Ok(Shape { phase, padded: needed.clone(), needed, pictures: Some(Vec::new()) })
}

fn phase_of(phase: &PhaseLedger) -> Option<(PhaseKind, RunPhase)> {
    let kind = kind_of(&phase.phase)?;
    Some((kind, RunPhase::named(kind.as_str())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(batch: i64, prompt: i64, going_on: i64, kv: i64, phase: RunPhase) -> Vec<Step> {
        let shape = StepShape {
            steps: 1,
            batch: Some(batch),
            prefill_tokens: Some(prompt),
            decode_tokens: Some(going_on),
            kv_tokens: Some(kv),
        };
        shape_of(&shape, phase, None, None).unwrap().needed
    }

    #[test]
    fn what_is_in_sight_is_dealt_out_once() {
        // A prompt of 100 tokens, and two sequences with 50 in sight, their new tokens among them.
        let mixed = [Step::prefill(1, 100, 0), Step::decode(2, 24)];
        assert_eq!(steps(3, 100, 2, 150, RunPhase::Mixed), mixed);
        // Two prompts of 50 new tokens, after 200 each that were cached.
        assert_eq!(steps(2, 100, 0, 500, RunPhase::Prefill), [Step::prefill(2, 50, 200)]);
        assert_eq!(steps(2, 0, 2, 50, RunPhase::Decode), [Step::decode(2, 24)]);
    }
}
