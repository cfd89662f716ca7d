//! How types with a flattened part are read. Serde reads flattened fields by way of a value that has no
//! 128-bit numbers, so the fields are listed here in full; writing uses the types themselves.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ClassTotals, LayerCost, OperatorFacts, StageCost, Totals};
use crate::estimate::PhaseTime;
use crate::memory::{Cache, Window};
use crate::operator::{Bytes, Flops};
use crate::step::Phase;

/// See [`super::AllBytes`].
#[derive(Deserialize, JsonSchema)]
pub(super) struct AllBytes {
    weights: u128,
    kv_read: u128,
    kv_write: u128,
    activations: u128,
    total: u128,
}

impl From<AllBytes> for super::AllBytes {
    fn from(flat: AllBytes) -> Self {
        let AllBytes { weights, kv_read, kv_write, activations, total } = flat;
        super::AllBytes { parts: Bytes { weights, kv_read, kv_write, activations }, total }
    }
}

/// See [`super::KvFacts`].
#[derive(Deserialize, JsonSchema)]
pub(super) struct KvFacts {
    dtype: Cow<'static, str>,
    #[serde(default)]
    state_dtype: Cow<'static, str>,
    bytes_per_token: u128,
    windows: Vec<Window>,
    bytes_per_sequence: u128,
    #[serde(default)]
    bytes_per_media_token: u128,
}

impl From<KvFacts> for super::KvFacts {
    fn from(flat: KvFacts) -> Self {
        let KvFacts {
            dtype,
            state_dtype,
            bytes_per_token,
            windows,
            bytes_per_sequence,
            bytes_per_media_token,
        } = flat;
        let cache = Cache { bytes_per_token, windows, bytes_per_sequence, bytes_per_media_token };
        super::KvFacts { dtype, state_dtype, cache }
    }
}

/// See [`super::PhaseFacts`].
#[derive(Deserialize, JsonSchema)]
pub(super) struct PhaseFacts {
    phase: Phase,
    steps: u64,
    tokens: u128,
    flops: Flops,
    vector_flops: u128,
    bytes: super::AllBytes,
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

impl From<PhaseFacts> for super::PhaseFacts {
    fn from(flat: PhaseFacts) -> Self {
        super::PhaseFacts {
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
