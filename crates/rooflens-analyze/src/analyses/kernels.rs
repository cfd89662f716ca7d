//! Which kernels take the time?

use rooflens_schema::tables::ActivityKind;
use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Device activities by name, most time first. Every name is here: nothing is cut.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Kernels(pub Vec<KernelStat>);

/// All activities of one name.
#[derive(Debug, Clone, Serialize)]
pub struct KernelStat {
    /// Full name.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// `kernel`, `memcpy` or `memset`.
    pub kind: ActivityKind,
    /// What it computes.
    pub class: String,
    /// Where it comes from.
    pub library: Option<String>,
    /// Data type that the name tells.
    pub dtype: Option<String>,
    /// How often it ran.
    pub count: usize,
    /// Sum of durations.
    pub total_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Shortest.
    pub min_ns: i64,
    /// Median duration (the lower of two middles).
    pub p50_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Share of all activities' durations, 0 to 1.
    pub share: f64,
}

/// The question of this file.
pub(super) struct KernelsAnalysis;

impl Analysis for KernelsAnalysis {
    fn name(&self) -> &'static str {
        "kernels"
    }
    fn question(&self) -> &'static str {
        "Which kernels take the time?"
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
