//! Several comparisons with the same A: inputs in columns.

use rooflens_analyze::compare::Pair;

use super::lead::lead;
use super::tables::{NO_PHASE, sure, value};
use crate::block::{Block, Cell, Column, Row as TableRow, Table};
use crate::render::Part;

/// Inputs in columns: the number of A, then of each other with its change.
pub(super) fn overview(pairs: &[Pair]) -> Part {
    let mut blocks: Vec<Block> =
        pairs.iter().map(|pair| Block::Lead(format!("{}: {}", pair.b, lead(pair)))).collect();
    let named = pairs.iter().enumerate().map(|(at, pair)| format!("{} is {}", letter(at).0, pair.b));
    let a = pairs.first().map_or("", |pair| &pair.a);
    blocks.push(Block::Text(format!("A is {a}, {}.", named.collect::<Vec<_>>().join(", "))));
    let columns = |first: Column| {
        let others = (0..pairs.len()).flat_map(|at| {
            let (title, key, key_of_change) = letter(at);
            [Column::number(key, title), Column::number(key_of_change, "Change")]
        });
        [first, Column::number("a", "A")].into_iter().chain(others).collect::<Vec<Column>>()
    };
    let mut section = |title: &str, name: &'static str, first: Column, rows: Vec<Vec<Cell>>| {
        if !rows.is_empty() {
            let rows = rows.into_iter().map(TableRow::new).collect();
            blocks.push(Block::Heading(title.to_owned()));
            blocks.push(Block::Table(Table::of_rows(name, columns(first), rows)));
        }
    };
    let Some(first) = pairs.first() else { return Part { name: "overview", title: "Overview", blocks } };
    let rounds = first.headline.iter().map(|row| {
        let mut cells = vec![Cell::code(&*row.metric), value(&row.metric, row.a)];
        for pair in pairs {
            let found = pair.headline.iter().find(|found| found.metric == row.metric);
            cells.push(value(&row.metric, found.and_then(|found| found.b)));
            cells.push(sure(
                found.and_then(|found| found.ratio.as_ref()),
                found.is_some_and(|found| found.is_change),
            ));
        }
        cells
    });
    section("Rounds", "rounds_of_all", Column::text("metric", "Metric"), rounds.collect());
    let phases_of = |pair: &'_ Pair| {
        pair.places
            .iter()
            .min_by_key(|place| (place.rank, place.device))
            .map(|place| place.change.phases.clone())
            .unwrap_or_default()
    };
    let of_first = phases_of(first);
    let steps = of_first.iter().map(|row| {
        let mut cells = vec![Cell::word(&*row.phase), Cell::MeanTime(row.a_ns)];
        for pair in pairs {
            let found = phases_of(pair).into_iter().find(|found| found.phase == row.phase);
            cells.push(Cell::or(found.as_ref().map(|found| found.b_ns), Cell::MeanTime, NO_PHASE));
            let change = found.as_ref().and_then(|found| found.change());
            cells.push(Cell::or(change, Cell::Change, NO_PHASE));
        }
        cells
    });
    section("Steps", "phases_of_all", Column::text("phase", "Phase"), steps.collect());
    Part { name: "overview", title: "Overview", blocks }
}

/// Of the other input at a place: its letter, the key of its column and that of its change.
pub(super) fn letter(at: usize) -> (&'static str, &'static str, &'static str) {
    const LETTERS: &[(&str, &str, &str)] = &[
        ("B", "b", "b_change"),
        ("C", "c", "c_change"),
        ("D", "d", "d_change"),
        ("E", "e", "e_change"),
        ("F", "f", "f_change"),
        ("G", "g", "g_change"),
        ("H", "h", "h_change"),
        ("I", "i", "i_change"),
    ];
    LETTERS.get(at).copied().unwrap_or(("…", "other", "other_change"))
}
