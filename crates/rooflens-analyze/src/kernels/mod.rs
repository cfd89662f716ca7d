//! What do single launches lose, and to what? From the counters of Nsight Compute or of
//! rocprof-compute.
//!
//! The counters come from replays, one launch at a time and with the clock held: their times are no part
//! of a timeline and are only weighed by one where that is given.
//!
//! * `counts`: FLOPs and bytes of a launch.
//! * `counters`: how well schedulers, pipes and memory are used.
//! * `rules`: what to change, by these.
//! * `peaks`: what the device can do, from the same counters.
//! * `bound`: what holds a launch back, and in which sentence.
//! * `occupancy`: how full it is, what limits that, and what its warps wait for.
//! * `rocm`: all of that from AMD's counters; the rest of the files is of NVIDIA's.
//! * `name_key`: names as Nsight Systems, Nsight Compute and Kineto write them, made comparable.
//!
//! ```
//! use rooflens_analyze::kernels::name_key;
//!
//! // One kernel, as Nsight Systems and as Nsight Compute write it.
//! let systems = "void gemm<(int)7, (bool)1>(float *)";
//! let compute = "void gemm<7, 1>(float *)";
//! assert_eq!(name_key(systems), name_key(compute));
//! ```

mod bound;
pub mod choose;
pub mod counters;
mod counts;
mod kernel;
mod launch;
mod name_key;
mod occupancy;
mod peaks;
mod rocm;
#[cfg(test)]
mod rocm_tests;
mod rules;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::bound::RULE;
use self::kernel::Measured;
use crate::kernel_catalog::{self, ActivityHint};

pub use kernel::{Bound, Kernel, Levels};
pub use launch::{ProfiledLaunch, ProfilerAdvice, ProfilerTool, RequestedMetric};
pub use name_key::{mended, name_key, name_pattern};
pub use peaks::{CatalogDevice, DeviceHint, ProfiledPeaks, SourcedPeak, hint};
pub use rules::Suggestion;

/// Columns at most.
pub const MOST_ASKED: usize = 50;

/// All launches, and the device.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// What profiled the launches.
    pub profiler: ProfilerTool,
    /// What the device can do.
    pub device: ProfiledPeaks,
    /// How launches are classed.
    pub rule: Cow<'static, str>,
    /// The launches, most time first.
    pub kernels: Vec<Kernel>,
    /// Metrics requested by name.
    #[serde(skip)]
    pub asked: Vec<&'static str>,
    /// The launches by what holds them back.
    pub shares: Vec<Shares>,
    /// What to change, by the counters: most time first.
    #[serde(default)]
    pub suggestions: Vec<Suggestion>,
    /// Part of the timeline's device time whose kernels were profiled, 0 to 1; null without a timeline.
    pub timeline_share_profiled: Option<f64>,
    /// Kernels of the timeline that no profiled launch is of, most time first.
    pub timeline_not_profiled: Vec<UnprofiledKernel>,
}

/// A kernel of the timeline that was not profiled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnprofiledKernel {
    /// Its name, as the timeline has it.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// Its time there.
    pub timeline_ns: f64,
    /// Share of the time of all kernels there, 0 to 1.
    pub timeline_share: f64,
}

/// Times of a timeline: by [`name_key`], the name as it is written there, and nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct TimelineDurations(BTreeMap<String, (String, f64)>);

impl TimelineDurations {
    /// Adds the time of a kernel.
    pub fn add(&mut self, name: &str, ns: f64) {
        self.0.entry(name_key(name)).or_insert_with(|| (name.to_owned(), 0.0)).1 += ns;
    }

    fn total_ns(&self) -> f64 {
        self.0.values().map(|(_, ns)| ns).sum()
    }
}

