//! Two designs side by side.

use rooflens_cost::compare::{Change, Difference, Differences, OperatorDifference};
use rooflens_cost::document::EstimateDocument;
use rooflens_cost::hold::{Balance, Held};

use super::{NO_DEVICE, count, lead, seconds};
use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::format;
use crate::render::Part;

/// A design against another: `parts` are those of the design by itself, `rows` the operators shown.
/// What changed is what was asked for, so it stands first.
pub fn compared(
    names: (&str, &str),
    document: &EstimateDocument,
    differences: &Differences,
    balance: Option<&Balance>,
    mut parts: Vec<Part>,
    rows: usize,
) -> Vec<Part> {
    let (name, base) = names;
    if let Some(verdict) = parts.first_mut() {
        verdict.blocks = vec![Block::Lead(lead::comparison(name, base, document, differences))];
    }
    let mut blocks =
        vec![Block::Facts(vec![Fact::new("base", Cell::text(base)), Fact::new("changed", Cell::text(name))])];
    blocks.extend(balance.map(|balance| Block::Text(balance_sentence(balance))));
    // Prompts and single steps have little in common: their sum tells nothing.
    let apart = document.phases.len() > 1;
    let is_shown = |row: &&Difference| match &*row.name {
        "params.active" => document.params.experts > 0,
        "flops.useful" | "bytes.total" | "seconds" => row.phase.is_some() == apart,
        _ => true,
    };
    let totals: Vec<&Difference> = differences.totals.iter().filter(is_shown).collect();
    blocks.push(Block::Table(Table::new("totals", TOTALS, &totals, usize::MAX)));
    blocks.extend(operators(differences, rows));
    parts.insert(
        1.min(parts.len()),
        Part { name: "differences", title: "Compared with the baseline", blocks },
    );
    parts
}

/// Every operator of either design, for programs.
pub fn differing_operators(differences: &Differences) -> Vec<Part> {
    let table = Table::new("differences", OPERATORS, &differences.operators, usize::MAX);
    vec![Part { name: "differences", title: "Operators", blocks: vec![Block::Table(table)] }]
}

fn operators(differences: &Differences, rows: usize) -> Vec<Block> {
    let mut changed: Vec<&OperatorDifference> =
        differences.operators.iter().filter(|operator| is_changed(operator)).collect();
    let weight = |operator: &OperatorDifference| {
        operator.seconds.map_or(operator.flops.difference, |seconds| seconds.difference).abs()
    };
    changed.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    if changed.is_empty() {
        return vec![Block::Text("No operator changes.".to_owned())];
    }
    let mut table = Table::new("differences", OPERATORS, &changed, rows);
    if let Some(left_out) = &mut table.left_out {
        left_out.place = "--format csv and --format json".into();
    }
    vec![Block::Heading("Changed operators".to_owned()), Block::Table(table)]
}

fn is_changed(operator: &OperatorDifference) -> bool {
    operator.flops.difference != 0.0
        || operator.bytes.difference != 0.0
        || operator.seconds.is_some_and(|seconds| seconds.difference != 0.0)
}

fn balance_sentence(balance: &Balance) -> String {
    let (what, shown): (&str, fn(f64) -> String) = match balance.held {
        Held::Params => ("the parameters", format::parameters),
        Held::Flops => ("the FLOPs of a 1,024-token prefill", |value| format::amount(value, "FLOP")),
        Held::Kv => ("the KV cache per token", |value| format::amount(value, "B")),
    };
    let off = if balance.wanted == 0.0 { 0.0 } else { balance.reached / balance.wanted - 1.0 };
    let reached = match balance.reached == balance.wanted {
        true => "exactly".to_owned(),
        false => format!("the closest possible: {}, {}", shown(balance.reached), signed(off)),
    };
    format!(
        "To keep {what} at {}, `{}` changes from {} to {}, {reached}.",
        shown(balance.wanted),
        balance.key,
        count(balance.before),
        count(balance.after)
    )
}

/// A change with digits enough that it is not nothing.
fn signed(change: f64) -> String {
    if change.abs() < 0.0005 { format!("{:+.4}%", change * 100.0) } else { format::change(change) }
}

fn in_unit(value: f64, unit: &str) -> Cell {
    match unit {
        "s" => seconds(value),
        "B" => Cell::amount(value, "B"),
        "FLOP" => Cell::amount(value, "FLOP"),
        _ => Cell::Params(value),
    }
}

fn change(change: &Change) -> Cell {
    Cell::or(change.change, Cell::Change, "the baseline has none")
}

fn words(row: &Difference) -> String {
    let words = match &*row.name {
        "params.total" => "parameters",
        "params.active" => "active parameters",
        "kv.bytes_per_token" => "KV cache per token",
        "memory.total_bytes" => "memory per device",
        "flops.useful" => "model FLOPs",
        "bytes.total" => "bytes moved",
        "seconds" => "lower bound ≥",
        other => other,
    };
    match row.phase {
        Some(phase) => format!("{}: {words}", phase.as_str()),
        None => words.to_owned(),
    }
}

fn time(row: &OperatorDifference, of: fn(&Change) -> f64) -> Cell {
    match &row.seconds {
        None => Cell::missing(NO_DEVICE),
        Some(time) if of(time) == 0.0 && of(&row.bytes) == 0.0 => Cell::missing("the design has none"),
        Some(time) => seconds(of(time)),
    }
}

const TOTALS: &[Field<Difference>] = &[
    (Column::text("name", "number"), |row| Cell::text(words(row))),
    (Column::number("base", "base"), |row| in_unit(row.values.base, &row.unit)),
    (Column::number("value", "changed"), |row| in_unit(row.values.value, &row.unit)),
    (Column::number("change", "change"), |row| change(&row.values)),
];

const OPERATORS: &[Field<OperatorDifference>] = &[
    (Column::text("name", "operator"), |row| Cell::code(&*row.name)),
    (Column::text("phase", "phase"), |row| Cell::word(row.phase.as_str())),
    (Column::text("class", "class").at(Level::Page), |row| Cell::code(&*row.class)),
    (Column::number("seconds_base", "base time").at(Level::Screen), |row| time(row, |change| change.base)),
    (Column::number("seconds", "time"), |row| time(row, |change| change.value)),
    (Column::number("seconds_change", "change"), |row| {
        row.seconds.as_ref().map_or(Cell::missing(NO_DEVICE), change)
    }),
    (Column::number("flops_base", "base FLOP").at(Level::Page), |row| Cell::amount(row.flops.base, "FLOP")),
    (Column::number("flops", "FLOP").at(Level::Page), |row| Cell::amount(row.flops.value, "FLOP")),
    (Column::number("flops_change", "FLOP change").at(Level::Screen), |row| change(&row.flops)),
    (Column::number("bytes_base", "base bytes moved").at(Level::Page), |row| {
        Cell::amount(row.bytes.base, "B")
    }),
    (Column::number("bytes", "bytes moved").at(Level::Page), |row| Cell::amount(row.bytes.value, "B")),
    (Column::number("bytes_change", "bytes moved change").at(Level::Screen), |row| change(&row.bytes)),
];
