//! What to change in profiled kernels, by their counters.
//!
//! A rule looks at one launch and says what was measured, against which threshold, and what may help. It
//! speaks only where the counters show the cause, and where it can matter: a kernel that is bound by memory
//! does not gain from more eligible warps. How much time is at stake is the time of the launches that it
//! speaks of, which is the most that any change to them could save.
//!
//! To add a rule: a function here and an entry in [`ALL`].

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bound::SMALL_GRID_BELOW;
use super::kernel::{Bound, Kernel};
use crate::kernel_catalog::KernelClass;

struct KernelRemark {
    measured: String,
    change: String,
}

/// Every rule: its name in words for programs, and what it says of a launch.
type KernelRule = (&'static str, fn(&Kernel) -> Option<KernelRemark>);
const ALL: &[KernelRule] = &[
    ("small_grid", small_grid),
    ("tail_effect", tail),
    ("uncoalesced_access", uncoalesced),
    ("bank_conflicts", bank_conflicts),
    ("tensor_pipes_idle", tensor_idle),
    ("low_issue_utilisation", issue),
    ("low_occupancy", occupancy),
    ("thread_divergence", divergence),
];

/// What a rule says of the launches of a kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// The rule.
    pub rule: Cow<'static, str>,
    /// The kernel.
    pub(crate) name: String,
    /// Readable short form.
    pub short_name: String,
    /// Launches of it that the rule speaks of.
    pub(crate) launches: Vec<usize>,
    /// What was measured on that of most time, with the threshold.
    pub measured: String,
    /// What may help.
    pub change: String,
    /// Their share of the time of all profiled launches, 0 to 1; null where times were not collected.
    pub time_share: Option<f64>,
    /// Their share of the time that the timeline has of profiled kernels; null without one.
    pub timeline_share: Option<f64>,
}

pub(crate) fn suggestions(kernels: &[Kernel]) -> Vec<Suggestion> {
    type Time = fn(&Kernel) -> Option<f64>;
    let (own, real): (Time, Time) = (|kernel| kernel.time_ns, |kernel| kernel.timeline_ns);
    let sum = |of: &[&Kernel], time: Time| of.iter().filter_map(|kernel| time(kernel)).sum::<f64>();
    let everything: Vec<&Kernel> = kernels.iter().collect();
    let share = |of: &[&Kernel], time: Time| {
        let all = sum(&everything, time);
        (all > 0.0).then(|| sum(of, time) / all)
    };
    let mut found = Vec::new();
    for (rule, judge) in ALL {
        // Kernels come with the most time first, and so do their launches.
        let mut by_name: BTreeMap<&str, Vec<(&Kernel, KernelRemark)>> = BTreeMap::new();
        for kernel in kernels {
            if let Some(remark) = judge(kernel) {
                by_name.entry(&kernel.name).or_default().push((kernel, remark));
            }
        }
        for spoken in by_name.into_values() {
            let of: Vec<&Kernel> = spoken.iter().map(|(kernel, _)| *kernel).collect();
            let Some((first, remark)) = spoken.into_iter().next() else { continue };
            found.push(Suggestion {
                rule: (*rule).into(),
                name: first.name.clone(),
                short_name: first.short_name.clone(),
                launches: of.iter().map(|kernel| kernel.launch).collect(),
                measured: remark.measured,
                change: remark.change,
                time_share: share(&of, own),
                timeline_share: share(&of, real),
            });
        }
    }
    let weight = |row: &Suggestion| row.timeline_share.or(row.time_share).unwrap_or(0.0);
    found.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    found
}

const PRODUCTS: &[KernelClass] =
    &[KernelClass::Gemm, KernelClass::Attention, KernelClass::Moe, KernelClass::Convolution];

fn is_product(kernel: &Kernel) -> bool {
    PRODUCTS.iter().any(|class| class.as_str() == kernel.class)
}

/// Whether a kernel computes on tensor cores. Such kernels issue seldom and hold few warps by design: an
/// instruction keeps the pipe busy for many cycles, and large tiles take the registers.
fn uses_tensor_cores(kernel: &Kernel) -> bool {
    let counters = &kernel.counters;
    let active = counters.tensor_pipe_pct.or(counters.tensor_pipe_elapsed_pct);
    let leading = kernel.flops.leading.as_deref().unwrap_or_default();
    active.is_some_and(|active| active >= TENSOR_FROM_PCT) || leading.starts_with("tensor_")
}

