//! How far decoding is from what the device can do, second by second: the batch and context that really ran, by what the
//! client saw, against the lower bound of the static model.

use std::path::PathBuf;

use rooflens_cost::hardware::Device;
use rooflens_cost::measured::{self, Ran, RunPhase, Shape};
use rooflens_cost::{Model, Parallel, Setup};
use rooflens_schema::tables::{Requests, Tokens};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::model::ModelRequest;
use crate::model::files;
use crate::project;

/// Most windows of a load test; longer ones have longer windows.
const MAX_WINDOWS: i64 = 600;
const MIN_WINDOW_NS: i64 = 1_000_000_000;
/// A window with fewer gaps between tokens tells nothing.
const MIN_GAPS: usize = 8;

/// What the model is, and what it runs on.
#[derive(Debug, Clone)]
pub struct ModelOnDevice {
    /// `config.json` or its folder.
    pub config: PathBuf,
    /// The device.
    pub hardware: Option<String>,
    /// Tensor-parallel size.
    pub tensor_parallel: u64,
}

/// Decoding in a window of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DecodeWindow {
    /// When it begins, since the begin of the load test.
    pub(crate) from_ns: i64,
    /// Sequences that were decoding: mean over the window.
    pub(crate) batch: f64,
    /// Tokens in the KV cache per sequence: mean.
    pub(crate) context: f64,
    /// Time between two chunks of a request: median. One step of the engine, if no step is skipped.
    pub(crate) step_ns: f64,
    /// Useful operations / (peak · time); null where the device's peaks are not known.
    pub(crate) mfu: Option<f64>,
    /// Bytes that had to move / (peak bandwidth · time).
    pub(crate) mbu: Option<f64>,
    /// The lower bound of such a step.
    pub(crate) floor_ns: Option<f64>,
}

/// Decoding over time, against the lower bound of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct DecodeEfficiency {
    /// The device; null where none was named.
    pub(crate) device: Option<String>,
    /// Devices that the model is spread over: the tensor-parallel size.
    #[serde(default)]
    pub(crate) tensor_parallel: Option<u64>,
    /// Windows with enough tokens.
    pub(crate) windows: Vec<DecodeWindow>,
    /// Median over windows of MFU.
    pub(crate) mfu: Option<f64>,
    /// Median over windows of MBU.
    pub(crate) mbu: Option<f64>,
    /// Median over windows of lower bound / measured time.
    pub(crate) floor_share: Option<f64>,
}

pub(crate) struct KnownModel {
    model: Model,
    setup: Setup,
    device: Option<Device>,
}

impl ModelOnDevice {
    pub(crate) fn open(&self) -> Result<KnownModel, Error> {
        let blueprint = files::blueprint(&self.config)?;
        let model = blueprint.model().map_err(|error| Error::no_floor(error.to_string()))?;
        let parallel = Parallel { tp: self.tensor_parallel, ..Parallel::NONE };
        let request = ModelRequest { hardware: self.hardware.clone(), ..ModelRequest::default() };
        let device = request.named_device()?;
        // Read here so that a wrong catalog is told before the load test.
        files::DeviceCatalog::read(&project::hardware())?;
        Ok(KnownModel { model, setup: Setup { parallel, ..Setup::default() }, device })
    }
}

impl KnownModel {
    pub(crate) fn decode(
        &self,
        requests: &Requests,
        tokens: &Tokens,
        span_ns: i64,
    ) -> Option<DecodeEfficiency> {
        let windows: Vec<DecodeWindow> =
            windows(requests, tokens, span_ns).into_iter().filter_map(|window| self.window(window)).collect();
        let median = |pick: fn(&DecodeWindow) -> Option<f64>| {
            let mut values: Vec<f64> = windows.iter().filter_map(pick).collect();
            values.sort_by(f64::total_cmp);
            (!values.is_empty()).then(|| rooflens_analyze::percentile::linear(&values, 0.5))
        };
        let share = |window: &DecodeWindow| Some(window.floor_ns? / window.step_ns);
        let (mfu, mbu, floor_share) =
            (median(|window| window.mfu), median(|window| window.mbu), median(share));
        let device = self.device.as_ref().map(|device| device.name.clone());
        (!windows.is_empty()).then_some(DecodeEfficiency {
            device,
            tensor_parallel: Some(self.setup.parallel.tp),
            windows,
            mfu,
            mbu,
            floor_share,
        })
    }

