//! How long do steps and phases take, and which are slow?

use rooflens_schema::tables::{PhaseKind, PhaseSource};
use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Steps, phases and annotated ranges, grouped by what they are.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Phases(pub Vec<PhaseStat>);

/// A group of like ranges: all `ProfilerStep#n`, all decode steps of an engine …
#[derive(Debug, Clone, Serialize)]
pub struct PhaseStat {
    /// Common name, numbers taken out: `ProfilerStep#*`.
    pub name: String,
    /// What the ranges do.
    pub kind: PhaseKind,
    /// Who says so.
    pub source: PhaseSource,
    /// How many ranges.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Shortest.
    pub min_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// 90th percentile.
    pub p90_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Change of duration from first to last range by a straight line through all, as a share of
    /// the mean; `None` for fewer than eight ranges.
    pub drift: Option<f64>,
    /// Mean device time inside; `None` where nothing could be attributed.
    pub device_busy_ns: Option<f64>,
    /// Device time / duration, over all ranges.
    pub device_busy_share: Option<f64>,
    /// Mean number of device activities.
    pub activities: Option<f64>,
    /// Mean number of launching calls.
    pub launches: Option<f64>,
    /// Sequences in the batch, mean, where known.
    pub batch: Option<f64>,
    /// Prompt tokens in all ranges, where known.
    pub prefill_tokens: Option<i64>,
    /// New tokens in all ranges, where known.
    pub decode_tokens: Option<i64>,
    /// How sure Rooflens is, 0 to 1, for phases it found itself.
    pub confidence: Option<f64>,
    /// The slowest ranges, at most three.
    pub slowest: Vec<PhaseExample>,
    /// Durations in order of start, for a chart; at most 2,000, evenly picked.
    pub durations_ns: Vec<i64>,
}

/// One range.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseExample {
    /// Full name.
    pub name: String,
    /// Rank.
    pub rank: i32,
    /// Start, since the run's clock base.
    pub ts_ns: i64,
    /// Duration.
    pub dur_ns: i64,
}

/// The question of this file.
pub(super) struct PhasesAnalysis;

impl Analysis for PhasesAnalysis {
    fn name(&self) -> &'static str {
        "phases"
    }
    fn question(&self) -> &'static str {
        "How long do steps and phases take, and which are slow?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "steps or annotations, and no repeating pattern"
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
