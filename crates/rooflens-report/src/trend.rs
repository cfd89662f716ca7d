//! A number over runs, and where it changed.

use rooflens_compare::trend::ChangePoint;

use crate::block::{Block, Cell, Chart, ChartUnit, Column, Field, Mark, Series, Table, Tone};
use crate::format;
use crate::render::Part;

/// With fewer values, no change can be told from chance.
const FEWEST: usize = 4;

/// A change, and the run that it begins with; without one, its index.
type Point = (ChangePoint, String);

const TIMES: &[Field<Point>] = &[
    (Column::text("at", "Since"), |(_, at)| Cell::code(at.clone())),
    (Column::number("index", "Index"), |(point, _)| Cell::count(point.index)),
    (Column::number("before_ns", "Before"), |(point, _)| Cell::MeanTime(point.before)),
    (Column::number("after_ns", "After"), |(point, _)| Cell::MeanTime(point.after)),
    (Column::number("change", "Change"), change),
    (Column::number("p", "p"), p),
];

const PLAIN: &[Field<Point>] = &[
    (Column::text("at", "Since"), |(_, at)| Cell::code(at.clone())),
    (Column::number("index", "Index"), |(point, _)| Cell::count(point.index)),
    (Column::number("before", "Before"), |(point, _)| Cell::amount(point.before, "")),
    (Column::number("after", "After"), |(point, _)| Cell::amount(point.after, "")),
    (Column::number("change", "Change"), change),
    (Column::number("p", "p"), p),
];

fn change((point, _): &Point) -> Cell {
    Cell::or(point.change, Cell::Change, "the mean before is 0")
}

fn p((point, _): &Point) -> Cell {
    Cell::text(format!("{:.1e}", point.p))
}

/// The values, with the run of each where they come from runs, and the change points among them.
pub fn parts(key: &str, values: &[f64], runs: Option<&[String]>, points: &[ChangePoint]) -> Vec<Part> {
    let is_time = key.ends_with("_ns");
    let is_share =
        key.ends_with("_share") || key.ends_with("_rate") || key.starts_with("mfu") || key.starts_with("mbu");
    let at = |point: &ChangePoint| match runs.and_then(|runs| runs.get(point.index)) {
        Some(run) => run.clone(),
        None => format!("index {}", point.index),
    };
    let unit = match (is_time, is_share) {
        (true, _) => ChartUnit::Time,
        (_, true) => ChartUnit::Share,
        _ => ChartUnit::Amount("".into()),
    };
    let value = |value: f64| format::value(value, &unit).trim_end().to_owned();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let what = if runs.is_some() { "runs" } else { "values" };
    let range = format!("values from {} to {}", value(low), value(high));
    let lead = match points {
        [] if values.len() == 1 => {
            format!(
                "{key}: {} in the only {}, so there is nothing to compare.",
                value(low),
                what.trim_end_matches('s')
            )
        }
        [] if values.len() < FEWEST => {
            format!("{key}: {} {what} are too few to find a change; {range}.", values.len())
        }
        [] => format!("{key}: no change point in {} {what}; {range}.", values.len()),
        [only] => format!("{key}: changed once in {} {what}, at {}; {range}.", values.len(), at(only)),
        [.., last] => format!(
            "{key}: changed {} times in {} {what}, last at {}; {range}.",
            points.len(),
            values.len(),
            at(last)
        ),
    };
    let chart = Chart {
        title: key.to_owned(),
        x: ("by index".into(), ChartUnit::Index),
        y: ("value".into(), unit.clone()),
        mark: Mark::Levels,
        series: vec![Series {
            label: key.to_owned(),
            tone: Tone::Plain,
            points: values.iter().enumerate().map(|(i, value)| (i as f64, *value)).collect(),
        }],
        rules: vec![],
    };
    let fields = if is_time { TIMES } else { PLAIN };
    let points: Vec<Point> = points.iter().map(|point| (point.clone(), at(point))).collect();
    let table = Table::new("change_points", fields, &points, usize::MAX);
    let mut blocks = vec![Block::Lead(lead), Block::Chart(chart)];
    blocks.extend((!points.is_empty()).then_some(Block::Table(table)));
    vec![Part { name: "trend", title: "Trend", blocks }]
}