/// From this share of cycles on a kernel uses tensor cores.
const TENSOR_FROM_PCT: f64 = 1.0;

/// Whether warps wait: neither compute nor memory is busy, though the grid fills the device.
fn is_latency_bound(kernel: &Kernel) -> bool {
    kernel.bound == Some(Bound::Latency)
}

/// Neither compute nor memory reaches 60 % of its peak, and the grid has fewer than 3 blocks for every 4 multiprocessors.
fn small_grid(kernel: &Kernel) -> Option<KernelRemark> {
    (kernel.bound == Some(Bound::Launch)).then(|| KernelRemark {
        measured: format!(
            "{} (below {SMALL_GRID_BELOW} for each); compute and memory are below 60 % of their peaks",
            kernel.blocks_and_multiprocessors()
        ),
        change: match is_product(kernel) {
            true => "more, smaller blocks (split along K or the sequence), or a larger batch",
            false => "more, smaller blocks, a larger batch, or fusing it with its neighbours",
        }
        .to_owned(),
    })
}

/// From this share of the device's time on.
const TAIL_FROM_PCT: f64 = 10.0;

/// The last wave of blocks leaves at least 10 % of the device's time empty if blocks take equally long, and the busiest unit has that much headroom.
fn tail(kernel: &Kernel) -> Option<KernelRemark> {
    let waves = kernel.waves.filter(|waves| *waves > 1.0 && waves.is_finite())?;
    // What is busy all the time is not idle at the end.
    let busiest = kernel.compute_pct?.max(kernel.memory_pct?);
    let last = waves.fract();
    if last == 0.0 || kernel.bound == Some(Bound::Memory) {
        return None;
    }
    let empty = 100.0 * (1.0 - last) / waves.ceil();
    let at_most = empty.min(100.0 - busiest);
    (at_most >= TAIL_FROM_PCT).then(|| KernelRemark {
        measured: format!(
            "{waves:.2} waves: the last fills {:.0} % of the device; up to {at_most:.0} % of its time is empty if blocks take equally long (from {TAIL_FROM_PCT:.0} %)",
            100.0 * last
        ),
        change: match is_product(kernel) {
            true => "a grid of whole waves (another tile size), a persistent kernel, or stream-K",
            false if kernel.name.contains("grid_stride") => "a grid of whole waves: another block size",
            false => "a grid of whole waves: another block size, or a grid-stride loop",
        }
        .to_owned(),
    })
}

/// Sectors beyond what is needed, from this share on.
const EXCESS_FROM_PCT: f64 = 10.0;
const SECTOR: f64 = 32.0;
/// Bytes of a sector that are used, up to this many.
const USED_UP_TO: f64 = 24.0;
/// Sectors that 32 threads need at the most: 16 bytes each, side by side. Fewer may be as many as needed.
const NEEDED_AT_MOST: f64 = 16.0;

/// 10 % of the sectors of global accesses are beyond what their bytes need (Source Counters); or threads use at most 24 of the 32 bytes of a sector; or a request touches more than 16 sectors, which no coalesced access needs.
fn uncoalesced(kernel: &Kernel) -> Option<KernelRemark> {
    let counters = &kernel.counters;
    let measured = match counters.excess_sectors_pct {
        Some(excess) if excess >= EXCESS_FROM_PCT => {
            format!(
                "{excess:.0} % of the sectors of global accesses are beyond what their bytes need (from {EXCESS_FROM_PCT:.0} %)"
            )
        }
        // Counted exactly, and fine.
        Some(_) => return None,
        None => by_operation(
            ("load", counters.load_bytes_per_sector, counters.load_sectors_per_request),
            ("store", counters.store_bytes_per_sector, counters.store_sectors_per_request),
        )?,
    };
    Some(KernelRemark {
        measured,
        change: "let neighbouring threads access neighbouring addresses: layout, transposed tiles through shared memory, vector loads"
            .to_owned(),
    })
}

