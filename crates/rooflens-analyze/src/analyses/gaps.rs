//! Why were devices idle?

use rooflens_schema::tables::GapCause;
use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Why devices were idle, by cause, most time first.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Gaps(pub Vec<GapStat>);

/// All gaps of one cause, over all devices.
#[derive(Debug, Clone, Serialize)]
pub struct GapStat {
    /// The cause.
    pub cause: GapCause,
    /// What the cause means.
    pub meaning: &'static str,
    /// Gaps.
    pub count: usize,
    /// Time the whole device was idle.
    pub total_ns: i64,
    /// Share of idle time, 0 to 1; `None` for the tail, which is not part of it.
    pub share_of_idle: Option<f64>,
    /// Median gap.
    pub p50_ns: i64,
    /// Longest gap.
    pub max_ns: i64,
    /// The longest gaps, at most three.
    pub examples: Vec<GapExample>,
}

/// One gap.
#[derive(Debug, Clone, Serialize)]
pub struct GapExample {
    /// Rank.
    pub rank: i32,
    /// Device.
    pub device: i32,
    /// Start of the gap, since the run's clock base.
    pub ts_ns: i64,
    /// Length.
    pub dur_ns: i64,
    /// Activity that ended before it, short name.
    pub before: Option<String>,
    /// Activity that ended it, short name.
    pub after: Option<String>,
    /// What the launching thread was in during most of the gap: an operator, a runtime call or a
    /// Python frame.
    pub host: Option<String>,
}

/// The question of this file.
pub(super) struct GapsAnalysis;

impl Analysis for GapsAnalysis {
    fn name(&self) -> &'static str {
        "gaps"
    }
    fn question(&self) -> &'static str {
        "Why were devices idle?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "device activity"
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
