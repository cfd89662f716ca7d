//! Two runs side by side: the largest change first, then what it is made of, then whether to believe it.

use rooflens_analyze::compare::{
    Check, CheckVerdict, Difference, Headline, How, Line, Pair, PhaseChange, Ratio,
};

use crate::block::{Block, Cell, Column, Field, Level, Table};
use crate::format;
use crate::render::{Part, html as page};

const LINES: &[Field<Line>] = &[
    (Column::text("phase", "Phase"), |line| Cell::word(line.phase)),
    (Column::text("label", "What"), |line| Cell::code(named(line))),
    (Column::text("how", "How").at(Level::Screen), |line| Cell::word(how(line))),
    (Column::number("a_count", "Calls A").at(Level::Screen), |line| Cell::Mean(line.a_count)),
    (Column::number("b_count", "Calls B").at(Level::Screen), |line| Cell::Mean(line.b_count)),
    (Column::number("a_ns", "A, a step"), |line| Cell::MeanTime(line.a_ns)),
    (Column::number("b_ns", "B, a step"), |line| Cell::MeanTime(line.b_ns)),
    (Column::number("delta_ns", "Change"), |line| Cell::text(signed(line.delta_ns))),
    (Column::number("ratio", "Change %").at(Level::Screen), |line| change(line.ratio.as_ref())),
    (Column::number("p_adjusted", "p").at(Level::Page), |line| p(line.p_adjusted)),
];

const HEADLINE: &[Field<Headline>] = &[
    (Column::text("metric", "Metric"), |row| Cell::code(row.metric)),
    (Column::number("a", "A"), |row| value(row.metric, row.a)),
    (Column::number("b", "B"), |row| value(row.metric, row.b)),
    (Column::number("change", "Change"), |row| change(row.ratio.as_ref())),
    (Column::text("interval", "95 % interval"), |row| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few rounds")
    }),
    (Column::number("p", "p").at(Level::Screen), |row| p(row.ratio.as_ref().map(|ratio| ratio.p))),
    (Column::text("is_change", "Verdict"), |row| Cell::text(verdict(row))),
];

const PHASES: &[Field<PhaseChange>] = &[
    (Column::text("phase", "Phase"), |row| Cell::word(row.phase)),
    (Column::number("a_steps", "Steps A"), |row| Cell::count(row.a_steps)),
    (Column::number("b_steps", "Steps B"), |row| Cell::count(row.b_steps)),
    (Column::number("a_ns", "A, a step"), |row| Cell::MeanTime(row.a_ns)),
    (Column::number("b_ns", "B, a step"), |row| Cell::MeanTime(row.b_ns)),
    (Column::number("change", "Change"), |row| change(row.ratio.as_ref())),
    (Column::text("interval", "95 % interval"), |row| {
        Cell::or(row.ratio.as_ref().map(interval), Cell::text, "too few steps")
    }),
    (
        Column::number("common_ratio", "All work")
            .help("what all work of the phase shares, as on a slower machine"),
        |row| Cell::or(row.common_ratio.map(|ratio| ratio - 1.0), Cell::Change, "no work is on both sides"),
    ),
];

const CHECKS: &[Field<Check>] = &[
    (Column::text("what", "Check"), |row| Cell::word(row.what.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not known")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not known")),
    (Column::text("verdict", "Verdict"), |row| Cell::word(row.verdict.as_str())),
];

const DIFFERENCES: &[Field<Difference>] = &[
    (Column::text("key", "Key"), |row| Cell::code(row.key.clone())),
    (Column::text("a", "A"), |row| Cell::or(row.a.clone(), Cell::text, "not there")),
    (Column::text("b", "B"), |row| Cell::or(row.b.clone(), Cell::text, "not there")),
];

