//! What the device can do, from the counters of its launches; a catalog fills what they do not tell.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::{ProfiledLaunch, ProfilerTool};
use super::rocm;

/// Bytes that a level-1 cache gives its multiprocessor in a cycle: the profiler's own hierarchical roofline takes
/// `l1tex__lsu_writeback_active × 128` (`SpeedOfLight_HierarchicalSingleRooflineChart.section`, Nsight Compute
/// 2024.2).
const L1_BYTES_A_CYCLE: f64 = 128.0;
/// Fused multiply-adds of FP32 that a multiprocessor of a compute capability does in a cycle (CUDA C++
/// Programming Guide, "Arithmetic Instructions").
fn fp32_lanes(capability: (u64, u64)) -> Option<f64> {
    match capability {
        (7, _) | (8, 0) => Some(64.0),
        (8, _) | (9, _) | (10, _) | (12, _) => Some(128.0),
        _ => None,
    }
}

/// A peak and where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourcedPeak {
    /// FLOP/s or B/s.
    pub per_s: f64,
    /// `counters`; `benchmark` where rocprof-compute measured it, `sysinfo` where it computed it; `catalog`.
    pub source: Cow<'static, str>,
}

/// What a catalog says of a device.
#[derive(Debug, Clone, Default)]
pub struct CatalogDevice {
    /// Its name there.
    pub name: String,
    /// Peak bandwidth of its memory.
    pub bytes_per_s: Option<f64>,
    /// Dense peaks by precision, those of tensor cores as `tensor_bf16`.
    pub flops_per_s: Vec<(String, f64)>,
}

/// What the device can do at most.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProfiledPeaks {
    /// Name that the report or the catalog has.
    pub name: Option<String>,
    /// Compute capability, as `12.0`.
    pub compute_capability: Option<String>,
    /// Multiprocessors.
    pub multiprocessors: Option<f64>,
    /// FLOP/s by precision.
    pub flops_per_s: BTreeMap<String, SourcedPeak>,
    /// B/s of device memory.
    pub dram: Option<SourcedPeak>,
    /// B/s of the level-2 cache.
    pub l2: Option<SourcedPeak>,
    /// B/s of all level-1 caches.
    pub l1: Option<SourcedPeak>,
    /// B/s of the shared memory of all multiprocessors.
    pub shared: Option<SourcedPeak>,
    /// The clock that peaks from counters are at, and the one that those of the catalog are at.
    #[serde(skip)]
    pub(crate) clocks: (Option<f64>, Option<f64>),
    /// Why a peak is absent.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

impl ProfiledPeaks {
    /// The peak of a precision at the clock of a launch: what the device could do at that moment. The peak itself where
    /// a clock is not known.
    pub(crate) fn at_clock(&self, precision: &str, clock: Option<f64>) -> Option<f64> {
        let peak = self.flops_per_s.get(precision)?;
        let of_peak = if peak.source == "catalog" { self.clocks.1 } else { self.clocks.0 };
        let part = clock.zip(of_peak).map_or(1.0, |(clock, of_peak)| clock / of_peak);
        Some(peak.per_s * part.min(1.0))
    }

    /// The highest FLOP/s that is attainable at an intensity of device memory.
    pub(crate) fn attainable(&self, precision: &str, intensity: f64) -> Option<f64> {
        let ceiling = self.flops_per_s.get(precision)?.per_s;
        Some(ceiling.min(intensity * self.dram.as_ref()?.per_s))
    }
}

/// By what a catalog may find the device.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeviceHint {
    /// Its name.
    pub name: Option<String>,
    /// Its compute capability.
    pub capability: Option<(u64, u64)>,
    /// Its multiprocessors.
    pub multiprocessors: Option<f64>,
}

/// What the launches tell of their device.
pub fn hint(launches: &[ProfiledLaunch]) -> DeviceHint {
    let capability = launches.iter().find_map(|launch| {
        let part = |name: &str| launch.number(&format!("device__attribute_compute_capability_{name}"));
        Some((part("major")? as u64, part("minor")? as u64))
    });
    let told = |launch: &ProfiledLaunch| {
        launch.first(&["device__attribute_multiprocessor_count", "launch__sm_count", "sysinfo.cu_per_gpu"])
    };
    let by_lanes = |launch: &ProfiledLaunch| Some(peak_a_cycle(launch, 'f')? / fp32_lanes(capability?)?);
    DeviceHint {
        name: launches.iter().find_map(|launch| launch.device.clone()),
        capability,
        multiprocessors: launches.iter().find_map(told).or_else(|| launches.iter().find_map(by_lanes)),
    }
}

