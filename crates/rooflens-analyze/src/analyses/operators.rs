//! Which framework operators take the time?

use rooflens_schema::RankTables;
use serde::Serialize;

use crate::analyses::{Analysis, Fold};
use crate::finding::{Finding, Findings};

/// Framework operators by name, most self time first. Every name is here.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Operators(pub Vec<OperatorStat>);

/// All calls of one operator.
#[derive(Debug, Clone, Serialize)]
pub struct OperatorStat {
    /// Name.
    pub name: String,
    /// Calls.
    pub count: usize,
    /// Host time: sum of durations, nested operators included.
    pub total_ns: i64,
    /// Host time less that of operators directly inside.
    pub self_ns: i64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Median duration.
    pub p50_ns: i64,
    /// Longest.
    pub max_ns: i64,
    /// Device time of everything launched inside its calls.
    pub device_ns: i64,
    /// Device time launched directly by it, not by an operator inside.
    pub self_device_ns: i64,
    /// Share of all operators' self time, 0 to 1.
    pub share: f64,
    /// Its calls by input shapes, most host time first; at most eight.
    pub shapes: Vec<ShapeStat>,
}

/// The calls of one operator with the same input shapes and types.
#[derive(Debug, Clone, Serialize)]
pub struct ShapeStat {
    /// Input shapes as the trace has them.
    pub shapes: String,
    /// Input types as the trace has them.
    pub dtypes: String,
    /// Calls.
    pub count: usize,
    /// Host time.
    pub total_ns: i64,
    /// Device time launched inside.
    pub device_ns: i64,
}

/// The question of this file.
pub(super) struct OperatorsAnalysis;

impl Analysis for OperatorsAnalysis {
    fn name(&self) -> &'static str {
        "operators"
    }
    fn question(&self) -> &'static str {
        "Which framework operators take the time?"
    }
    fn explain(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static str {
        "framework operators"
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
