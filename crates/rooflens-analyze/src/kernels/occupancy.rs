//! How full a launch makes the device, what limits that, and what its warps wait for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::launch::ProfiledLaunch;

/// How full the multiprocessors are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Occupancy {
    /// Active warps, percent of the most that a multiprocessor holds.
    pub achieved_pct: Option<f64>,
    /// The most that this launch's blocks allow.
    pub theoretical_pct: Option<f64>,
    /// What allows no more blocks: `registers`, `shared_memory`, `warps`, `blocks`, `barriers`.
    pub limited_by: Vec<Cow<'static, str>>,
    /// Blocks of a multiprocessor that each limit allows; only those recorded.
    pub limits: BTreeMap<Cow<'static, str>, f64>,
}

/// Warp stall reasons.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// The reason, in the profiler's word: `long_scoreboard`.
    pub reason: String,
    /// Share of the time of active warps, 0 to 1.
    pub share: f64,
}

const LIMITS: &[(&str, &str)] = &[
    ("registers", "launch__occupancy_limit_registers"),
    ("shared_memory", "launch__occupancy_limit_shared_mem"),
    ("warps", "launch__occupancy_limit_warps"),
    ("blocks", "launch__occupancy_limit_blocks"),
    ("barriers", "launch__occupancy_limit_barriers"),
];

pub(crate) fn occupancy(launch: &ProfiledLaunch) -> Occupancy {
    let least = blocks_a_multiprocessor(launch);
    let limited_by = LIMITS.iter().filter(|(_, metric)| least.is_some() && launch.number(metric) == least);
    Occupancy {
        achieved_pct: launch.number("sm__warps_active.avg.pct_of_peak_sustained_active"),
        theoretical_pct: launch.number("sm__maximum_warps_per_active_cycle_pct"),
        limited_by: limited_by.map(|(name, _)| Cow::Borrowed(*name)).collect(),
        limits: LIMITS
            .iter()
            .filter_map(|(name, metric)| {
                Some((Cow::Borrowed(*name), launch.number(metric).filter(|limit| *limit > 0.0)?))
            })
            .collect(),
    }
}

/// Resident blocks per multiprocessor at once. A limit of 0 is one that does not apply.
fn blocks_a_multiprocessor(launch: &ProfiledLaunch) -> Option<f64> {
    let limits = LIMITS.iter().filter_map(|(_, metric)| launch.number(metric)).filter(|limit| *limit > 0.0);
    limits.min_by(f64::total_cmp)
}

pub(crate) fn waves(launch: &ProfiledLaunch, multiprocessors: Option<f64>) -> Option<f64> {
    let computed = || {
        let at_once = blocks_a_multiprocessor(launch)? * multiprocessors.filter(|count| *count > 0.0)?;
        Some(launch.blocks()? / at_once)
    };
    launch.number("launch__waves_per_multiprocessor").or_else(computed)
}

/// Blocks of the grid by multiprocessors. Where nobody tells how many there are, waves do.
pub(crate) fn blocks_per_multiprocessor(
    launch: &ProfiledLaunch,
    multiprocessors: Option<f64>,
) -> Option<f64> {
    let by_waves =
        || Some(launch.number("launch__waves_per_multiprocessor")? * blocks_a_multiprocessor(launch)?);
    let told = multiprocessors.filter(|count| *count > 0.0);
    launch.blocks().zip(told).map(|(blocks, count)| blocks / count).or_else(by_waves)
}

/// Reasons with a share of the warps' time, the largest first. A warp that issues does not wait.
pub(crate) fn stalls(launch: &ProfiledLaunch) -> Vec<Stall> {
    let of = |prefix: &str, suffix: &str| -> Vec<(String, f64)> {
        let named = launch.numbers.iter().filter_map(|(name, value)| {
            let reason = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
            (!reason.ends_with("_not_issued")).then(|| (reason.to_owned(), *value))
        });
        named.filter(|(_, value)| value.is_finite() && *value >= 0.0).collect()
    };
    let mut found = of("smsp__average_warps_issue_stalled_", "_per_issue_active.ratio");
    if found.is_empty() {
        found = of("smsp__pcsamp_warps_issue_stalled_", "");
    }
    let all: f64 = found.iter().map(|(_, value)| value).sum();
    let waiting = found.into_iter().filter(|(reason, value)| reason != "selected" && *value > 0.0);
    by_share(waiting.map(|(reason, value)| Stall { reason, share: value / all }))
}

/// The largest share first.
pub(super) fn by_share(stalls: impl Iterator<Item = Stall>) -> Vec<Stall> {
    let mut stalls: Vec<Stall> = stalls.collect();
    stalls.sort_by(|a, b| b.share.total_cmp(&a.share));
    stalls
}
