//! A number over runs, and where it changed.

use rooflens_analyze::trend::ChangePoint;

use crate::block::{Block, Cell, Chart, Column, Field, Mark, Series, Table, Tone, Unit};
use crate::render::Part;

const TIMES: &[Field<ChangePoint>] = &[
    (Column::number("index", "Index"), |point| Cell::count(point.index)),
    (Column::number("before_ns", "Before"), |point| Cell::MeanTime(point.before)),
    (Column::number("after_ns", "After"), |point| Cell::MeanTime(point.after)),
    (Column::number("change", "Change"), change),
    (Column::number("p", "p"), p),
];

const PLAIN: &[Field<ChangePoint>] = &[
    (Column::number("index", "Index"), |point| Cell::count(point.index)),
    (Column::number("before", "Before"), |point| Cell::Amount(point.before, "")),
    (Column::number("after", "After"), |point| Cell::Amount(point.after, "")),
    (Column::number("change", "Change"), change),
    (Column::number("p", "p"), p),
];

fn change(point: &ChangePoint) -> Cell {
    Cell::or(point.change, Cell::Change, "the mean before is 0")
}

fn p(point: &ChangePoint) -> Cell {
    Cell::text(format!("{:.1e}", point.p))
}

/// The values, and the change points among them.
pub fn parts(key: &str, values: &[f64], points: &[ChangePoint]) -> Vec<Part> {
    let is_time = key.ends_with("_ns");
    let lead = match points {
        [] => format!("{key}: no change in {} values.", values.len()),
        [only] => format!("{key}: changed once in {} values, at index {}.", values.len(), only.index),
        _ => format!("{key}: changed {} times in {} values.", points.len(), values.len()),
    };
    let chart = Chart {
        title: key.to_owned(),
        x: ("by index", Unit::Index),
        y: ("value", if is_time { Unit::Time } else { Unit::Amount("") }),
        mark: Mark::Columns,
        series: vec![Series {
            label: key.to_owned(),
            tone: Tone::Plain,
            points: values.iter().enumerate().map(|(i, value)| (i as f64, *value)).collect(),
        }],
        rules: vec![],
    };
    let fields = if is_time { TIMES } else { PLAIN };
    let table = Table::new("change_points", fields, points, usize::MAX);
    let mut blocks = vec![Block::Lead(lead), Block::Chart(chart)];
    blocks.extend((!points.is_empty()).then_some(Block::Table(table)));
    vec![Part { name: "trend", title: "Trend", blocks }]
}
