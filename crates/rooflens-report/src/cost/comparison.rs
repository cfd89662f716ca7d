//! Two designs side by side.

use rooflens_cost::compare::{Change, Difference, Differences, OperatorDifference};
use rooflens_cost::hold::{Balance, Held};

use super::{NO_DEVICE, seconds};
use crate::block::{Block, Cell, Column, Field, Level, Table};
use crate::format;
use crate::render::Part;

/// What differs, and how a change was made up for: `rows` operators.
#[must_use]
pub fn comparison(differences: &Differences, balance: Option<&Balance>, rows: usize) -> Part {
    let mut blocks = Vec::new();
    if let Some(balance) = balance {
        blocks.push(Block::Text(balance_sentence(balance)));
    }
    blocks.push(Block::Table(Table::new("totals", TOTALS, &differences.totals, usize::MAX)));
    let mut changed: Vec<&OperatorDifference> =
        differences.operators.iter().filter(|operator| is_changed(operator)).collect();
    let weight = |operator: &OperatorDifference| {
        operator.seconds.map_or(operator.flops.difference, |seconds| seconds.difference).abs()
    };
    changed.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    if changed.is_empty() {
        blocks.push(Block::Text("No operator changes.".to_owned()));
    } else {
        let mut table = Table::new("differences", OPERATORS, &changed, rows);
        if let Some(left_out) = &mut table.left_out {
            left_out.place = "--format json";
        }
        blocks.push(Block::Table(table));
    }
    Part { name: "differences", title: "Against the base", blocks }
}

fn is_changed(operator: &OperatorDifference) -> bool {
    operator.flops.difference != 0.0
        || operator.bytes.difference != 0.0
        || operator.seconds.is_some_and(|seconds| seconds.difference != 0.0)
}

fn balance_sentence(balance: &Balance) -> String {
    let (what, shown): (&str, fn(f64) -> String) = match balance.held {
        Held::Params => ("parameters", format::parameters),
        Held::Flops => ("operations of a prompt of 1,024 tokens", |value| format::amount(value, "FLOP")),
        Held::Kv => ("cache of a token", |value| format::amount(value, "B")),
    };
    let before = format::count(balance.before as i64);
    let after = format::count(balance.after as i64);
    let off = match balance.wanted {
        0.0 => 0.0,
        wanted => balance.reached / wanted - 1.0,
    };
    format!(
        "To hold {what} at {}, {} goes from {before} to {after}: {} ({}).",
        shown(balance.wanted),
        balance.key,
        shown(balance.reached),
        format::change(off)
    )
}

/// A number in its unit.
fn in_unit(value: f64, unit: &str) -> Cell {
    match unit {
        "s" => seconds(value),
        "B" => Cell::Amount(value, "B"),
        "FLOP" => Cell::Amount(value, "FLOP"),
        _ => Cell::Params(value),
    }
}

fn change(change: &Change) -> Cell {
    Cell::or(change.change, Cell::Change, "the base has none")
}

const TOTALS: &[Field<Difference>] = &[
    (Column::text("name", "number"), |row| Cell::code(row.name)),
    (Column::number("base", "base"), |row| in_unit(row.values.base, row.unit)),
    (Column::number("value", "changed"), |row| in_unit(row.values.value, row.unit)),
    (Column::number("change", "change"), |row| change(&row.values)),
];

const OPERATORS: &[Field<OperatorDifference>] = &[
    (Column::text("name", "operator"), |row| Cell::code(row.name)),
    (Column::text("phase", "phase"), |row| Cell::word(row.phase.as_str())),
    (Column::text("class", "class").at(Level::Screen), |row| Cell::code(row.class)),
    (Column::number("seconds_base", "time"), |row| {
        Cell::or(row.seconds, |time| seconds(time.base), NO_DEVICE)
    }),
    (Column::number("seconds", "changed"), |row| {
        Cell::or(row.seconds, |time| seconds(time.value), NO_DEVICE)
    }),
    (Column::number("seconds_change", "change"), |row| {
        row.seconds.as_ref().map_or(Cell::Missing(NO_DEVICE), change)
    }),
    (Column::number("flops_base", "useful").at(Level::Page), |row| Cell::Amount(row.flops.base, "FLOP")),
    (Column::number("flops", "changed").at(Level::Page), |row| Cell::Amount(row.flops.value, "FLOP")),
    (Column::number("flops_change", "FLOP").at(Level::Screen), |row| change(&row.flops)),
    (Column::number("bytes_base", "moved").at(Level::Page), |row| Cell::Amount(row.bytes.base, "B")),
    (Column::number("bytes", "changed").at(Level::Page), |row| Cell::Amount(row.bytes.value, "B")),
    (Column::number("bytes_change", "bytes").at(Level::Screen), |row| change(&row.bytes)),
];