/// Everything about the launches of one device. `known` is what a catalog says of the device.
pub fn profile(
    launches: &[ProfiledLaunch],
    known: Option<&CatalogDevice>,
    timeline: Option<&TimelineDurations>,
) -> Profile {
    let device = peaks::peaks(launches, known);
    let mut profiled: BTreeMap<String, usize> = BTreeMap::new();
    for launch in launches {
        *profiled.entry(name_key(&launch.name)).or_default() += 1;
    }
    let real = |launch: &ProfiledLaunch| {
        let key = name_key(&launch.name);
        Some(timeline?.0.get(&key)?.1 / *profiled.get(&key)? as f64)
    };
    let mut kernels: Vec<Kernel> = launches
        .iter()
        .enumerate()
        .map(|(at, launch)| kernel(at, launch, &device, real(launch), timeline.is_some()))
        .collect();
    let time = |kernel: &Kernel| kernel.timeline_ns.or(kernel.time_ns.filter(|_| timeline.is_none()));
    kernels.sort_by(|a, b| time(b).unwrap_or(-1.0).total_cmp(&time(a).unwrap_or(-1.0)));
    let timeline_share_profiled = timeline.and_then(|timeline| {
        let all = timeline.total_ns();
        let met: f64 = kernels.iter().filter_map(|kernel| kernel.timeline_ns).sum();
        (all > 0.0).then(|| met / all)
    });
    let shares = shares(&kernels);
    let timeline_not_profiled = timeline.map(|timeline| unprofiled(timeline, &profiled)).unwrap_or_default();
    let profiler = launches.first().map(|launch| launch.profiler).unwrap_or_default();
    let suggestions = rules::suggestions(&kernels);
    Profile {
        profiler,
        device,
        rule: RULE.into(),
        kernels,
        asked: Vec::new(),
        shares,
        suggestions,
        timeline_share_profiled,
        timeline_not_profiled,
    }
}

/// Launches with the same limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// What limits them.
    pub bound: Bound,
    /// How many.
    pub launches: usize,
    /// Share of the classed launches, 0 to 1.
    pub launch_share: f64,
    /// Share of the time of the classed launches under the profiler.
    pub time_share: Option<f64>,
    /// Share of the time that the timeline has of them; null without one.
    pub timeline_share: Option<f64>,
}

fn shares(kernels: &[Kernel]) -> Vec<Shares> {
    let classed: Vec<&Kernel> = kernels.iter().filter(|kernel| kernel.bound.is_some()).collect();
    let sum = |of: &[&Kernel], time: fn(&Kernel) -> Option<f64>| {
        of.iter().filter_map(|kernel| time(kernel)).fold(0.0, |sum: f64, time| sum + time)
    };
    let part = |of: &[&Kernel], time: fn(&Kernel) -> Option<f64>| {
        let all = sum(&classed, time);
        (all > 0.0).then(|| sum(of, time) / all)
    };
    let row = |bound: &Bound| {
        let of: Vec<&Kernel> =
            classed.iter().copied().filter(|kernel| kernel.bound == Some(*bound)).collect();
        (!of.is_empty()).then(|| Shares {
            bound: *bound,
            launches: of.len(),
            launch_share: of.len() as f64 / classed.len() as f64,
            time_share: part(&of, |kernel| kernel.time_ns),
            timeline_share: part(&of, |kernel| kernel.timeline_ns),
        })
    };
    Bound::ALL.iter().filter_map(row).collect()
}

/// The names of metrics that a wish stands for: the metric itself, else all that it begins, up to a dot
/// (`dram__bytes` for `dram__bytes.sum`); the wish itself where no launch has it.
pub fn expanded(wish: &str, launches: &[ProfiledLaunch]) -> Vec<String> {
    let has = |launch: &ProfiledLaunch| launch.numbers.contains_key(wish) || launch.texts.contains_key(wish);
    if launches.iter().any(has) {
        return vec![wish.to_owned()];
    }
    let begun = format!("{wish}.");
    let names = launches.iter().flat_map(|launch| launch.numbers.keys().chain(launch.texts.keys()));
    let mut found: Vec<String> = names.filter(|name| name.starts_with(&begun)).cloned().collect();
    found.sort();
    found.dedup();
    if found.is_empty() { vec![wish.to_owned()] } else { found }
}

impl Profile {
    /// Adds metrics by name to every launch; `launches` are those that the profile was made of.
    pub fn ask(&mut self, launches: &[ProfiledLaunch], names: Vec<&'static str>) {
        for kernel in &mut self.kernels {
            let Some(launch) = launches.get(kernel.launch) else { continue };
            let asked = |name: &&'static str| {
                let (value, text) = (launch.number(name), launch.texts.get(*name).cloned());
                let metric = RequestedMetric { value, text, unit: launch.units.get(*name).cloned() };
                (metric.value.is_some() || metric.text.is_some()).then(|| ((*name).to_owned(), metric))
            };
            kernel.metrics = names.iter().filter_map(asked).collect();
        }
        self.asked = names;
    }
}

