//! What do single launches lose, and to what? From the counters of Nsight Compute or of
//! rocprof-compute.
//!
//! The counters come from replays, one launch at a time and with the clock held: their times are no part
//! of a timeline and are only weighed by one where that is given.
//!
//! * `counts`: FLOPs and bytes of a launch.
//! * `counters`: how well schedulers, pipes and memory are used.
//! * `asked`: metrics that somebody asked for by name.
//! * `rules`: what to change, by these.
//! * `peaks`: what the device can do, from the same counters.
//! * `bound`: what holds a launch back, and in which sentence.
//! * `occupancy`: how full it is, what limits that, and what its warps wait for.
//! * `shares`: the launches by what holds them back, counted and weighed.
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

mod asked;
mod bound;
pub mod choose;
pub mod counters;
mod counts;
mod name_key;
mod occupancy;
mod peaks;
mod rocm;
#[cfg(test)]
mod rocm_tests;
pub(crate) mod rules;
mod shares;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_catalog::{self, ActivityHint};

pub use asked::{MOST_ASKED, RequestedMetric, expanded};
pub use bound::{BALANCED_WITHIN_PCT, BUSY_FROM_PCT, Bound, RULE, SMALL_GRID_BELOW};
pub(crate) use counters::Counters;
pub(crate) use counts::{MeasuredBytes, MeasuredFlops};
pub use name_key::{mended, name_key, name_pattern};
pub(crate) use occupancy::{Occupancy, Stall};
pub use peaks::{CatalogDevice, DeviceHint, ProfiledPeaks, SourcedPeak, hint};
pub use rules::Suggestion;
pub use shares::{Shares, shares};

/// The tool that profiled launches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfilerTool {
    /// Nsight Compute.
    #[default]
    NsightCompute,
    /// rocprof-compute, once Omniperf.
    RocprofCompute,
}

impl ProfilerTool {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            ProfilerTool::NsightCompute => "Nsight Compute",
            ProfilerTool::RocprofCompute => "rocprof-compute",
        }
    }
}

/// A launch as a profiler told of it: counters by name, in base units.
#[derive(Debug, Clone, Default)]
pub struct ProfiledLaunch {
    /// What told of it.
    pub profiler: ProfilerTool,
    /// Full name.
    pub name: String,
    /// Blocks; in one dimension where only their number is told.
    pub grid: Option<[u64; 3]>,
    /// Threads of a block.
    pub block: Option<[u64; 3]>,
    /// Counters that are numbers.
    pub numbers: BTreeMap<String, f64>,
    /// Counters that are texts.
    pub texts: BTreeMap<String, String>,
    /// Units of counters, in the profiler's words; not of those without one.
    pub units: BTreeMap<String, String>,
    /// Name of the device.
    pub device: Option<String>,
    /// What the profiler's own rules advise.
    pub advice: Vec<ProfilerAdvice>,
}

impl ProfiledLaunch {
    fn number(&self, metric: &str) -> Option<f64> {
        self.numbers.get(metric).copied().filter(|number| number.is_finite())
    }

    /// The first that is there.
    fn first(&self, metrics: &[&str]) -> Option<f64> {
        metrics.iter().find_map(|metric| self.number(metric))
    }

    /// Blocks of the whole grid.
    fn blocks(&self) -> Option<f64> {
        let grid = || self.grid.map(|grid| grid.iter().map(|length| *length as f64).product());
        self.number("launch__grid_size").or_else(grid)
    }
}

/// What a rule of the profiler advises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilerAdvice {
    /// The rule.
    pub rule: String,
    /// The speedup that it estimates, in percent of the launch (`global`) or of the part that it looks at.
    pub speedup_pct: f64,
    /// Whether the estimate is of the whole launch.
    pub global: bool,
    /// What it says.
    pub message: String,
}

