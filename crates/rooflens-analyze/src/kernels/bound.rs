//! What holds a launch back.

use super::kernel::{Bound, Kernel};
use super::launch::{ProfiledLaunch, ProfilerTool};
use super::peaks::{self, ProfiledPeaks};
use crate::kernel_catalog::KernelClass;
use rooflens_schema::format::{amount, time};

/// A unit that is busy at least so much, in percent of its peak, can be what holds a launch back. The
/// profiler's own rule has the same: `latency_bound_threshold = 60` of SOLBottleneck (`sections/SpeedOfLight.py` of
/// Nsight Compute 2024.2), over the same two metrics.
pub const BUSY_FROM_PCT: f64 = 60.0;
/// Compute and memory within so many points of each other hold it back together; the same rule's
/// `balanced_threshold = 10`, from which on one leads. That rule calls nothing balanced from 80 % of either up, as
/// there is no more to gain: here the class is told, not what could be gained, so it holds there too.
pub const BALANCED_WITHIN_PCT: f64 = 10.0;
/// A grid with fewer blocks for each multiprocessor than this is small: a quarter of the device and more has nothing
/// to do. Above it, to fill the device would gain less than a third.
pub const SMALL_GRID_BELOW: f64 = 0.75;
/// Blocks that allow fewer warps than this, in percent of what a multiprocessor holds, are named as the cause of
/// latency.
const LOW_OCCUPANCY_BELOW_PCT: f64 = 25.0;
/// Values of the profiler that differ by less, relative to each other, are those of one counter.
const SAME_COUNTER: f64 = 1e-6;

/// The rule in words.
pub const RULE: &str = "compute is the higher of the profiler's value and FLOP/s relative to the peak at the \
                        launch's clock; latency: neither compute nor memory reaches 60 % of its peak; \
                        launch: the same, with fewer than 3 blocks for 4 multiprocessors; else the busier of \
                        the two, or balanced within 10 points; one value for both is one pipe, load/store: \
                        memory; a kernel that only moves data is never compute or \
                        balanced";

/// Fills what holds a kernel back, its floor and the sentence.
pub fn judge(kernel: &mut Kernel, device: &ProfiledPeaks, class: KernelClass, launch: &ProfiledLaunch) {
    let clock = peaks::clock(launch);
    let moves = only_moves(kernel, class);
    let leading = kernel.flops.leading.clone();
    // A device may do less with a type than the profiler's percentage has for its peak: bf16 on a GeForce.
    let peak = leading.as_deref().and_then(|precision| device.at_clock(precision, clock));
    let reached = || Some(100.0 * kernel.flops_per_s? / peak?);
    let counted = kernel.compute_pct;
    kernel.compute_pct = match (counted, reached()) {
        (Some(told), Some(reached)) => Some(told.max(reached.min(100.0))),
        (told, _) => told,
    };
    let pipe = SharedPipe::of(kernel, launch);
    let busy = Busy { compute: kernel.compute_pct, memory: kernel.memory_pct, is_one_pipe: pipe.is_some() };
    kernel.bound = bound(busy, kernel.blocks_per_multiprocessor, moves);
    kernel.roofline_pct = leading.as_deref().and_then(|precision| {
        let attainable = device.attainable(precision, kernel.intensity.dram?)?;
        Some(100.0 * kernel.flops_per_s? / attainable)
    });
    let by_memory = || Some(kernel.bytes.dram? / device.dram.as_ref()?.per_s * 1e9);
    let by_compute = || Some(kernel.flops.leading_flops()? / peak? * 1e9);
    kernel.floor_ns = by_memory().map(|memory| memory.max(by_compute().unwrap_or(0.0)));
    kernel.loss = loss(kernel, device, (counted, pipe), peak);
}

/// A pipe that the profiler counts both as compute and as memory.
#[derive(Debug, Clone, Copy, PartialEq)]
enum SharedPipe {
    /// Load/store, as its own counters show.
    LoadStore,
    /// Its counters were not collected, or are those of another.
    Unknown,
}

