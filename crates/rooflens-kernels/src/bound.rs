//! What holds a launch back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Kernel, ProfiledPeaks};
use rooflens_analyze::kernel_catalog::KernelClass;

/// A unit that is busy at least so much, in percent of its peak, can be what holds a launch back. The
/// profiler's own rule has the same: `latency_bound_threshold = 60` of SOLBottleneck (`sections/SpeedOfLight.py` of
/// Nsight Compute 2024.2), over the same two metrics.
pub const BUSY_FROM_PCT: f64 = 60.0;
/// Compute and memory within so many points of each other hold it back together; the same rule's
/// `balanced_threshold = 10`, from which on one leads. That rule calls nothing balanced from 80 % of either up, as
/// there is no more to gain: here the class is told, not what could be gained, so it holds there too.
pub const BALANCED_WITHIN_PCT: f64 = 10.0;

/// The rule in words.
pub const RULE: &str = "compute is the higher of the profiler's value and FLOP/s relative to the peak at the \
                        launch's clock; latency: neither compute nor memory reaches 60 % of its peak; \
                        launch: the same, and the grid fills less than one wave of the device; else the \
                        busier of the two, or balanced where they are within 10 points; a kernel that only \
                        moves data (copies, fills, casts without FLOPs) is never compute or balanced";

/// What holds a launch back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A part of the memory system.
    Memory,
    /// A pipe of the multiprocessors.
    Compute,
    /// Both alike.
    Balanced,
    /// Neither: warps wait.
    Latency,
    /// Neither: there are too few blocks to fill the device.
    Launch,
}

impl Bound {
    /// Each of them.
    pub const ALL: &'static [Bound] =
        &[Bound::Memory, Bound::Compute, Bound::Balanced, Bound::Latency, Bound::Launch];

    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
            Bound::Balanced => "balanced",
            Bound::Latency => "latency",
            Bound::Launch => "launch",
        }
    }
}

/// Fills what holds a kernel back, its floor and the sentence.
pub fn judge(kernel: &mut Kernel, device: &ProfiledPeaks, class: KernelClass, clock: Option<f64>) {
    let moves = only_moves(kernel, class);
    let leading = kernel.flops.leading.clone();
    // A device may do less with a type than the profiler's percentage has for its peak: bf16 on a GeForce.
    let peak = leading.as_deref().and_then(|precision| device.at_clock(precision, clock));
    let reached = || Some(100.0 * kernel.flops_per_s? / peak?);
    let compute = match (kernel.compute_pct, reached()) {
        (Some(told), Some(reached)) => Some(told.max(reached.min(100.0))),
        (told, _) => told,
    };
    kernel.bound = bound(compute, kernel.memory_pct, kernel.waves, moves);
    kernel.roofline_pct = leading.as_deref().and_then(|precision| {
        let attainable = device.attainable(precision, kernel.intensity.dram?)?;
        Some(100.0 * kernel.flops_per_s? / attainable)
    });
    let by_memory = || Some(kernel.bytes.dram? / device.dram.as_ref()?.per_s * 1e9);
    let by_compute = || Some(kernel.flops.leading_flops()? / peak? * 1e9);
    kernel.floor_ns = by_memory().map(|memory| memory.max(by_compute().unwrap_or(0.0)));
    kernel.loss = loss(kernel, device, compute, peak);
}

