//! A launch with everything that its counters say.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::counters::Counters;
use super::counts::{MeasuredBytes, MeasuredFlops};
use super::launch::{ProfilerAdvice, RequestedMetric};
use super::occupancy::{Occupancy, Stall};

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
    /// Neither: there are too few blocks to give each multiprocessor one.
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

pub(super) struct Measured {
    pub(super) time_ns: Option<f64>,
    pub(super) flops: MeasuredFlops,
    pub(super) bytes: MeasuredBytes,
    pub(super) registers: Option<f64>,
    pub(super) compute_pct: Option<f64>,
    pub(super) memory_pct: Option<f64>,
    pub(super) dram_pct: Option<f64>,
    pub(super) l1_hit_pct: Option<f64>,
    pub(super) l2_hit_pct: Option<f64>,
    pub(super) occupancy: Occupancy,
    pub(super) waves: Option<f64>,
    pub(super) blocks_per_multiprocessor: Option<f64>,
    pub(super) stalls: Vec<Stall>,
    pub(super) counters: Counters,
}
