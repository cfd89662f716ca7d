//! Each part of the model: what it must cost, beside the time that a profiler measured in it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::work::{ClassWork, RanWork, by_phase, computed};
use super::{Ran, RunPhase};
use crate::hardware::Device;
use crate::model::Model;
use crate::roof::Roof;
use crate::setup::Setup;

/// On which side the time was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimelineSide {
    /// Sums of the durations of device activities.
    Device,
    /// Host time of operators, with that of operators inside.
    Host,
    /// Host time of operators, less that of operators inside.
    HostSelf,
}

/// What a profiler measured in a phase.
#[derive(Debug, Clone)]
pub struct MeasuredPhase {
    /// The phase.
    pub phase: RunPhase,
    /// On which side.
    pub timeline: TimelineSide,
    /// All of it: the sum of its parts.
    pub total_ns: i64,
    /// By part of the model.
    pub parts: Vec<MeasuredPart>,
}

/// What was measured in a part of the model.
#[derive(Debug, Clone)]
pub struct MeasuredPart {
    /// The part, as [`part_of`] names it, or `other`.
    pub part: String,
    /// Its time.
    pub ns: i64,
}

/// Each part of the model, in each phase of the profiled round.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StaticVsMeasured {
    /// The device whose peaks are used; null where none is known.
    pub(crate) device: Option<String>,
    /// Each phase.
    pub phases: BTreeMap<RunPhase, PhaseParts>,
    /// What all of it rests on.
    pub assumptions: Vec<String>,
    /// What is null, and why.
    pub not_computed: BTreeMap<String, String>,
}

/// Each part of the model in a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PhaseParts {
    /// Forward passes of the profiled round.
    pub steps: u64,
    /// On which side the time was measured.
    pub timeline: TimelineSide,
    /// All of the time: the sum of the parts.
    pub measured_ns: i64,
    /// The part of it that belongs to no part of the model, 0 to 1; null where there is none at all.
    pub(crate) other_share: Option<f64>,
    /// The parts, most time first; those without any follow.
    pub parts: Vec<PartRow>,
}

/// A part of the model in a phase.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct PartRow {
    /// The part, as `attention.core`; `other` is what belongs to none.
    pub part: String,
    /// Useful operations of the matrix units; null for what the static model does not have.
    pub flops: Option<u128>,
    /// Bytes that had to move; null as above.
    pub bytes: Option<u128>,
    /// The lower bound on the device.
    pub floor_ns: Option<f64>,
    /// The time that was measured; null where nothing was attributed to it.
    pub measured_ns: Option<i64>,
    /// Its part of the phase's time, 0 to 1.
    pub share: Option<f64>,
    /// The lower bound / the measured time.
    pub floor_share: Option<f64>,
    /// What is null, and why.
    pub(crate) not_computed: BTreeMap<String, String>,
}

/// The part of the model that a class of operators belongs to: as coarse as the names of modules.
///
/// ```
/// use rooflens_cost::{classes, measured::part_of};
/// assert_eq!(part_of("attn.qkv"), Some("attention.projections"));
/// assert!(classes::ALL.iter().all(|(class, _)| part_of(class).is_some()));
/// ```
pub fn part_of(class: &str) -> Option<&'static str> {
    Some(match class {
        "embed" | "ple.proj" => "embedding",
        "norm" | "hc" => "norm",
        "attn.core" | "cross.core" | "attn.linear" | "rope" | "dsa.idx_core" => "attention.core",
        "lm_head" => "lm_head",
        "mlp" => "mlp",
        _ => match class.split_once('.')?.0 {
            "attn" | "cross" | "dsa" => "attention.projections",
            "gdn" | "mamba" | "conv" => "state",
            "moe" => "moe",
            "mtp" => "draft",
            "vision" | "audio" => "vision",
            "comm" => "communication",
            _ => return None,
        },
    })
}

const ASSUMPTIONS: &[&str] = &[
    "a module belongs to a part of the model by its name; everything else is `other`",
    "profiler overhead is included, most of it around small operators: shares are more reliable than times",
    "element-wise work is counted as fused, but measured in its own module",
];