type Operation = (&'static str, Option<f64>, Option<f64>);

fn by_operation(loads: Operation, stores: Operation) -> Option<String> {
    let of = |(operation, bytes, sectors): Operation| match (bytes, sectors) {
        (Some(bytes), _) if bytes <= USED_UP_TO => Some(format!(
            "global {operation}s use {bytes:.1} of the {SECTOR:.0} bytes of a sector (up to {USED_UP_TO:.0})"
        )),
        (None, Some(sectors)) if sectors > NEEDED_AT_MOST => Some(format!(
            "a global {operation} touches {sectors:.1} sectors (more than {NEEDED_AT_MOST:.0}, the most that 32 threads with 16 bytes each need)"
        )),
        _ => None,
    };
    of(loads).or_else(|| of(stores))
}

/// Of the wavefronts, from this share on: `bank_conflicts_threshold` of the profiler's own rule
/// (`sections/SharedMemoryConflicts.py` of Nsight Compute 2024.2).
const BANK_CONFLICTS_FROM_PCT: f64 = 10.0;

/// Bank conflicts are at least 10 % of the wavefronts of shared memory.
fn bank_conflicts(kernel: &Kernel) -> Option<KernelRemark> {
    let counters = &kernel.counters;
    let share = counters.bank_conflicts_pct.filter(|share| *share >= BANK_CONFLICTS_FROM_PCT)?;
    let conflicts = counters.bank_conflicts?;
    let each = counters.bank_conflicts_per_request.map(|each| format!(", {each:.2} per request"));
    Some(KernelRemark {
        measured: format!(
            "{conflicts:.0} bank conflicts{}: {share:.0} % of the wavefronts of shared memory (from {BANK_CONFLICTS_FROM_PCT:.0} %)",
            each.unwrap_or_default()
        ),
        change: "pad or swizzle the tiles in shared memory".to_owned(),
    })
}

/// A kernel of class gemm, attention, moe or convolution is bound by compute, and tensor pipes are active in less than 1 % of cycles.
fn tensor_idle(kernel: &Kernel) -> Option<KernelRemark> {
    // A matmul that waits for memory, as a matrix times a vector does, gains nothing from them.
    if !is_product(kernel) || !matches!(kernel.bound, Some(Bound::Compute | Bound::Balanced)) {
        return None;
    }
    let counters = &kernel.counters;
    let active = counters.tensor_pipe_pct.or(counters.tensor_pipe_elapsed_pct);
    let active = active.filter(|active| *active < TENSOR_FROM_PCT)?;
    let compute = kernel.compute_pct?;
    let precision = kernel.flops.leading.as_deref().map(|of| format!(", in {}", of.replace('_', " ")));
    Some(KernelRemark {
        measured: format!(
            "tensor pipes are active in {active:.1} % of cycles (below {TENSOR_FROM_PCT:.0} %) while other pipes are {compute:.0} % busy{}",
            precision.unwrap_or_default()
        ),
        change: "where the precision allows, a kernel on tensor cores (TF32, FP16, BF16, FP8), with dimensions that are multiples of 16 bytes"
            .to_owned(),
    })
}

/// Cycles with an instruction, below this share: `issueActiveTarget` of the profiler's own rule
/// (`sections/IssueSlotUtilization.py` of Nsight Compute 2024.2).
const ISSUE_BELOW_PCT: f64 = 60.0;

/// Neither compute nor memory reaches 60 % of its peak, the grid is not known to be too small, schedulers issue in less than 60 % of active cycles, and tensor cores are not used.
fn issue(kernel: &Kernel) -> Option<KernelRemark> {
    let counters = &kernel.counters;
    let active =
        counters.issue_active_pct.or(counters.issue_slots_pct).filter(|pct| *pct < ISSUE_BELOW_PCT)?;
    if !is_latency_bound(kernel) || uses_tensor_cores(kernel) {
        return None;
    }
    let warps = counters.eligible_warps.zip(counters.active_warps);
    let warps = warps.map(|(eligible, active)| {
        format!("; {eligible:.2} of {active:.2} active warps of a scheduler are eligible")
    });
    // A warp that was not selected could have issued: it waits for no one.
    let stall = kernel.stalls.iter().find(|stall| stall.reason != "not_selected");
    let (waits, change) = match stall {
        Some(stall) => {
            let share = 100.0 * stall.share;
            let reason = stall.reason.replace('_', " ");
            (format!("; {share:.0} % of warp time is stall {reason}"), help(&stall.reason).to_owned())
        }
        None => (String::new(), "ncu --section WarpStateStats names what warps wait for".to_owned()),
    };
    Some(KernelRemark {
        measured: format!(
            "schedulers issue in {active:.0} % of active cycles (below {ISSUE_BELOW_PCT:.0} %){}{waits}",
            warps.unwrap_or_default()
        ),
        change,
    })
}

/// What helps against the stall, after the Nsight Compute profiling guide's account of each.
fn help(reason: &str) -> &'static str {
    match reason {
        "long_scoreboard" => {
            "warps wait for global or local memory: more loads in flight (unroll, vector loads, cp.async), better locality"
        }
        "short_scoreboard" | "mio_throttle" => {
            "warps wait for shared memory or special functions: fewer or wider accesses to shared memory"
        }
        "lg_throttle" => {
            "the queue of global and local memory is full: fewer, wider accesses; no register spills"
        }
        "barrier" => "warps wait at __syncthreads: smaller blocks, more even work across warps",
        "math_pipe_throttle" => "a math pipe is the limit: another mix of instructions, tensor cores",
        "wait" => {
            "warps wait a fixed number of cycles for instructions before: more independent instructions or more warps"
        }
        "no_instruction" | "no_instructions" | "imc_miss" => {
            "warps wait for instructions or constants: shorter code, longer kernels, fewer constants by index"
        }
        "branch_resolving" => "warps wait for branches: fewer of them, predication",
        "tex_throttle" => "the queue of the texture unit is full: fewer texture or surface accesses at once",
        _ => "see the Nsight Compute profiling guide for this stall reason",
    }
}