fn unprofiled(timeline: &TimelineDurations, profiled: &BTreeMap<String, usize>) -> Vec<UnprofiledKernel> {
    let all = timeline.total_ns();
    let rest = timeline.0.iter().filter(|(key, _)| !profiled.contains_key(*key));
    let mut rest: Vec<UnprofiledKernel> = rest
        .map(|(_, (name, time))| UnprofiledKernel {
            name: name.clone(),
            short_name: kernel_catalog::describe(name, ActivityHint::Kernel).short_name,
            timeline_ns: *time,
            timeline_share: if all > 0.0 { time / all } else { 0.0 },
        })
        .collect();
    rest.sort_by(|a, b| b.timeline_ns.total_cmp(&a.timeline_ns));
    rest
}

fn kernel(
    at: usize,
    launch: &ProfiledLaunch,
    device: &ProfiledPeaks,
    real: Option<f64>,
    has_timeline: bool,
) -> Kernel {
    let info = kernel_catalog::describe(&mended(&launch.name), ActivityHint::Kernel);
    let mut missing: BTreeMap<&'static str, String> = BTreeMap::new();
    let measured = match launch.profiler {
        ProfilerTool::NsightCompute => nsight(launch, info.class, device, &mut missing),
        ProfilerTool::RocprofCompute => rocm::measured(launch, device, &mut missing),
    };
    let Measured { time_ns, flops, bytes, .. } = measured;
    let seconds = time_ns.map(|ns| ns / 1e9);
    let leading = flops.leading_flops();
    let over = |a: Option<f64>, b: Option<f64>| Some(a? / b.filter(|b| *b > 0.0)?);
    let levels = |each: &dyn Fn(Option<f64>) -> Option<f64>| Levels {
        dram: each(bytes.dram),
        l2: each(bytes.l2),
        l1: each(bytes.l1),
    };
    let mut kernel = Kernel {
        launch: at,
        name: launch.name.clone(),
        short_name: info.short_name,
        class: info.class.as_str().to_owned(),
        grid: launch.grid,
        block: launch.block,
        registers: measured.registers,
        time_ns,
        timeline_ns: real,
        intensity: levels(&|moved| over(leading, moved)),
        flops_per_s: over(leading, seconds),
        bytes_per_s: levels(&|moved| over(moved, seconds)),
        flops,
        bytes,
        compute_pct: measured.compute_pct,
        compute_counter_pct: measured.compute_pct,
        memory_pct: measured.memory_pct,
        dram_pct: measured.dram_pct,
        l1_hit_pct: measured.l1_hit_pct,
        l2_hit_pct: measured.l2_hit_pct,
        roofline_pct: None,
        waves: measured.waves,
        blocks_per_multiprocessor: measured.blocks_per_multiprocessor,
        occupancy: measured.occupancy,
        stalls: measured.stalls,
        counters: measured.counters,
        metrics: BTreeMap::new(),
        bound: None,
        floor_ns: None,
        loss: String::new(),
        advice: launch.advice.clone(),
        not_computed: BTreeMap::new(),
    };
    kernel.advice.sort_by(|a, b| b.speedup_pct.total_cmp(&a.speedup_pct));
    bound::judge(&mut kernel, device, info.class, launch);
    note_missing(&mut kernel, missing, has_timeline);
    for (name, _, missing) in kernel.counters.all().into_iter().filter(|(_, value, _)| value.is_none()) {
        let why = match launch.profiler {
            ProfilerTool::NsightCompute => missing,
            ProfilerTool::RocprofCompute => "a counter of Nsight Compute",
        };
        kernel.not_computed.insert(name.into(), why.to_owned());
    }
    kernel
}

