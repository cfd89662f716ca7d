//! A launch as a profiler recorded it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tool that profiled launches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProfilerTool {
    /// Nsight Compute.
    #[default]
    NsightCompute,
    /// rocprof-compute, once Omniperf.
    RocprofCompute,
}

impl ProfilerTool {
    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            ProfilerTool::NsightCompute => "Nsight Compute",
            ProfilerTool::RocprofCompute => "rocprof-compute",
        }
    }
}

/// A launch as a profiler told of it: counters by name, in base units.
#[derive(Debug, Clone, Default)]
pub struct ProfiledLaunch {
    /// What told of it.
    pub profiler: ProfilerTool,
    /// Full name.
    pub name: String,
    /// Blocks; in one dimension where only their number is told.
    pub grid: Option<[u64; 3]>,
    /// Threads of a block.
    pub block: Option<[u64; 3]>,
    /// Counters that are numbers.
    pub numbers: BTreeMap<String, f64>,
    /// Counters that are texts.
    pub texts: BTreeMap<String, String>,
    /// Units of counters, in the profiler's words; not of those without one.
    pub units: BTreeMap<String, String>,
    /// Name of the device.
    pub device: Option<String>,
    /// What the profiler's own rules advise.
    pub advice: Vec<ProfilerAdvice>,
}

impl ProfiledLaunch {
    pub(super) fn number(&self, metric: &str) -> Option<f64> {
        self.numbers.get(metric).copied().filter(|number| number.is_finite())
    }

    pub(super) fn first(&self, metrics: &[&str]) -> Option<f64> {
        metrics.iter().find_map(|metric| self.number(metric))
    }

    pub(super) fn blocks(&self) -> Option<f64> {
        let grid = || self.grid.map(|grid| grid.iter().map(|length| *length as f64).product());
        self.number("launch__grid_size").or_else(grid)
    }
}

/// What a rule of the profiler advises.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfilerAdvice {
    /// The rule.
    pub rule: String,
    /// The speedup that it estimates, in percent of the launch (`global`) or of the part that it looks at.
    pub speedup_pct: f64,
    /// Whether the estimate is of the whole launch.
    pub global: bool,
    /// What it says.
    pub message: String,
}

/// A metric of a launch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestedMetric {
    /// The number, in base units; null for a text.
    pub value: Option<f64>,
    /// The text; null for a number.
    pub text: Option<String>,
    /// The unit, where it has one that is known.
    pub(crate) unit: Option<String>,
}