/// A launch, measured. What was not measured is null, with the reason in `not_computed`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Kernel {
    /// Place in the input, 0 upwards.
    pub launch: usize,
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// What it does, by the kernel catalog.
    pub class: String,
    /// Blocks.
    pub grid: Option<[u64; 3]>,
    /// Threads of a block.
    pub block: Option<[u64; 3]>,
    /// Registers per thread.
    pub registers: Option<f64>,
    /// Time of the launch under the profiler.
    pub time_ns: Option<f64>,
    /// Time of all launches of this kernel in the timeline; shared evenly where several were profiled.
    pub timeline_ns: Option<f64>,
    /// Floating-point operations by precision.
    pub flops: MeasuredFlops,
    /// Bytes moved at each level.
    pub bytes: MeasuredBytes,
    /// FLOP/B of the leading precision at each level.
    pub intensity: Levels,
    /// FLOP/s of the leading precision.
    pub flops_per_s: Option<f64>,
    /// B/s at each level.
    pub bytes_per_s: Levels,
    /// Percent of the peak of compute: the higher of the busiest unit's, as the profiler counts it, and of FLOP/s
    /// relative to the peak at the launch's clock. What `bound` is decided by.
    pub compute_pct: Option<f64>,
    /// Percent of the peak of the busiest compute unit, as the profiler counts it.
    #[serde(default)]
    pub(crate) compute_counter_pct: Option<f64>,
    /// Percent of the peak of the busiest part of the memory system.
    pub memory_pct: Option<f64>,
    /// The same of device memory.
    pub dram_pct: Option<f64>,
    /// Sectors that the level-1 cache had, percent.
    pub l1_hit_pct: Option<f64>,
    /// The same of the level-2 cache.
    pub l2_hit_pct: Option<f64>,
    /// Percent of what the roofline allows at this intensity, of device memory.
    pub roofline_pct: Option<f64>,
    /// How full the multiprocessors are.
    pub occupancy: Occupancy,
    /// Grid in waves: how often it fills the device.
    pub waves: Option<f64>,
    /// Blocks of the grid by multiprocessors of the device; below 1, some have no block.
    #[serde(default)]
    pub(crate) blocks_per_multiprocessor: Option<f64>,
    /// Warp stall reasons, the most first.
    pub stalls: Vec<Stall>,
    /// How well it uses schedulers, pipes and memory.
    #[serde(default)]
    pub counters: Counters,
    /// Metrics requested by name.
    #[serde(default)]
    pub metrics: BTreeMap<String, RequestedMetric>,
    /// What holds it back.
    pub bound: Option<Bound>,
    /// Lower bound: the time that its traffic and operations take at the device's peaks.
    pub floor_ns: Option<f64>,
    /// What it loses and to what, in words.
    pub loss: String,
    /// The profiler's own advice, the largest speedup first.
    pub advice: Vec<ProfilerAdvice>,
    /// Why a number is null.
    pub(crate) not_computed: BTreeMap<Cow<'static, str>, String>,
}

impl Kernel {
    /// As `80 blocks for 170 multiprocessors`.
    pub(crate) fn blocks_and_multiprocessors(&self) -> String {
        let blocks = self.grid.map(|grid| grid.iter().product::<u64>());
        match (blocks, self.blocks_per_multiprocessor.filter(|each| *each > 0.0)) {
            (Some(blocks), Some(each)) => {
                let are = if blocks == 1 { "block" } else { "blocks" };
                format!("{blocks} {are} for {:.0} multiprocessors", blocks as f64 / each)
            }
            (None, Some(each)) => format!("{each:.2} blocks for each multiprocessor"),
            _ => "blocks for a part of the multiprocessors".to_owned(),
        }
    }
}

/// A number for each level of memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Levels {
    /// Device memory.
    pub dram: Option<f64>,
    /// Level-2 cache.
    pub l2: Option<f64>,
    /// Level-1 cache.
    pub l1: Option<f64>,
}

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

/// What counters tell of a launch, whoever counted.
struct Measured {
    time_ns: Option<f64>,
    flops: MeasuredFlops,
    bytes: MeasuredBytes,
    registers: Option<f64>,
    compute_pct: Option<f64>,
    memory_pct: Option<f64>,
    dram_pct: Option<f64>,
    l1_hit_pct: Option<f64>,
    l2_hit_pct: Option<f64>,
    occupancy: Occupancy,
    waves: Option<f64>,
    blocks_per_multiprocessor: Option<f64>,
    stalls: Vec<Stall>,
    counters: Counters,
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
    for counter in counters::ALL.iter().filter(|counter| (counter.value)(&kernel.counters).is_none()) {
        let why = match launch.profiler {
            ProfilerTool::NsightCompute => counter.missing,
            ProfilerTool::RocprofCompute => "a counter of Nsight Compute",
        };
        kernel.not_computed.insert(counter.name.into(), why.to_owned());
    }
    kernel
}

/// What counters of NVIDIA tell.
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