/// Of the most that the device can hold, below this share: `low_theoretical_threshold` of the profiler's own rule
/// (`sections/TheoreticalOccupancy.py` of Nsight Compute 2024.2).
const OCCUPANCY_BELOW_PCT: f64 = 80.0;
/// Fewer eligible warps of a scheduler than this leave cycles without an instruction.
const ELIGIBLE_BELOW: f64 = 1.0;

/// Neither compute nor memory reaches 60 % of its peak, the grid fills the device, a scheduler has fewer than one eligible warp, blocks allow less than 80 % of the warps that the device can hold, and tensor cores are not used.
fn occupancy(kernel: &Kernel) -> Option<KernelRemark> {
    let occupancy = &kernel.occupancy;
    let theoretical = occupancy.theoretical_pct.filter(|pct| *pct < OCCUPANCY_BELOW_PCT)?;
    let achieved = occupancy.achieved_pct?;
    let eligible = kernel.counters.eligible_warps.filter(|warps| *warps < ELIGIBLE_BELOW)?;
    // With a grid smaller than the device the limit is not what keeps it empty.
    kernel.waves.filter(|waves| *waves >= 1.0)?;
    if !is_latency_bound(kernel) || uses_tensor_cores(kernel) || occupancy.limited_by.is_empty() {
        return None;
    }
    let change = match occupancy.limited_by.first().map(|limit| &**limit) {
        Some("registers") => "fewer registers (__launch_bounds__, smaller tiles), if that does not spill",
        Some("shared_memory") => "less shared memory per block: smaller tiles, fewer stages",
        Some("barriers") => "fewer barriers per block",
        _ => "another block size",
    };
    Some(KernelRemark {
        measured: format!(
            "{eligible:.2} eligible warps per scheduler (below {ELIGIBLE_BELOW:.0}); occupancy {achieved:.0} % of at most {theoretical:.0} % (below {OCCUPANCY_BELOW_PCT:.0} %), limited by {}",
            occupancy.limited_by.join(" and ").replace('_', " ")
        ),
        change: change.to_owned(),
    })
}

/// 24 of 32 threads: `threshold` of the profiler's own rule (`sections/ThreadDivergence.py` of Nsight Compute
/// 2024.2).
const DIVERGENCE_BELOW_PCT: f64 = 75.0;

/// Fewer than 24 of the 32 threads of a warp are active in an instruction, of a kernel that memory does not bound.
fn divergence(kernel: &Kernel) -> Option<KernelRemark> {
    let active = kernel.counters.warp_execution_pct.filter(|pct| *pct < DIVERGENCE_BELOW_PCT)?;
    kernel.bound.filter(|bound| *bound != Bound::Memory)?;
    Some(KernelRemark {
        measured: format!(
            "{:.1} of 32 threads of a warp are active in an instruction (below 24)",
            active * 32.0 / 100.0
        ),
        change: "use blocks of whole warps, and branches that a whole warp takes together".to_owned(),
    })
}