impl SharedPipe {
    /// `None` where two units lead, or where compute is not what the profiler counted. One unit leads where
    /// `sm__throughput` and `gpu__compute_memory_throughput` are the same number: both are the maximum of their parts,
    /// and some of these, as `sm__inst_executed_pipe_lsu` and `l1tex__lsuin_requests`, count the same.
    fn of(kernel: &Kernel, launch: &ProfiledLaunch) -> Option<Self> {
        let (compute, memory) = (kernel.compute_pct?, kernel.memory_pct?);
        let same = |value: f64| (value - memory).abs() <= SAME_COUNTER * memory;
        let is_one = memory > 0.0 && same(compute) && launch.profiler == ProfilerTool::NsightCompute;
        let is_load_store = LOAD_STORE.iter().any(|metric| launch.number(metric).is_some_and(same));
        is_one.then_some(if is_load_store { SharedPipe::LoadStore } else { SharedPipe::Unknown })
    }

    fn words(self) -> &'static str {
        match self {
            SharedPipe::LoadStore => "the load/store (LSU/L1) pipe",
            SharedPipe::Unknown => {
                "a pipe that counts as both compute and memory, as load/store (LSU/L1) does,"
            }
        }
    }
}

/// Counters of the load/store pipe: parts of both throughputs.
const LOAD_STORE: &[&str] = &[
    "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
    "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
];

/// What decides: percent of the peaks, and whether one pipe is both.
#[derive(Debug, Clone, Copy)]
struct Busy {
    compute: Option<f64>,
    memory: Option<f64>,
    is_one_pipe: bool,
}

fn bound(busy: Busy, blocks_per_multiprocessor: Option<f64>, moves: bool) -> Option<Bound> {
    let (compute, memory) = (busy.compute?, busy.memory?);
    let compute_counts = compute >= BUSY_FROM_PCT && !moves;
    if !compute_counts && memory < BUSY_FROM_PCT {
        let too_small = blocks_per_multiprocessor.is_some_and(|blocks| blocks < SMALL_GRID_BELOW);
        return Some(if too_small { Bound::Launch } else { Bound::Latency });
    }
    Some(match compute - memory {
        _ if moves || busy.is_one_pipe => Bound::Memory,
        ahead if ahead.abs() < BALANCED_WITHIN_PCT => Bound::Balanced,
        ahead if ahead > 0.0 => Bound::Compute,
        _ => Bound::Memory,
    })
}

/// Whether a kernel computes nothing: what its multiprocessors do is addresses.
fn only_moves(kernel: &Kernel, class: KernelClass) -> bool {
    let without_flops = kernel.flops.leading_flops() == Some(0.0);
    match class {
        KernelClass::Copy | KernelClass::Memcpy | KernelClass::Memset | KernelClass::KvCache => true,
        KernelClass::Embedding | KernelClass::Elementwise => {
            without_flops || kernel.name.contains("FillFunctor")
        }
        _ => false,
    }
}

fn loss(
    kernel: &Kernel,
    device: &ProfiledPeaks,
    (counted, pipe): (Option<f64>, Option<SharedPipe>),
    peak: Option<f64>,
) -> String {
    let Some(ns) = kernel.time_ns else { return "its time was not collected".to_owned() };
    let mut words = time(ns);
    if let Some(floor) = kernel.floor_ns {
        words += &format!(" where {}", needed(kernel, device, floor, peak));
    }
    let percent = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.0}"));
    let (compute, memory) = (percent(kernel.compute_pct), percent(kernel.memory_pct));
    // The profiler's counter and FLOP/s may tell two stories: whoever decides is named, and so is the other.
    let by_flops = kernel.compute_pct.zip(counted).filter(|(compute, counted)| compute > counted);
    let compute_is = match by_flops {
        Some((compute, counted)) => {
            format!(
                "compute is at {compute:.0} % of its peak by FLOP/s (SM throughput counter: {counted:.0} %)"
            )
        }
        None => format!("compute is {compute} % busy"),
    };
    // What compute takes beyond its floor is no loss to anything that was measured.
    let lost = kernel.floor_ns.map(|floor| format!(": {:.0} % is lost", 100.0 * (1.0 - floor / ns).max(0.0)));
    let lost = lost.unwrap_or_else(|| ": time is lost".to_owned());
    words += &match kernel.bound {
        Some(Bound::Memory) if pipe.is_some() => {
            format!("; {} is {memory} % busy", pipe.map_or("", SharedPipe::words))
        }
        Some(Bound::Memory)
            if kernel.memory_pct.zip(kernel.dram_pct).is_some_and(|(all, dram)| dram < all / 2.0) =>
        {
            format!("{lost} to the caches (memory {memory} % busy, DRAM {} %)", percent(kernel.dram_pct))
        }
        Some(Bound::Memory) => format!("; memory is {memory} % busy"),
        Some(Bound::Compute) => format!("; {compute_is}"),
        Some(Bound::Balanced) => match by_flops {
            Some(_) => format!("; {compute_is}, memory is {memory} % busy"),
            None => format!("; compute is {compute} % and memory {memory} % busy"),
        },
        Some(Bound::Latency) => {
            let is_low = kernel.occupancy.theoretical_pct.is_some_and(|pct| pct < LOW_OCCUPANCY_BELOW_PCT);
            let occupancy = if is_low { " at low occupancy" } else { "" };
            format!("{lost} to latency{occupancy} (compute {compute} %, memory {memory} % busy)")
        }
        Some(Bound::Launch) => {
            format!("{lost} to latency in a small grid ({})", kernel.blocks_and_multiprocessors())
        }
        None => String::new(),
    };
    let occupancy = &kernel.occupancy;
    if matches!(kernel.bound, Some(Bound::Latency | Bound::Launch))
        && let (Some(achieved), Some(theoretical)) = (occupancy.achieved_pct, occupancy.theoretical_pct)
    {
        let by = match occupancy.limited_by.as_slice() {
            [] => String::new(),
            limits => format!(", limited by {}", limits.join(" and ").replace('_', " ")),
        };
        words += &format!("; occupancy {achieved:.0} of {theoretical:.0} %{by}");
    }
    if let Some(stall) = kernel.stalls.first() {
        words += &format!(
            "; {:.0} % of warp time is stall {}",
            100.0 * stall.share,
            stall.reason.replace('_', " ")
        );
    }
    words
}