/// The rule; see [`RULE`].
fn bound(compute: Option<f64>, memory: Option<f64>, waves: Option<f64>, moves: bool) -> Option<Bound> {
    let (compute, memory) = (compute?, memory?);
    let compute_counts = compute >= BUSY_FROM_PCT && !moves;
    if !compute_counts && memory < BUSY_FROM_PCT {
        let too_small = waves.is_some_and(|waves| waves < 1.0);
        return Some(if too_small { Bound::Launch } else { Bound::Latency });
    }
    Some(match compute - memory {
        _ if moves => Bound::Memory,
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

/// What it loses and to what.
fn loss(kernel: &Kernel, device: &ProfiledPeaks, compute: Option<f64>, peak: Option<f64>) -> String {
    let Some(time) = kernel.time_ns else { return "its time was not collected".to_owned() };
    let mut words = duration(time);
    if let Some(floor) = kernel.floor_ns {
        words += &format!(" where {}", needed(kernel, device, floor, peak));
    }
    let percent = |value: Option<f64>| value.map_or("?".to_owned(), |value| format!("{value:.0}"));
    let (compute, memory) = (percent(compute), percent(kernel.memory_pct));
    // What compute takes beyond its floor is no loss to anything that was measured.
    let lost =
        kernel.floor_ns.map(|floor| format!(": {:.0} % is lost", 100.0 * (1.0 - floor / time).max(0.0)));
    let lost = lost.unwrap_or_else(|| ": time is lost".to_owned());
    words += &match kernel.bound {
        Some(Bound::Memory)
            if kernel.memory_pct.zip(kernel.dram_pct).is_some_and(|(all, dram)| dram < all / 2.0) =>
        {
            format!("{lost} to the caches (memory {memory} % busy, DRAM {} %)", percent(kernel.dram_pct))
        }
        Some(Bound::Memory) => format!("; memory is {memory} % busy"),
        Some(Bound::Compute) => format!("; compute is {compute} % busy"),
        Some(Bound::Balanced) => format!("; compute is {compute} % and memory {memory} % busy"),
        Some(Bound::Latency) => format!("{lost} to latency (compute {compute} %, memory {memory} % busy)"),
        Some(Bound::Launch) => {
            let blocks =
                kernel.grid.map_or("its".to_owned(), |grid| grid.iter().product::<u64>().to_string());
            let waves = kernel.waves.unwrap_or(0.0);
            format!(
                "{lost} to latency, in a grid of less than a wave ({blocks} blocks, {waves:.2} of a wave)"
            )
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

/// The floor in words.
fn needed(kernel: &Kernel, device: &ProfiledPeaks, floor: f64, peak: Option<f64>) -> String {
    let traffic =
        kernel.bytes.dram.zip(device.dram.as_ref()).filter(|(bytes, peak)| bytes / peak.per_s * 1e9 >= floor);
    if let Some((bytes, peak)) = traffic {
        return format!(
            "its traffic needs {} ({} at {})",
            duration(floor),
            si(bytes, "B"),
            si(peak.per_s, "B/s")
        );
    }
    let flops = kernel.flops.leading_flops().unwrap_or(0.0);
    let precision = kernel.flops.leading.as_deref().unwrap_or_default();
    let precision = precision.replace('_', " ");
    format!(
        "its operations need {} ({} of {precision} at {})",
        duration(floor),
        si(flops, "FLOP"),
        si(peak.unwrap_or(0.0), "FLOP/s")
    )
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns >= 1e9 => format!("{:.2} s", ns / 1e9),
        ns if ns >= 1e6 => format!("{:.2} ms", ns / 1e6),
        ns if ns >= 1e3 => format!("{:.2} µs", ns / 1e3),
        ns => format!("{ns:.0} ns"),
    }
}

/// Three digits and a decimal prefix.
fn si(value: f64, unit: &str) -> String {
    let prefixes = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    match prefixes.iter().find(|(scale, _)| value >= *scale) {
        Some((scale, prefix)) => format!("{:.2} {prefix}{unit}", value / scale),
        None => format!("{value:.0} {unit}"),
    }
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
            ((38.8, 13.6, 0.9, true), Bound::Launch),
            // A copy whose multiprocessors are busy is not bound by compute.
            ((95.0, 20.0, 5.0, true), Bound::Latency),
            ((95.0, 92.0, 5.0, true), Bound::Memory),
        ];
        for ((compute, memory, waves, moves), expected) in cases {
            assert_eq!(
                bound(Some(compute), Some(memory), Some(waves), moves),
                Some(expected),
                "{compute} {memory}"
            );
        }
        assert_eq!(bound(Some(10.0), Some(10.0), None, false), Some(Bound::Latency));
        assert_eq!(bound(None, Some(10.0), None, false), None);
    }
}
