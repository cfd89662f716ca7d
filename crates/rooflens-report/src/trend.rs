//! A number over runs, and where it changed.

use rooflens_analyze::compare::headline;
use rooflens_analyze::compare::trend::ChangePoint;

use crate::block::{Block, Cell, Chart, ChartUnit, Column, Field, Mark, Series, Table, Tone};
use crate::format;
use crate::render::Part;
use crate::render::bars::extent;

/// With fewer values, no change can be distinguished from chance.
const FEWEST: usize = 4;

struct Point<'a> {
    key: &'a str,
    found: &'a ChangePoint,
    /// The run that it begins with; without one, its index.
    at: String,
}

/// A table of changes. Times have their unit in the names of columns, as everywhere.
fn fields<'a>(before: &'static str, after: &'static str) -> [Field<Point<'a>>; 6] {
    [
        (Column::text("at", "Since"), |point| Cell::code(point.at.clone())),
        (Column::number("index", "Index"), |point| Cell::count(point.found.index)),
        (Column::number(before, "Before"), |point| Cell::metric(point.key, point.found.before)),
        (Column::number(after, "After"), |point| Cell::metric(point.key, point.found.after)),
        (Column::number("change", "Change"), |point| {
            Cell::or(point.found.change, Cell::Change, "the mean before is 0")
        }),
        (Column::number("p", "p"), |point| Cell::text(format!("{:.1e}", point.found.p))),
    ]
}

/// The values, with the run of each where they come from runs, and the change points among them; `few` is how many
/// values there are beside a change, where these are too few to be sure of it.
pub fn parts(
    key: &str,
    values: &[f64],
    runs: Option<&[String]>,
    points: &[ChangePoint],
    few: Option<usize>,
) -> Vec<Part> {
    let at = |point: &ChangePoint| match runs.and_then(|runs| runs.get(point.index)) {
        Some(run) => run.clone(),
        None => format!("index {}", point.index),
    };
    let unit = ChartUnit::of_metric(key);
    let name = headline::title_of(key);
    let value = |value: f64| format::value(value, &unit).trim_end().to_owned();
    let (low, high) = extent(values);
    let what = if runs.is_some() { "runs" } else { "values" };
    let range = format!("values from {} to {}", value(low), value(high));
    let lead = match points {
        [] if values.len() == 1 => {
            format!(
                "{name}: {} in the only {}, so there is nothing to compare.",
                value(low),
                what.trim_end_matches('s')
            )
        }
        [] if values.len() < FEWEST => {
            format!("{name}: {} {what} are too few to find a change; {range}.", values.len())
        }
        [] => format!("{name}: no change point in {} {what}; {range}.", values.len()),
        [only] => format!("{name}: changed once in {} {what}, at {}; {range}.", values.len(), at(only)),
        [.., last] => format!(
            "{name}: changed {} times in {} {what}, last at {}; {range}.",
            points.len(),
            values.len(),
            at(last)
        ),
    };
    let lead = match few {
        Some(few) => {
            let few = format::plural(few as i64, "value");
            format!("{lead} It may be chance: there is only {few} on one side of a change.")
        }
        None => lead,
    };
    let chart = Chart {
        title: name.clone().into_owned(),
        x: (if runs.is_some() { "runs, oldest first" } else { "by index" }.into(), ChartUnit::Index),
        y: ("value".into(), unit.clone()),
        mark: Mark::Levels,
        series: vec![Series {
            label: name.into_owned(),
            tone: Tone::Plain,
            points: values.iter().enumerate().map(|(i, value)| (i as f64, *value)).collect(),
        }],
        rules: vec![],
    };
    let fields = match unit {
        ChartUnit::Time => fields("before_ns", "after_ns"),
        _ => fields("before", "after"),
    };
    let points: Vec<Point<'_>> = points.iter().map(|found| Point { key, found, at: at(found) }).collect();
    let table = Table::new("change_points", &fields, &points, usize::MAX);
    let mut blocks = vec![Block::Lead(lead), Block::Chart(chart)];
    blocks.extend((!points.is_empty()).then_some(Block::Table(table)));
    vec![Part { name: "trend", title: "Trend", blocks }]
}