fn needed(kernel: &Kernel, device: &ProfiledPeaks, floor: f64, peak: Option<f64>) -> String {
    let traffic =
        kernel.bytes.dram.zip(device.dram.as_ref()).filter(|(bytes, peak)| bytes / peak.per_s * 1e9 >= floor);
    if let Some((bytes, peak)) = traffic {
        return format!(
            "its traffic needs {} ({} at {})",
            time(floor),
            amount(bytes, "B"),
            amount(peak.per_s, "B/s")
        );
    }
    let flops = kernel.flops.leading_flops().unwrap_or(0.0);
    let precision = kernel.flops.leading.as_deref().unwrap_or_default();
    let precision = precision.replace('_', " ");
    format!(
        "its operations need {} ({} of {precision} at {})",
        time(floor),
        amount(flops, "FLOP"),
        amount(peak.unwrap_or(0.0), "FLOP/s")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule() {
        let cases = [
            ((70.0, 20.0, 5.0, false), Bound::Compute),
            ((20.0, 70.0, 5.0, false), Bound::Memory),
            ((70.0, 65.0, 5.0, false), Bound::Balanced),
            ((59.9, 59.9, 5.0, false), Bound::Latency),
            // 80 blocks on 170 multiprocessors leave more than half of them without one.
            ((38.8, 13.6, 80.0 / 170.0, true), Bound::Launch),
            // 96 blocks on 108 give a block to 89 % of them: a full wave would gain an eighth.
            ((14.8, 22.0, 96.0 / 108.0, false), Bound::Latency),
            // 1,600 blocks on 170 are 9.4 on each, whatever more it could hold.
            ((12.0, 34.0, 1600.0 / 170.0, false), Bound::Latency),
            // A copy whose multiprocessors are busy is not bound by compute.
            ((95.0, 20.0, 5.0, true), Bound::Latency),
            ((95.0, 92.0, 5.0, true), Bound::Memory),
        ];
        let busy = |compute, memory| Busy { compute, memory, is_one_pipe: false };
        for ((compute, memory, blocks, moves), expected) in cases {
            assert_eq!(
                bound(busy(Some(compute), Some(memory)), Some(blocks), moves),
                Some(expected),
                "{compute} {memory}"
            );
        }
        assert_eq!(bound(busy(Some(10.0), Some(10.0)), None, false), Some(Bound::Latency));
        assert_eq!(bound(busy(None, Some(10.0)), None, false), None);
        let one = Busy { is_one_pipe: true, ..busy(Some(97.7), Some(97.7)) };
        assert_eq!(bound(one, Some(5.0), false), Some(Bound::Memory), "load/store is no arithmetic");
    }
}
