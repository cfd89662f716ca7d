//! How much memory does the allocator hold over time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// The allocator's memory over time, one row for each rank and device.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Memory(pub Vec<DeviceMemory>);

/// One device's memory.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceMemory {
    /// Rank.
    pub rank: i32,
    /// Device; -1 for the host.
    pub device: i32,
    /// Allocations.
    pub allocations: usize,
    /// Releases.
    pub releases: usize,
    /// Most bytes allocated at once; `None` where the trace has no totals.
    pub peak_allocated_bytes: Option<i64>,
    /// When that was.
    pub peak_ts_ns: Option<i64>,
    /// Most bytes reserved.
    pub peak_reserved_bytes: Option<i64>,
    /// `[ts_ns, allocated_bytes]`, the peak of each of at most 400 slices.
    pub timeline: Vec<(i64, i64)>,
}

/// The question of this file.
pub(super) struct MemoryAnalysis;

impl Analysis for MemoryAnalysis {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn question(&self) -> &'static str {
        "How much memory does the allocator hold over time?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "allocator events"
    }
    fn start(&self) -> Box<dyn Fold> {
        Box::new(State::default())
    }
}

#[derive(Default)]
struct State {}

impl Fold for State {
    fn rank(&mut self, _tables: &RankTables) {}
    fn finish(self: Box<Self>, _earlier: &Findings) -> Option<Box<dyn Finding>> {
        None
    }
}
