//! MFU and MBU: what was reached of what the device can do.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::work::{RanWork, by_phase, computed};
use super::{Ran, RunPhase};
use crate::hardware::Device;
use crate::model::Model;
use crate::operator::AllBytes;
use crate::roof::{Limit, Roof};
use crate::setup::Setup;

/// Achieved rates of what the device can do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Efficiency {
    /// The device whose peaks are used; null where none is known.
    pub device: Option<String>,
    /// Peak bandwidth of its memory, bytes a second.
    pub(crate) peak_bytes_per_s: Option<f64>,
    /// Devices that the model is dealt out to; numbers are those of the busiest.
    pub(crate) devices: u64,
    /// Each phase that was run.
    pub phases: BTreeMap<RunPhase, PhaseEfficiency>,
    /// Which count of operations each figure uses.
    pub(crate) counts: BTreeMap<String, String>,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// Achieved rates in a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseEfficiency {
    /// Forward passes.
    pub steps: u64,
    /// New tokens that went through the model, padding not counted.
    pub tokens: u128,
    /// Padding that went through it.
    pub(crate) padding_tokens: u128,
    /// How long the passes took.
    pub measured_ns: u64,
    /// Operations of the matrix units.
    pub flops: RanFlops,
    /// Operations of the vector units.
    pub(crate) vector_flops: u128,
    /// Bytes that had to move between memory and chip.
    pub bytes: AllBytes,
    /// Useful operations for each byte; null where none moved.
    pub(crate) intensity: Option<f64>,
    /// Useful operations a second that were reached.
    pub flops_per_s: Option<f64>,
    /// Bytes a second that were reached.
    pub bytes_per_s: Option<f64>,
    /// Dense peak of the formats used, FLOP/s: useful operations / the lower bound for them.
    pub(crate) peak_flops_per_s: Option<f64>,
    /// Useful operations / (peak of their format · time).
    pub mfu: Option<f64>,
    /// Bytes that had to move / (peak bandwidth · time).
    pub mbu: Option<f64>,
    /// The lower bound on the device, one operator after the other.
    pub floor_ns: Option<f64>,
    /// The lower bound / the measured time.
    pub floor_share: Option<f64>,
    /// What most of the lower bound is spent on.
    pub(crate) limit: Option<Limit>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<String, String>,
}

/// Operations of the matrix units, in three counts.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct RanFlops {
    /// What the result needs: no padding, pairs that the mask leaves, logits of sampled rows.
    pub useful: u128,
    /// What the framework multiplies: padding, nothing masked, logits of all rows.
    pub(crate) as_counted: u128,
    /// What tiles of fixed size do: rows and pairs of `useful` padded up.
    pub(crate) issued: u128,
}

const COUNTS: &[(&str, &str)] = &[
    ("mfu", "flops.useful"),
    ("mbu", "bytes.total"),
    ("flops_per_s", "flops.useful"),
    ("bytes_per_s", "bytes.total"),
    ("intensity", "flops.useful, bytes.total"),
    ("floor_ns", "flops.useful, vector_flops, bytes.total"),
];

/// What the passes of a run reached. `no_device` says why no device is known.
pub fn efficiency(
    model: &Model,
    setup: &Setup,
    device: Option<&Device>,
    no_device: &str,
    ran: &[Ran],
) -> Efficiency {
    let roof = device.and_then(|device| Roof::of_setup(device, setup));
    let reason = match (device, &roof) {
        (Some(device), None) => format!("no peaks of {} are known", device.name),
        _ => no_device.to_owned(),
    };
    let on = device.filter(|_| roof.is_some());
    let phases = by_phase(model, setup, roof.as_ref(), ran).into_iter();
    let phases = phases.map(|(phase, work)| (phase, work.map(|work| of_phase(&work, on, &reason))));
    let (phases, mut not_computed) = computed(phases);
    if roof.is_none() {
        not_computed.insert("device".to_owned(), reason);
    }
    Efficiency {
        device: device.map(|device| device.name.clone()),
        peak_bytes_per_s: device.and_then(|device| device.bandwidth_bytes_per_s),
        devices: setup.parallel.devices(),
        phases,
        counts: COUNTS.iter().map(|(name, count)| ((*name).to_owned(), (*count).to_owned())).collect(),
        assumptions: assumptions(model, setup),
        not_computed,
    }
}

