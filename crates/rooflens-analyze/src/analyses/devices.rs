//! Where does each device's time go?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Where each device's time goes: one row for each rank and device with activity.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Devices(pub Vec<DeviceTime>);

/// One device's time between its first and last activity.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceTime {
    /// Rank.
    pub rank: i32,
    /// Device index.
    pub device: i32,
    /// Device name, where the trace gives one.
    pub name: Option<String>,
    /// From the start of its first activity to the end of its last.
    pub span_ns: i64,
    /// Time with at least one activity.
    pub busy_ns: i64,
    /// `span_ns - busy_ns`.
    pub idle_ns: i64,
    /// Time with at least one compute kernel.
    pub compute_ns: i64,
    /// Time with at least one communication kernel.
    pub communication_ns: i64,
    /// Part of it with no compute kernel running.
    pub exposed_communication_ns: i64,
    /// Part of it behind compute.
    pub hidden_communication_ns: i64,
    /// Time with at least one copy or fill.
    pub copy_ns: i64,
    /// Part of it with neither compute nor communication running.
    pub exposed_copy_ns: i64,
    /// Activities.
    pub activities: usize,
    /// Streams with activity.
    pub streams: usize,
    /// Busy share over time, for a chart.
    pub timeline: Timeline,
}

/// Shares of equal slices of the device's span.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Timeline {
    /// Start of the first slice.
    pub start_ns: i64,
    /// Length of a slice.
    pub slice_ns: i64,
    /// Share of each slice with compute running, 0 to 1.
    pub compute: Vec<f32>,
    /// Share with communication and no compute.
    pub communication: Vec<f32>,
    /// Share with copies and neither.
    pub copy: Vec<f32>,
}

/// The question of this file.
pub(super) struct DevicesAnalysis;

impl Analysis for DevicesAnalysis {
    fn name(&self) -> &'static str {
        "devices"
    }
    fn question(&self) -> &'static str {
        "Where does each device's time go?"
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
