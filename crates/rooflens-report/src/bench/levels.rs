//! The levels of a sweep or a search: a table, and latency over throughput.

use crate::block::{Cell, Column, Drawing, Field, Level, Table};
use crate::figure::{Axis, FigureUnit, LineChart, LineSeries};

/// A level.
#[derive(Debug, Clone, Default)]
pub struct LevelRow {
    /// What was offered, in words: `16 users`, `4 requests/s`.
    pub offered: String,
    /// Requests completed per second.
    pub requests_per_s: Option<f64>,
    /// Output tokens per second.
    pub output_tokens_per_s: Option<f64>,
    /// Output tokens per second and user.
    pub per_user: Option<f64>,
    /// TTFT, median and 99th percentile.
    pub ttft_ns: Option<(f64, f64)>,
    /// TPOT, median and 99th percentile.
    pub tpot_ns: Option<(f64, f64)>,
    /// Share of failed requests.
    pub failed: Option<f64>,
    /// Whether the objectives are met; nothing without objectives.
    pub is_met: Option<bool>,
    /// Whether the client kept up.
    pub is_valid: bool,
    /// Whether no other level has both more tokens per second and more per user.
    pub is_front: bool,
    /// Whether it is the level that the headline numbers are of.
    pub is_headline: bool,
    /// Its report, from the page's own folder.
    pub report: Option<String>,
}

const NOT_MEASURED: &str = "no request was completed";

const FIELDS: &[Field<LevelRow>] = &[
    (Column::text("offered", "Offered"), offered),
    (Column::number("output_tokens_per_s", "tokens/s"), |row| mean(row.output_tokens_per_s)),
    (
        Column::number("per_user", "per user")
            .help("Output tokens per second that one request gets: 1 / TPOT p50."),
        |row| mean(row.per_user),
    ),
    (Column::number("requests_per_s", "requests/s").at(Level::Screen), |row| mean(row.requests_per_s)),
    (Column::number("ttft_p50_ns", "TTFT p50"), |row| time(row.ttft_ns.map(|pair| pair.0))),
    (Column::number("ttft_p99_ns", "TTFT p99"), |row| time(row.ttft_ns.map(|pair| pair.1))),
    (Column::number("tpot_p50_ns", "TPOT p50"), |row| time(row.tpot_ns.map(|pair| pair.0))),
    (Column::number("tpot_p99_ns", "TPOT p99").at(Level::Screen), |row| time(row.tpot_ns.map(|pair| pair.1))),
    (Column::number("failed", "failed"), |row| Cell::or(row.failed, Cell::Share, NOT_MEASURED)),
    (Column::text("slo", "SLO"), |row| {
        Cell::or(row.is_met, |met| Cell::word(if met { "met" } else { "missed" }), "no --slo")
    }),
    (Column::text("client", "client"), |row| Cell::word(if row.is_valid { "ok" } else { "bottleneck" })),
    (
        Column::text("front", "Pareto front")
            .at(Level::Page)
            .help("Pareto-optimal: no other level has both more tokens per second and more per user."),
        |row| Cell::word(if row.is_front { "yes" } else { "no" }),
    ),
];

fn offered(row: &LevelRow) -> Cell {
    let cell = match &row.report {
        Some(path) => Cell::Link { words: row.offered.clone(), path: path.clone() },
        None => Cell::text(&row.offered),
    };
    if row.is_headline { Cell::Best(Box::new(cell)) } else { cell }
}

fn mean(value: Option<f64>) -> Cell {
    Cell::or(value, Cell::Mean, NOT_MEASURED)
}

fn time(value: Option<f64>) -> Cell {
    Cell::or(value, Cell::MeanTime, NOT_MEASURED)
}

pub(super) fn table(levels: &[LevelRow]) -> Option<Table> {
    (levels.len() > 1).then(|| Table::new("levels", FIELDS, levels, usize::MAX))
}

/// The levels by what was offered, lightest first: past saturation throughput does not grow with the load any more. Where
/// loads are not of one kind, by throughput.
pub(crate) fn by_load(levels: &[LevelRow]) -> Vec<&LevelRow> {
    let load = |row: &LevelRow| {
        let (number, unit) = row.offered.split_once(' ')?;
        Some((number.replace(',', "").parse::<f64>().ok()?, unit.trim_end_matches('s').to_owned()))
    };
    let loads: Option<Vec<(f64, String)>> = levels.iter().map(load).collect();
    let is_one_kind = |loads: &Vec<(f64, String)>| loads.iter().all(|one| one.1 == loads[0].1);
    let keys: Vec<f64> = match loads.filter(is_one_kind) {
        Some(loads) => loads.into_iter().map(|one| one.0).collect(),
        None => levels.iter().map(|row| row.output_tokens_per_s.unwrap_or(f64::INFINITY)).collect(),
    };
    let mut order: Vec<(f64, &LevelRow)> = keys.into_iter().zip(levels).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    order.into_iter().map(|(_, row)| row).collect()
}

/// Latency over throughput; nothing for fewer than two points.
pub fn curve(levels: &[LevelRow]) -> Option<Drawing> {
    let points = |pick: fn(&LevelRow) -> Option<f64>| -> Vec<(f64, Option<f64>)> {
        by_load(levels)
            .into_iter()
            .filter_map(|row| Some((row.output_tokens_per_s?, Some(pick(row)?))))
            .collect()
    };
    let series: Vec<LineSeries> = [
        ("TTFT p50", points(|row| row.ttft_ns.map(|pair| pair.0))),
        ("TTFT p99", points(|row| row.ttft_ns.map(|pair| pair.1))),
        ("TPOT p50", points(|row| row.tpot_ns.map(|pair| pair.0))),
        ("TPOT p99", points(|row| row.tpot_ns.map(|pair| pair.1))),
    ]
    .into_iter()
    .filter(|(_, points)| points.len() > 1)
    .map(|(name, points)| LineSeries::new(name, points))
    .collect();
    if series.is_empty() {
        return None;
    }
    let title = "Latency over throughput".to_owned();
    let chart = LineChart {
        title: title.clone(),
        subtitle: "one point per level".to_owned(),
        x: Axis::linear("output tokens per second", FigureUnit::Number),
        y: Axis::log10("latency", FigureUnit::Time),
        series,
        ..LineChart::default()
    };
    Some(Drawing { title, path: "figures/latency-throughput.svg".to_owned(), svg: chart.svg() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_level_has_no_curve() {
        let level = |tokens: f64, ttft: f64| LevelRow {
            offered: format!("{tokens} tokens"),
            output_tokens_per_s: Some(tokens),
            ttft_ns: Some((ttft, ttft * 2.0)),
            ..LevelRow::default()
        };
        assert!(curve(&[level(1.0, 5e6)]).is_none() && table(&[level(1.0, 5e6)]).is_none());
        let drawn = curve(&[level(100.0, 5e6), level(50.0, 4e6)]).unwrap();
        assert!(drawn.svg.contains("TTFT p99") && !drawn.svg.contains("TPOT p99"));
    }
}
