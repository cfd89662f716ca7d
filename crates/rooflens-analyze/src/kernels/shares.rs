//! Launches by what holds them back: counted, weighed by their own time, and by the timeline's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bound, Kernel};

/// Launches with the same limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shares {
    /// What limits them.
    pub bound: Bound,
    /// How many.
    pub launches: usize,
    /// Share of the classed launches, 0 to 1.
    pub launch_share: f64,
    /// Share of the time of the classed launches under the profiler.
    pub time_share: Option<f64>,
    /// Share of the time that the timeline has of them; null without one.
    pub timeline_share: Option<f64>,
}

/// A row for each kind that occurs.
pub fn shares(kernels: &[Kernel]) -> Vec<Shares> {
    let classed: Vec<&Kernel> = kernels.iter().filter(|kernel| kernel.bound.is_some()).collect();
    let sum = |of: &[&Kernel], time: fn(&Kernel) -> Option<f64>| {
        of.iter().filter_map(|kernel| time(kernel)).fold(0.0, |sum: f64, time| sum + time)
    };
    let part = |of: &[&Kernel], time: fn(&Kernel) -> Option<f64>| {
        let all = sum(&classed, time);
        (all > 0.0).then(|| sum(of, time) / all)
    };
    let row = |bound: &Bound| {
        let of: Vec<&Kernel> =
            classed.iter().copied().filter(|kernel| kernel.bound == Some(*bound)).collect();
        (!of.is_empty()).then(|| Shares {
            bound: *bound,
            launches: of.len(),
            launch_share: of.len() as f64 / classed.len() as f64,
            time_share: part(&of, |kernel| kernel.time_ns),
            timeline_share: part(&of, |kernel| kernel.timeline_ns),
        })
    };
    Bound::ALL.iter().filter_map(row).collect()
}