/// A comparison, with at most `limit` lines a table.
pub fn parts(pair: &Pair, limit: usize) -> Vec<Part> {
    let mut blocks = vec![Block::Lead(lead(pair)), Block::Text(format!("A is {}, B is {}.", pair.a, pair.b))];
    let mut section = |title: &str, table: Table| {
        if !table.rows.is_empty() {
            blocks.push(Block::Heading(title.to_owned()));
            blocks.push(Block::Table(table));
        }
    };
    section("Config", Table::new("differences", DIFFERENCES, &pair.differences, limit));
    section("Rounds", Table::new("headline", HEADLINE, &pair.headline, usize::MAX));
    section("Steps", Table::new("phases", PHASES, &pair.timeline.phases, usize::MAX));
    let changes: Vec<&Line> = pair.timeline.lines.iter().filter(|line| line.is_change).collect();
    section("Changes", Table::new("changes", LINES, &changes, limit));
    let renamed: Vec<&Line> = pair
        .timeline
        .lines
        .iter()
        .filter(|line| !line.is_change && line.how != How::Same && line.what == "work")
        .collect();
    section("Other names", Table::new("renamed", LINES, &renamed, limit));
    section("Checks", Table::new("checks", CHECKS, &pair.checks, usize::MAX));
    vec![Part { name: "comparison", title: "Comparison", blocks }]
}

/// The same as a page of its own.
pub fn html(parts: &[Part]) -> String {
    page::parts("Comparison", parts, "Made by Rooflens.")
}

/// The largest change, in a sentence; first of all, whether it may be believed.
fn lead(pair: &Pair) -> String {
    let differ = pair.checks.iter().filter(|check| check.verdict == CheckVerdict::Invalid);
    let differ: Vec<String> = differ.map(|check| check.what.replace('_', " ")).collect();
    let change = largest(pair);
    if differ.is_empty() { change } else { format!("Invalid, as {} differs. {change}", differ.join(" and ")) }
}

fn largest(pair: &Pair) -> String {
    let first = pair.timeline.lines.iter().find(|line| line.is_change);
    let number = pair.headline.iter().find(|row| row.is_change);
    let from = |line: &Line| {
        let (a, b) = (format::time(line.a_ns), format::time(line.b_ns));
        format!("{}: {} {} a step ({a} → {b}).", line.phase, named(line), signed(line.delta_ns))
    };
    let told = |row: &Headline| {
        let change = row.ratio.as_ref().map(|ratio| format::change(ratio.ratio - 1.0)).unwrap_or_default();
        format!("{} {change}.", row.metric.trim_end_matches("_ns"))
    };
    match (first, number) {
        (Some(line), Some(row)) => format!("{} {}", from(line), told(row)),
        (Some(line), None) => from(line),
        (None, Some(row)) => told(row),
        (None, None) => "No change that is more than chance.".to_owned(),
    }
}

fn named(line: &Line) -> String {
    match &line.types {
        Some((a, b)) => format!("{} ({a} → {b})", line.label),
        None => line.label.clone(),
    }
}

fn how(line: &Line) -> &'static str {
    match line.how {
        How::Same => "same",
        How::Renamed => "renamed",
        How::Fused => "fused",
        How::Split => "split",
        How::Replaced => "replaced",
        How::New => "new",
        How::Gone => "gone",
    }
}

fn signed(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "−" } else { "+" }, format::time(ns.abs()))
}

fn change(ratio: Option<&Ratio>) -> Cell {
    Cell::or(ratio.map(|ratio| ratio.ratio - 1.0), Cell::Change, "too few values, or none in A")
}

fn interval(ratio: &Ratio) -> String {
    format!("{} to {}", format::change(ratio.low - 1.0), format::change(ratio.high - 1.0))
}

fn p(p: Option<f64>) -> Cell {
    Cell::or(
        p.map(|p| if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") }),
        Cell::text,
        "too few values",
    )
}

fn value(metric: &str, value: Option<f64>) -> Cell {
    let is_time = metric.ends_with("_ns");
    let cell = |value| if is_time { Cell::MeanTime(value) } else { Cell::Amount(value, "tokens/s") };
    Cell::or(value, cell, "not measured")
}

fn verdict(row: &Headline) -> String {
    let Some(ratio) = &row.ratio else {
        return row.not_judged.clone().unwrap_or_else(|| "not judged".to_owned());
    };
    let better = (ratio.ratio > 1.0) == row.more_is_better;
    match (row.is_change, better) {
        (false, _) => "no change that is sure",
        (true, true) => "better",
        (true, false) => "worse",
    }
    .to_owned()
}
