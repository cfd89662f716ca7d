//! Latency over throughput: the levels of a load test.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::inputs::{ChartInputs, finite, named};
use crate::bench::{LevelRow, by_load};

/// Latency over throughput.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyPlot {
    /// The levels, by their load.
    pub levels: Vec<LatencyPoint>,
}

impl LatencyPlot {
    /// Each latency that two levels or more have, as `(tokens per second, ns)`.
    pub(crate) fn lines(&self) -> Vec<(&'static str, Vec<(f64, f64)>)> {
        let line = |of: fn(&LatencyPoint) -> Option<f64>| -> Vec<(f64, f64)> {
            self.levels.iter().filter_map(|level| Some((level.output_tokens_per_s, of(level)?))).collect()
        };
        [
            ("TTFT p50", line(|level| level.ttft_p50_ns)),
            ("TTFT p99", line(|level| level.ttft_p99_ns)),
            ("TPOT p50", line(|level| level.tpot_p50_ns)),
            ("TPOT p99", line(|level| level.tpot_p99_ns)),
        ]
        .into_iter()
        .filter(|(_, points)| points.len() > 1)
        .collect()
    }
}

/// A level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyPoint {
    /// What was offered, as `16 users`.
    pub(crate) offered: String,
    /// Output tokens per second.
    pub output_tokens_per_s: f64,
    /// Output tokens per second and user.
    pub(crate) per_user: Option<f64>,
    /// Median time to first token.
    pub(crate) ttft_p50_ns: Option<f64>,
    /// 99th percentile of it.
    pub(crate) ttft_p99_ns: Option<f64>,
    /// Median time per output token.
    pub(crate) tpot_p50_ns: Option<f64>,
    /// 99th percentile of it.
    pub(crate) tpot_p99_ns: Option<f64>,
    /// Share of failed requests.
    pub(crate) failed: Option<f64>,
    /// Whether the objectives are met; null without objectives.
    pub(crate) is_met: Option<bool>,
    /// Whether the client kept up.
    pub(crate) is_valid: bool,
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, LatencyPlot), String> {
    let levels: Vec<LatencyPoint> = by_load(inputs.levels).into_iter().filter_map(level).collect();
    match levels.len() {
        0 => Err("the input is not a load test: rooflens bench makes one".to_owned()),
        1 => Err("the load test has one level only: --concurrency 1,2,4,8 measures several".to_owned()),
        _ => Ok(("One point per level".to_owned(), LatencyPlot { levels })),
    }
}

fn level(row: &LevelRow) -> Option<LatencyPoint> {
    let part = |pair: Option<(f64, f64)>, second: bool| {
        pair.map(|pair| if second { pair.1 } else { pair.0 }).and_then(finite)
    };
    Some(LatencyPoint {
        offered: named(&row.offered),
        output_tokens_per_s: row.output_tokens_per_s.and_then(finite)?,
        per_user: row.per_user.and_then(finite),
        ttft_p50_ns: part(row.ttft_ns, false),
        ttft_p99_ns: part(row.ttft_ns, true),
        tpot_p50_ns: part(row.tpot_ns, false),
        tpot_p99_ns: part(row.tpot_ns, true),
        failed: row.failed.and_then(finite),
        is_met: row.is_met,
        is_valid: row.is_valid,
    })
}