/// Joins what the profiled round had to do with what was measured in it. `no_device` says why no device is
/// known.
pub fn static_vs_measured(
    model: &Model,
    setup: &Setup,
    device: Option<&Device>,
    no_device: &str,
    ran: &[Ran],
    measured: &[MeasuredPhase],
) -> StaticVsMeasured {
    let roof = device.and_then(|device| Roof::of_setup(device, setup));
    let work = by_phase(model, setup, roof.as_ref(), ran);
    let joined = |measured: &MeasuredPhase| match work.get(&measured.phase) {
        Some(Ok(work)) => {
            let lacking = match device.filter(|_| roof.is_some()) {
                None => Some(no_device.to_owned()),
                Some(device) => work.unknown_rate(device),
            };
            Ok(join(work, lacking.as_deref(), measured))
        }
        Some(Err(reason)) => Err(reason.clone()),
        None => Err("steps.csv has no step of this phase in the profiled round".to_owned()),
    };
    let (phases, mut not_computed) = computed(measured.iter().map(|one| (one.phase, joined(one))));
    if roof.is_none() {
        not_computed.insert("device".to_owned(), no_device.to_owned());
    }
    let device = device.map(|device| device.name.clone());
    StaticVsMeasured {
        device,
        phases,
        assumptions: ASSUMPTIONS.iter().map(|line| (*line).to_owned()).collect(),
        not_computed,
    }
}

fn join(work: &RanWork, lacking: Option<&str>, measured: &MeasuredPhase) -> PhaseParts {
    let mut costs: BTreeMap<&str, ClassWork> = BTreeMap::new();
    for (class, cost) in &work.classes {
        let sum = costs.entry(part_of(class).unwrap_or(OTHER)).or_default();
        sum.work += cost.work;
        sum.seconds += cost.seconds;
    }
    let mut times: BTreeMap<&str, i64> = BTreeMap::new();
    for part in &measured.parts {
        *times.entry(&part.part).or_default() += part.ns;
    }
    let total = measured.total_ns;
    let mut names: Vec<&str> = costs.keys().chain(times.keys()).copied().collect();
    names.sort_unstable();
    names.dedup();
    // Most time first; what belongs to no part stands last, where it can be seen.
    names.sort_by_key(|name| (*name == OTHER, std::cmp::Reverse(times.get(name).copied().unwrap_or(-1))));
    let row = |name: &&str| {
        let (cost, ns) = (costs.get(name), times.get(name).copied());
        let floor = cost.filter(|_| lacking.is_none()).map(|cost| cost.seconds.bound * 1e9);
        let floor = floor.filter(|floor| *floor > 0.0);
        let mut row = PartRow {
            part: (*name).to_owned(),
            flops: cost.map(|cost| cost.work.flops.useful),
            bytes: cost.map(|cost| cost.work.bytes.total()),
            floor_ns: floor,
            measured_ns: ns,
            share: ns.filter(|_| total > 0).map(|ns| ns as f64 / total as f64),
            floor_share: floor.zip(ns).filter(|(_, ns)| *ns > 0).map(|(floor, ns)| floor / ns as f64),
            not_computed: BTreeMap::new(),
        };
        let no_cost = "the static model has no such part";
        let no_time = "nothing measured is in a module of this part";
        let no_floor = if cost.is_none() { no_cost } else { lacking.unwrap_or("it has nothing to do") };
        let neither = if row.floor_ns.is_none() { no_floor } else { no_time };
        row.not_computed = [
            ("flops", cost.is_none(), no_cost),
            ("bytes", cost.is_none(), no_cost),
            ("floor_ns", row.floor_ns.is_none(), no_floor),
            ("measured_ns", ns.is_none(), no_time),
            ("share", row.share.is_none(), no_time),
            ("floor_share", row.floor_share.is_none(), neither),
        ]
        .into_iter()
        .filter(|(_, is_null, _)| *is_null)
        .map(|(name, _, why)| (name.to_owned(), why.to_owned()))
        .collect();
        row
    };
    let other = times.get(OTHER).copied().unwrap_or(0);
    PhaseParts {
        steps: work.steps,
        timeline: measured.timeline,
        measured_ns: total,
        other_share: (total > 0).then(|| other as f64 / total as f64),
        parts: names.iter().map(row).collect(),
    }
}

const OTHER: &str = "other";
