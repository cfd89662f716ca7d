//! Bars and charts.

use std::borrow::Cow;

use rooflens_analyze::compare::headline::MetricUnit;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// What a part of a bar or chart stands for: the renderers give each its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    /// Compute kernels; where classes are told apart, GEMMs.
    Compute,
    /// Attention kernels.
    Attention,
    /// Kernels of experts.
    Moe,
    /// Norms.
    Norm,
    /// Kernels of a class without a tone of its own.
    OtherKernels,
    /// What physics demands.
    Floor,
    /// Work that a fused kernel would do on the way.
    Unneeded,
    /// Communication that compute does not hide.
    Communication,
    /// In a collective, before the last rank has arrived.
    RankWait,
    /// Copies that nothing hides.
    Copy,
    /// Nothing runs.
    Idle,
    /// Nothing runs, since the host launches too slowly.
    LaunchBound,
    /// Nothing runs, since the host does something else.
    CpuBound,
    /// Nothing runs, since the host waited for the device.
    Sync,
    /// Nothing runs, though work is queued that waits for something.
    Dependency,
    /// Nothing runs in the gap that the device needs between two activities.
    Dispatch,
    /// Nothing runs, for another reason.
    OtherIdle,
    /// No meaning beyond the chart itself.
    Plain,
}

impl Tone {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Tone::Compute => "compute",
            Tone::Attention => "attention",
            Tone::Moe => "moe",
            Tone::Norm => "norm",
            Tone::OtherKernels => "rest",
            Tone::Floor => "floor",
            Tone::Unneeded => "unneeded",
            Tone::Communication => "communication",
            Tone::RankWait => "wait",
            Tone::Copy => "copy",
            Tone::Idle => "idle",
            Tone::LaunchBound => "launch",
            Tone::CpuBound => "cpu",
            Tone::Sync => "sync",
            Tone::Dependency => "dependency",
            Tone::Dispatch => "dispatch",
            Tone::OtherIdle => "other",
            Tone::Plain => "plain",
        }
    }
}

/// Bars that each show the parts of a whole, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// What the parts are, in order.
    pub(crate) parts: Vec<(Tone, String)>,
    /// The bars.
    pub(crate) bars: Vec<StackBar>,
}

/// One bar.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct StackBar {
    /// What the whole is.
    pub(crate) label: String,
    /// Length of each part.
    pub(crate) parts_ns: Vec<i64>,
    /// Length of the whole.
    pub(crate) whole_ns: i64,
}

impl StackBar {
    /// Each part as a share of the whole; `None` where the whole is nothing.
    pub fn shares(&self) -> Vec<Option<f64>> {
        let whole = self.whole_ns as f64;
        self.parts_ns.iter().map(|part| (whole > 0.0).then(|| *part as f64 / whole)).collect()
    }
}

/// How the values of a chart are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Filled, each series upon the one before.
    Areas,
    /// A filled line that keeps its value until the next point.
    Steps,
    /// A dot a value, with their distribution at the side.
    Points,
    /// A column a value.
    Columns,
    /// A dot per value, on a scale that spans the values: small changes are what it is about.
    Levels,
}

/// What the numbers on an axis are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChartUnit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// 0 to 1.
    Share,
    /// An index.
    Index,
    /// A number in a base unit that takes decimal prefixes: W, Hz.
    Amount(Cow<'static, str>),
}

impl ChartUnit {
    /// That of a metric, by its key.
    pub fn of_metric(key: &str) -> Self {
        match MetricUnit::of(key) {
            MetricUnit::Time => ChartUnit::Time,
            MetricUnit::Share => ChartUnit::Share,
            MetricUnit::Rate(unit) => ChartUnit::Amount(unit.into()),
            MetricUnit::Number => ChartUnit::Amount("".into()),
        }
    }
}

/// A figure that has a file of its own: a page holds it, Markdown refers to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Drawing {
    /// What it shows, for those who cannot see it.
    pub(crate) title: String,
    /// Path of its file, from the page's own folder; empty where it has none, and pages alone show it.
    pub path: String,
    /// The figure as [`crate::figure`] draws it: its names are escaped already.
    pub svg: String,
}

/// Values over time or in order.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    /// What it shows.
    pub(crate) title: String,
    /// The horizontal axis: how values lie along it, as `over time`, and its unit.
    pub(crate) x: (Cow<'static, str>, ChartUnit),
    /// The vertical axis: what the values are, and their unit.
    pub(crate) y: (Cow<'static, str>, ChartUnit),
    /// How it is drawn.
    pub(crate) mark: Mark,
    /// The values.
    pub(crate) series: Vec<Series>,
    /// Values worth a line across the chart.
    pub(crate) rules: Vec<(Cow<'static, str>, f64)>,
}

/// One set of values.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What they are.
    pub(crate) label: String,
    /// What they stand for.
    pub(crate) tone: Tone,
    /// `(x, y)`, by x.
    #[serde(deserialize_with = "points")]
    pub(crate) points: Vec<(f64, f64)>,
}

/// Reads points as JSON has them, where a number that is not finite is null.
fn points<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points: Vec<(Option<f64>, Option<f64>)> = Vec::deserialize(deserializer)?;
    Ok(points.into_iter().map(|(x, y)| (x.unwrap_or(f64::NAN), y.unwrap_or(f64::NAN))).collect())
}