fn peak_a_cycle(launch: &ProfiledLaunch, letter: char) -> Option<f64> {
    let name = format!("sass_thread_inst_executed_op_{letter}fma_pred_on");
    let twice = || launch.number(&format!("derived__sm__{name}_x2")).map(|twice| twice / 2.0);
    launch.number(&format!("sm__{name}.sum.peak_sustained")).or_else(twice).filter(|peak| *peak > 0.0)
}

/// The peaks. Clocks differ from launch to launch: the highest is the device's, so that no launch stands
/// above a roof for its clock.
pub(crate) fn peaks(launches: &[ProfiledLaunch], known: Option<&CatalogDevice>) -> ProfiledPeaks {
    let is_rocm = launches.first().is_some_and(|launch| launch.profiler == ProfilerTool::RocprofCompute);
    let mut peaks = if is_rocm { rocm::peaks(launches) } else { counted(launches) };
    let hint = hint(launches);
    peaks.name = hint.name.clone().or(known.map(|known| known.name.clone()));
    let highest = launches.iter().filter_map(clock).max_by(f64::total_cmp);
    peaks.clocks = (highest, known.and_then(|known| boost(known, &hint)));
    if let Some(known) = known {
        for (precision, per_s) in &known.flops_per_s {
            let peak = SourcedPeak { per_s: *per_s, source: "catalog".into() };
            peaks.flops_per_s.entry(precision.clone()).or_insert(peak);
        }
        if let (None, Some(per_s)) = (&peaks.dram, known.bytes_per_s) {
            peaks.dram = Some(SourcedPeak { per_s, source: "catalog".into() });
            peaks.not_computed.remove("dram");
        }
    }
    peaks
}

pub(super) fn highest(
    launches: &[ProfiledLaunch],
    source: &'static str,
    of: &dyn Fn(&ProfiledLaunch) -> Option<f64>,
) -> Option<SourcedPeak> {
    let all = launches.iter().filter_map(of).filter(|peak| peak.is_finite() && *peak > 0.0);
    all.max_by(f64::total_cmp).map(|per_s| SourcedPeak { per_s, source: source.into() })
}

pub(crate) fn clock(launch: &ProfiledLaunch) -> Option<f64> {
    launch
        .first(&["sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"])
        .filter(|clock| *clock > 0.0)
}

/// The clock that the catalog's peaks are at, by what a multiprocessor does per cycle.
fn boost(known: &CatalogDevice, hint: &DeviceHint) -> Option<f64> {
    let fp32 = known.flops_per_s.iter().find(|(precision, _)| precision == "fp32")?.1;
    Some(fp32 / (2.0 * fp32_lanes(hint.capability?)? * hint.multiprocessors?))
}

fn counted(launches: &[ProfiledLaunch]) -> ProfiledPeaks {
    let hint = hint(launches);
    let highest = |of: &dyn Fn(&ProfiledLaunch) -> Option<f64>| highest(launches, "counters", of);
    let mut peaks = ProfiledPeaks {
        compute_capability: hint.capability.map(|(major, minor)| format!("{major}.{minor}")),
        multiprocessors: hint.multiprocessors,
        dram: highest(&|launch| {
            let bytes = launch.number("dram__bytes.sum.peak_sustained")?;
            Some(bytes * launch.number("dram__cycles_elapsed.avg.per_second")?)
        }),
        // Sectors that all slices pass in a cycle, at the clock of the slices.
        l2: highest(&|launch| {
            let sectors = launch.number("lts__t_sectors.avg.peak_sustained")?;
            per_second(launch, sectors * 32.0 * launch.number("lts__cycles_elapsed.sum")?)
        }),
        l1: highest(&|launch| {
            per_second(launch, L1_BYTES_A_CYCLE * launch.number("l1tex__cycles_elapsed.sum")?)
        }),
        ..ProfiledPeaks::default()
    };
    for (precision, letter) in [("fp32", 'f'), ("fp64", 'd'), ("fp16", 'h')] {
        let peak = highest(&|launch| Some(2.0 * peak_a_cycle(launch, letter)? * clock(launch)?));
        peaks.flops_per_s.extend(peak.map(|peak| (precision.to_owned(), peak)));
    }
    for (key, peak, metric) in [
        ("dram", &peaks.dram, "dram__bytes.sum.peak_sustained and its clock were"),
        ("l2", &peaks.l2, "lts__t_sectors.avg.peak_sustained and its cycles were"),
        ("l1", &peaks.l1, "l1tex__cycles_elapsed was"),
        ("shared", &peaks.shared, "shared memory was"),
    ] {
        if peak.is_none() {
            peaks.not_computed.insert(key.into(), format!("{metric} not collected"));
        }
    }
    peaks
}

fn per_second(launch: &ProfiledLaunch, amount: f64) -> Option<f64> {
    Some(amount / (launch.number("gpu__time_duration.sum")? / 1e9))
}
