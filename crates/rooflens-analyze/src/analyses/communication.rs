//! What do collectives cost, and who waits for whom?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// What collectives cost, and who waits for whom.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Communication {
    /// Communication kernels.
    pub count: usize,
    /// Sum of their durations.
    pub total_ns: i64,
    /// By collective, type, size and group, most time first.
    pub collectives: Vec<CollectiveStat>,
    /// For each rank, how long it waited in collectives for the last to arrive. Empty for one rank.
    pub waits: Vec<RankWait>,
    /// Collectives that could be matched across ranks.
    pub matched: usize,
}

/// All calls of one collective with the same type, size and group.
#[derive(Debug, Clone, Serialize)]
pub struct CollectiveStat {
    /// Collective, or the kernel's short name where the trace does not tell.
    pub name: String,
    /// Element type.
    pub dtype: Option<String>,
    /// Ranks in the group.
    pub group_size: Option<i32>,
    /// Bytes of one call (the larger of in and out); `None` where the trace does not tell.
    pub bytes: Option<i64>,
    /// Calls.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Median duration.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Bytes / median duration, in GB/s (algorithm bandwidth).
    pub algorithm_gb_per_s: Option<f64>,
    /// The same times the collective's factor, e.g. 2(n-1)/n for all-reduce (bus bandwidth).
    pub bus_gb_per_s: Option<f64>,
}

/// One rank's waiting.
#[derive(Debug, Clone, Serialize)]
pub struct RankWait {
    /// Rank.
    pub rank: i32,
    /// Sum over matched collectives of its duration less the shortest duration among the ranks: the
    /// rank that arrives last has the shortest.
    pub wait_ns: i64,
    /// Collectives in which it was the last to arrive.
    pub last_to_arrive: usize,
}

/// The question of this file.
pub(super) struct CommunicationAnalysis;

impl Analysis for CommunicationAnalysis {
    fn name(&self) -> &'static str {
        "communication"
    }
    fn question(&self) -> &'static str {
        "What do collectives cost, and who waits for whom?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "communication kernels"
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
