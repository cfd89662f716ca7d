//! How long each step took.

use std::borrow::Cow;

use rooflens_analyze::analyses::{PhaseRole, PhaseStat, Phases};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, named};

/// Groups of steps in a chart.
const GROUPS: usize = 6;
/// Fewer points than this are no distribution.
const LEAST: usize = 3;

/// The duration of each step, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepsPlot {
    /// Groups of like steps, the one with the most time first.
    pub(crate) groups: Vec<StepGroup>,
}

/// Steps that are alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepGroup {
    /// Their common name.
    pub(crate) name: String,
    /// What they do.
    pub(crate) phase: Cow<'static, str>,
    /// Whose time it is: `device` or `host`.
    pub(crate) timeline: Cow<'static, str>,
    /// How many there are.
    pub(crate) count: usize,
    /// Whether `points` are some of them only, evenly sampled.
    pub(crate) is_sampled: bool,
    /// Steps that the recording disturbed, which are not among the points.
    pub(crate) flawed: usize,
    /// Median.
    pub(crate) p50_ns: Option<i64>,
    /// 99th percentile.
    pub(crate) p99_ns: Option<i64>,
    /// The steps, in order of start.
    pub(crate) points: Vec<StepPoint>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepPoint {
    /// Its rank; null where it is not known.
    pub(crate) rank: Option<i32>,
    /// The number that the trace gives it, else its place among the steps of its group on its rank, from 0.
    pub(crate) number: usize,
    /// Its start since the run's clock base; null where it is not known.
    pub(crate) ts_ns: Option<i64>,
    /// Its duration.
    pub(crate) ns: i64,
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, StepsPlot), String> {
    let none = || "the input has no steps: annotate them, or profile with a schedule".to_owned();
    let Phases(phases) = inputs.findings.get::<Phases>().ok_or_else(none)?;
    let is_step = |phase: &&PhaseStat| phase.role == PhaseRole::Step;
    let many = phases.iter().filter(is_step).filter(|phase| phase.durations_ns.len() >= LEAST);
    let groups: Vec<StepGroup> = many.take(GROUPS).map(group).collect();
    if groups.is_empty() {
        return Err(format!("no group of steps has {LEAST} steps or more"));
    }
    let subtitle = match &groups[0] {
        group if group.flawed == 0 => String::new(),
        group if group.flawed >= group.count => "Every step is affected by the recording".to_owned(),
        group => {
            format!("{} of {} steps are affected by the recording and left out", group.flawed, group.count)
        }
    };
    let subtitle = match groups[0].timeline.as_ref() {
        "device" if subtitle.is_empty() => "First to last activity on the device".to_owned(),
        "device" => format!("First to last activity on the device. {subtitle}"),
        _ => subtitle,
    };
    Ok((subtitle, StepsPlot { groups }))
}

fn group(phase: &PhaseStat) -> StepGroup {
    let flawed: usize = phase.flawed.iter().map(|flawed| flawed.steps).sum();
    let point = |(index, ns): (usize, &i64)| match phase.durations_of.get(index) {
        Some((rank, number, ts_ns)) => {
            StepPoint { rank: Some(*rank), number: *number, ts_ns: Some(*ts_ns), ns: *ns }
        }
        None => StepPoint { rank: None, number: index, ts_ns: None, ns: *ns },
    };
    StepGroup {
        name: named(&phase.name),
        phase: phase.kind.as_str().into(),
        timeline: phase.timeline.clone(),
        count: phase.count,
        is_sampled: phase.durations_ns.len() + flawed < phase.count,
        flawed,
        p50_ns: phase.extent().map(|extent| extent.p50_ns),
        p99_ns: phase.extent().map(|extent| extent.p99_ns),
        points: phase.durations_ns.iter().enumerate().map(point).collect(),
    }
}