    fn window(&self, window: DecodeWindow) -> Option<DecodeWindow> {
        let sequences = (window.batch.round() as u64).max(1);
        let context = (window.context * sequences as f64).round() as u64;
        let needed = measured::decoding(sequences, context.max(sequences));
        let shape =
            Shape { phase: RunPhase::Decode, padded: needed.clone(), needed, pictures: Some(Vec::new()) };
        let ran = Ran { shape, dur_ns: window.step_ns.round() as u64 };
        let reached = measured::efficiency(
            &self.model,
            &self.setup,
            self.device.as_ref(),
            "no device was named",
            &[ran],
        );
        let decode = reached.phases.get(&RunPhase::Decode)?;
        Some(DecodeWindow { mfu: decode.mfu, mbu: decode.mbu, floor_ns: decode.floor_ns, ..window })
    }
}

fn windows(requests: &Requests, tokens: &Tokens, span_ns: i64) -> Vec<DecodeWindow> {
    let length = MIN_WINDOW_NS.max(span_ns / MAX_WINDOWS + 1);
    let count = usize::try_from(span_ns / length + 1).unwrap_or(0);
    let mut gaps: Vec<Vec<f64>> = vec![Vec::new(); count];
    // Sequence-seconds of decoding, and the tokens in sight of them.
    let mut decoding = vec![(0.0, 0.0); count];
    let place = |ns: i64| usize::try_from(ns / length).ok().filter(|place| *place < count);
    let mut at = 0;
    for row in 0..requests.len() {
        let id = requests.request_id[row];
        let from = at + tokens.request_id[at..].partition_point(|of| *of < id);
        let to = from + tokens.request_id[from..].partition_point(|of| *of <= id);
        at = to;
        let prompt = requests.prompt_tokens[row].get().unwrap_or(0) as f64;
        let mut made = 0.0;
        for token in from..to {
            let before = (token > from).then(|| tokens.ts_ns[token - 1]);
            made += tokens.tokens[token].get().unwrap_or(1) as f64;
            let (Some(before), Some(place)) = (before, place(tokens.ts_ns[token])) else { continue };
            let gap = (tokens.ts_ns[token] - before).max(0) as f64;
            gaps[place].push(gap);
            decoding[place].0 += gap;
            decoding[place].1 += gap * (prompt + made);
        }
    }
    let window = |(place, gaps): (usize, &mut Vec<f64>)| {
        let (busy, in_sight) = decoding[place];
        if gaps.len() < MIN_GAPS || busy <= 0.0 {
            return None;
        }
        gaps.sort_by(f64::total_cmp);
        Some(DecodeWindow {
            from_ns: place as i64 * length,
            batch: busy / length as f64,
            context: in_sight / busy,
            step_ns: rooflens_analyze::percentile::linear(gaps, 0.5),
            mfu: None,
            mbu: None,
            floor_ns: None,
        })
    };
    gaps.iter_mut().enumerate().filter_map(window).filter(|window| window.step_ns > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use rooflens_schema::Opt;
    use rooflens_schema::tables::{RequestRow, RequestStatus, TokenRow};

    use super::*;

    #[test]
    fn batch_and_context_by_hand() {
        let (mut requests, mut tokens) = (Requests::default(), Tokens::default());
        // Two requests with prompts of 100 that decode side by side for the first second, a token per 10 ms.
        for request_id in 0..2 {
            requests.push(RequestRow {
                prompt_tokens: Opt::some(100),
                ..RequestRow::new(request_id, RequestStatus::Completed)
            });
            for index in 0..=100 {
                let ts_ns = index * 10_000_000 - 1;
                tokens.push(TokenRow {
                    request_id,
                    index,
                    ts_ns: ts_ns.max(0),
                    tokens: Opt::some(1),
                    kind: None,
                });
            }
        }
        let found = windows(&requests, &tokens, 1_500_000_000);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].batch - 2.0).abs() < 1e-6, "{found:?}");
        assert!((found[0].step_ns - 1e7).abs() < 1.0);
        // Prompts and on average half of the 101 tokens, the new one among them: 100 + (2 + … + 101) / 100.
        assert!((found[0].context - 151.5).abs() < 0.01, "{found:?}");
    }
}
