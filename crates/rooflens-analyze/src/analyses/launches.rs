//! How does work get to the device?

use rooflens_schema::tables::ApiKind;
use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// How work gets to the device.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Launches {
    /// Kernel launches.
    pub launches: usize,
    /// Graph launches.
    pub graph_launches: usize,
    /// Activities that came from graph launches.
    pub graph_activities: usize,
    /// Launching calls in a step, mean; `None` where there are no steps.
    pub per_step: Option<f64>,
    /// Kernels shorter than 10 µs, as a share of all kernels, 0 to 1.
    pub short_kernel_share: f64,
    /// Host time in launching calls.
    pub launch_api_ns: i64,
    /// Host time in calls that wait for the device.
    pub sync_api_ns: i64,
    /// From launch call to start on the device: median; `None` without launches.
    pub delay_p50_ns: Option<i64>,
    /// 99th percentile of the same.
    pub delay_p99_ns: Option<i64>,
    /// Activities queued ahead at launch: mean.
    pub queue_depth_mean: Option<f64>,
    /// Most queued at once.
    pub queue_depth_max: Option<i32>,
    /// Runtime calls by name, most time first.
    pub calls: Vec<ApiStat>,
}

/// All runtime calls of one name.
#[derive(Debug, Clone, Serialize)]
pub struct ApiStat {
    /// Name.
    pub name: String,
    /// What it does.
    pub kind: ApiKind,
    /// Calls.
    pub count: usize,
    /// Host time.
    pub total_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
}

/// The question of this file.
pub(super) struct LaunchesAnalysis;

impl Analysis for LaunchesAnalysis {
    fn name(&self) -> &'static str {
        "launches"
    }
    fn question(&self) -> &'static str {
        "How does work get to the device?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "runtime calls"
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