fn of_phase(work: &RanWork, device: Option<&Device>, reason: &str) -> PhaseEfficiency {
    let total = work.total();
    let framework: u128 = work.framework.values().map(|flops| flops.all_rows).sum();
    let (useful, moved) = (total.work.flops.useful, total.work.bytes.total());
    let seconds = work.dur_ns as f64 / 1e9;
    let over = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
    let mut not_computed = BTreeMap::new();
    let lacking = match device {
        None => Some(reason.to_owned()),
        Some(device) => work.unknown_rate(device),
    };
    let peaked = device.filter(|_| lacking.is_none());
    let compute = peaked.map(|_| total.seconds.compute).filter(|seconds| *seconds > 0.0);
    let bandwidth = device.and_then(|device| device.bandwidth_bytes_per_s);
    let floor = peaked.map(|_| total.seconds.bound).filter(|seconds| *seconds > 0.0);
    let found = PhaseEfficiency {
        steps: work.steps,
        tokens: work.tokens,
        padding_tokens: work.padded_tokens.saturating_sub(work.tokens),
        measured_ns: work.dur_ns,
        flops: RanFlops { useful, as_counted: framework, issued: total.work.flops.issued },
        vector_flops: total.work.vector_flops,
        bytes: total.work.bytes.into(),
        intensity: over(useful as f64, moved as f64),
        flops_per_s: over(useful as f64, seconds),
        bytes_per_s: over(moved as f64, seconds),
        peak_flops_per_s: compute.map(|compute| useful as f64 / compute),
        mfu: compute.and_then(|compute| over(compute, seconds)),
        mbu: bandwidth.and_then(|bandwidth| over(moved as f64 / bandwidth, seconds)),
        floor_ns: floor.map(|floor| floor * 1e9),
        floor_share: floor.and_then(|floor| over(floor, seconds)),
        limit: floor.map(|_| total.seconds.limit()),
        not_computed: BTreeMap::new(),
    };
    let lacking = lacking.as_deref().unwrap_or("the steps took no time");
    let no_bandwidth = if bandwidth.is_none() { reason } else { "the steps took no time" };
    for (name, is_null, why) in [
        ("flops_per_s", found.flops_per_s.is_none(), "the steps took no time"),
        ("bytes_per_s", found.bytes_per_s.is_none(), "the steps took no time"),
        ("peak_flops_per_s", found.peak_flops_per_s.is_none(), lacking),
        ("mfu", found.mfu.is_none(), lacking),
        ("mbu", found.mbu.is_none(), no_bandwidth),
        ("floor_ns", found.floor_ns.is_none(), lacking),
        ("floor_share", found.floor_share.is_none(), lacking),
        ("limit", found.limit.is_none(), lacking),
        ("intensity", found.intensity.is_none(), "no bytes moved"),
    ] {
        if is_null {
            not_computed.insert(name.to_owned(), why.to_owned());
        }
    }
    PhaseEfficiency { not_computed, ..found }
}

fn assumptions(model: &Model, setup: &Setup) -> Vec<String> {
    let mut lines = vec![
        "model FLOPs: padding is not counted, of attention only the unmasked part, of lm_head only the last \
         row of each sequence"
            .to_owned(),
        "weights are read once per step, the KV cache once per sequence and step; activations go to memory \
         between operators, element-wise work is fused"
            .to_owned(),
        "decoding sequences are assumed to have equal length if only the sum of lengths is known: exact for \
         full attention"
            .to_owned(),
        "the time of a step is that of its row in steps.csv: sampling and host work are included".to_owned(),
    ];
    let formats = format!(
        "weights {}; activations {}; KV cache {}",
        model.quantisation.as_deref().unwrap_or(model.dtype.as_str()),
        setup.activation(model).as_str(),
        setup.kv(model).as_str()
    );
    lines.push(formats);
    if model.language_parameters().routed > 0 {
        lines.push(
            "of the experts, the expected number of activated ones is read, with uniform routing: a trained \
             router may activate fewer"
                .to_owned(),
        );
    }
    lines
}