fn nsight(
    launch: &ProfiledLaunch,
    class: kernel_catalog::KernelClass,
    device: &ProfiledPeaks,
    missing: &mut BTreeMap<&'static str, String>,
) -> Measured {
    let time_ns = launch.number("gpu__time_duration.sum").filter(|time| *time > 0.0);
    let seconds = time_ns.map(|ns| ns / 1e9);
    let memory_pct = launch.first(&[
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    ]);
    let dram_pct = launch.first(&[
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ]);
    let flops = counts::flops(launch, class, seconds, missing);
    let bytes = counts::bytes(launch, seconds, missing);
    let memory = "section MemoryWorkloadAnalysis was not collected";
    for (what, why) in [
        ("time_ns", "gpu__time_duration.sum was not collected"),
        ("registers", "section LaunchStats was not collected"),
        ("stalls", "section WarpStateStats was not collected"),
        ("occupancy", "section Occupancy was not collected"),
        ("waves", "neither section LaunchStats nor Occupancy was collected"),
        ("blocks_per_multiprocessor", "the grid or the number of multiprocessors is not known"),
        ("compute_pct", "section SpeedOfLight was not collected"),
        ("compute_counter_pct", "section SpeedOfLight was not collected"),
        ("memory_pct", "section SpeedOfLight was not collected"),
        ("dram_pct", "section SpeedOfLight was not collected"),
        ("l1_hit_pct", memory),
        ("l2_hit_pct", memory),
        ("bytes.shared", "not counted under Nsight Compute"),
    ] {
        missing.insert(what, why.to_owned());
    }
    Measured {
        time_ns,
        flops,
        bytes,
        registers: launch.number("launch__registers_per_thread"),
        compute_pct: launch.number("sm__throughput.avg.pct_of_peak_sustained_elapsed"),
        memory_pct: memory_pct.or(dram_pct),
        dram_pct,
        l1_hit_pct: launch.number("l1tex__t_sector_hit_rate.pct"),
        l2_hit_pct: launch.number("lts__t_sector_hit_rate.pct"),
        occupancy: occupancy::occupancy(launch),
        waves: occupancy::waves(launch, device.multiprocessors),
        blocks_per_multiprocessor: occupancy::blocks_per_multiprocessor(launch, device.multiprocessors),
        stalls: occupancy::stalls(launch),
        counters: counters::counters(launch),
    }
}

/// Says why what is null is null. `reasons` has those of what the counters tell, of null and of told numbers.
fn note_missing(kernel: &mut Kernel, reasons: BTreeMap<&'static str, String>, has_timeline: bool) {
    for (what, why) in reasons {
        let told = match what {
            "time_ns" => kernel.time_ns.is_some(),
            "registers" => kernel.registers.is_some(),
            "stalls" => !kernel.stalls.is_empty(),
            "occupancy" => kernel.occupancy.achieved_pct.is_some(),
            "waves" => kernel.waves.is_some(),
            "blocks_per_multiprocessor" => kernel.blocks_per_multiprocessor.is_some(),
            "compute_pct" => kernel.compute_pct.is_some(),
            "compute_counter_pct" => kernel.compute_counter_pct.is_some(),
            "memory_pct" => kernel.memory_pct.is_some(),
            "dram_pct" => kernel.dram_pct.is_some(),
            "l1_hit_pct" => kernel.l1_hit_pct.is_some(),
            "l2_hit_pct" => kernel.l2_hit_pct.is_some(),
            _ => false,
        };
        if !told {
            kernel.not_computed.insert(what.into(), why);
        }
    }
    let mut say = |absent: bool, what: &'static str, why: &str| {
        if absent {
            kernel.not_computed.entry(what.into()).or_insert_with(|| why.to_owned());
        }
    };
    say(kernel.bound.is_none(), "bound", "percent of peak of compute or memory was not collected");
    let no_flops = kernel.flops.leading_flops() == Some(0.0);
    let why =
        if no_flops { "it has no floating-point operations" } else { "FLOPs, bytes or time are missing" };
    say(kernel.roofline_pct.is_none(), "roofline_pct", why);
    say(kernel.floor_ns.is_none(), "floor_ns", "bytes of device memory or its peak are missing");
    let why =
        if has_timeline { "no kernel of this name is in the timeline" } else { "no --timeline was given" };
    say(kernel.timeline_ns.is_none(), "timeline_ns", why);
    for (level, absent) in [
        ("intensity.dram", kernel.intensity.dram.is_none()),
        ("intensity.l2", kernel.intensity.l2.is_none()),
        ("intensity.l1", kernel.intensity.l1.is_none()),
    ] {
        say(absent, level, "FLOPs or bytes of this level are missing");
    }
}
