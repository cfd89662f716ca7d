//! What a page draws in time: some steps in full, all steps as sums, and the place of every name's longest call.
//!
//! Not a trace viewer: what is kept is bounded, however large the trace is. Steps of the first rank are summed up by
//! line of the ledger, by class and by layer; the median and the slowest of each kind, and as many more as there is
//! room for, are kept activity by activity. Of the other ranks the collectives of the same steps are kept, with how
//! long each rank waited in them. The longest call of each name that lies in none of these steps is kept with its
//! neighbours.

mod budget;
mod fold;
mod lanes;
mod slices;
mod steps;
#[cfg(test)]
mod tests;

pub(crate) use fold::TimelineFold;

use rooflens_schema::tables::PhaseKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_catalog::KernelClass;
use crate::ledger::Line;

/// Steps and excerpts of a job, to be drawn.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnTimeline {
    /// Whether the steps are those of a host thread, since the trace has no device activity.
    pub is_host: bool,
    /// Names of kernels, operators, calls and ranges that slices refer to.
    pub names: Vec<DrawnName>,
    /// Classes that `DrawnStep::classes` has sums of.
    pub classes: Vec<KernelClass>,
    /// Layers that `DrawnStep::layers` has sums of.
    pub layers: Vec<i32>,
    /// Steps of the first rank, in the order of their start.
    pub steps: Vec<DrawnStep>,
    /// Steps that `steps` leaves out.
    pub steps_left_out: usize,
    /// What is drawn in full.
    pub windows: Vec<DrawnWindow>,
    /// Of each name, where its longest call is.
    pub longest: Vec<LongestCall>,
}

impl DrawnTimeline {
    /// Whether every position in it leads somewhere: a file may hold anything.
    pub fn is_sound(&self) -> bool {
        let is_name = |at: i64| at < self.names.len() as i64;
        let lane = |lane: &DrawnLane| {
            let count = lane.start.len();
            let full = |len: usize| len == 0 || len == count;
            let by_name = !matches!(lane.kind, LaneKind::Layers | LaneKind::Idle);
            lane.dur.len() == count
                && lane.what.len() == count
                && [lane.layer.len(), lane.operator.len(), lane.launch.len(), lane.wait.len()]
                    .into_iter()
                    .all(full)
                && lane.merged.iter().all(|one| one.0 < count)
                && lane.operator.iter().all(|at| is_name((*at).into()))
                && (!by_name || lane.what.iter().all(|at| is_name((*at).into())))
        };
        let step = |step: &DrawnStep| {
            step.lines.len() == Line::ALL.len()
                && step.classes.len() == self.classes.len()
                && step.layers.len() == self.layers.len()
                && is_name(step.name.into())
                && step.window.is_none_or(|at| at < self.windows.len())
        };
        let longest = |one: &LongestCall| {
            let window = self.windows.get(one.window);
            is_name(one.name.into()) && window.is_some_and(|window| one.lane < window.lanes.len())
        };
        self.steps.iter().all(step)
            && self.windows.iter().all(|window| {
                window.step.is_none_or(|at| at < self.steps.len()) && window.lanes.iter().all(lane)
            })
            && self.longest.iter().all(longest)
    }
}

/// A name that slices refer to by its position.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnName {
    /// In full.
    pub name: String,
    /// Readable short form.
    pub short_name: String,
    /// The class of a kernel, or of what an operator does.
    pub class: Option<KernelClass>,
}

/// A step of the first rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnStep {
    /// Its position among all steps, 0 upwards.
    pub index: usize,
    /// Its number, where the trace has one.
    pub number: Option<i64>,
    /// Which of the steps of its kind it is, 0 upwards: its name where it has no number.
    #[serde(default)]
    pub of_kind: usize,
    /// What it does.
    pub kind: PhaseKind,
    /// Position of its name.
    pub name: u32,
    /// When its first activity begins.
    pub start_ns: i64,
    /// When its last one ends.
    pub(crate) end_ns: i64,
    /// Devices that were active in it.
    #[serde(default)]
    pub(crate) devices: usize,
    /// The gaps before the first activity of each device, which the ledger counts with the step. The first step of a
    /// recording has none, so that steps are compared without.
    #[serde(default)]
    pub(crate) before_ns: i64,
    /// Why statistics leave it out.
    pub excluded: Option<String>,
    /// Its time by line of the ledger, in the order of `Line::ALL`, without lower bounds: with the gap before it they add
    /// up to the time that the ledger has for the step.
    pub lines: Vec<i64>,
    /// Time of activities, by class.
    pub classes: Vec<i64>,
    /// Time of activities and of the gaps that they end, by layer.
    pub layers: Vec<i64>,
    /// The window that draws it.
    pub window: Option<usize>,
}

impl DrawnStep {
    /// Its time, from its first activity to the end of its last: what is drawn, and what tables of steps have.
    pub fn wall_ns(&self) -> i64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Time on its devices that is no line of its own: other steps overlap it, or nothing tells whose it is.
    pub fn others_ns(&self) -> i64 {
        let all = self.wall_ns().saturating_mul(i64::try_from(self.devices).unwrap_or(i64::MAX));
        self.lines.iter().fold(all, |rest, ns| rest.saturating_sub(*ns)).max(0)
    }
}

/// A stretch of time that is drawn in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnWindow {
    /// The rank whose time it is.
    pub rank: i32,
    /// Position of its step in `steps`; null for the neighbours of a longest call.
    pub step: Option<usize>,
    /// First moment.
    pub start_ns: i64,
    /// Last moment.
    pub end_ns: i64,
    /// Rows of slices, from top to bottom.
    pub lanes: Vec<DrawnLane>,
}

/// What a lane holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaneKind {
    /// Steps and phases.
    Phases,
    /// Layers of the model; `what` is the layer.
    Layers,
    /// Idle time of a device; `what` is the position of its cause in `Line::ALL`.
    Idle,
    /// Activities of a stream.
    Stream,
    /// Collectives of another rank, on its own clock, counted from the start of its own step.
    Collectives,
    /// Annotated ranges of the host.
    Ranges,
    /// Operators of a host thread; those within others are a lane below.
    Operators,
    /// Calls of a host thread to the driver.
    Calls,
}

/// A row of slices that do not overlap. Each column has a value per slice, or is empty where no slice has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DrawnLane {
    /// What it holds.
    pub kind: LaneKind,
    /// Its title.
    pub title: String,
    /// Start, since that of the slice before it; of the first since that of the window.
    pub start: Vec<i64>,
    /// Duration.
    pub dur: Vec<i64>,
    /// Position of the name; of layers and idle time see `kind`.
    pub what: Vec<i32>,
    /// Layer; -1 for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layer: Vec<i32>,
    /// Position of the name of the operator that launched it; -1 for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator: Vec<i32>,
    /// From the start of the launching call to the start of the slice; -1 for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub launch: Vec<i64>,
    /// How long it waited for other ranks, at its beginning; -1 where that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wait: Vec<i64>,
    /// Slices that stand for several short ones: position, how many, and their time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<(usize, usize, i64)>,
}

/// Where the longest call of a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LongestCall {
    /// Position of the name.
    pub name: u32,
    /// Whether it is an operator of the host.
    pub is_operator: bool,
    /// The window that it is in.
    pub window: usize,
    /// Its lane there.
    pub lane: usize,
    /// Its start, since the run's clock base.
    pub start_ns: i64,
    /// Its duration.
    pub dur_ns: i64,
}
