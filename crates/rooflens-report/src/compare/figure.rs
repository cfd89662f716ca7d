//! Where the time of both sides went, to look at: a bar for each side, of the same parts.

use rooflens_compare::{AccountRow, Entry, Pair};

use super::lead::{scope, shown_account};
use super::tables::cause;
use crate::block::Drawing;
use crate::figure::{Bar, BarChart, FigureUnit};

/// Parts with a colour of their own; what is left is one more.
const SHOWN: usize = 7;

/// The account that the sentences above it speak of; nothing where there is none.
pub(super) fn figure(pair: &Pair) -> Option<Drawing> {
    let account = shown_account(pair)?;
    let is_part = |row: &&AccountRow| matches!(row.entry, Entry::Class | Entry::Cause);
    let mut rows: Vec<&AccountRow> = account.rows.iter().filter(is_part).collect();
    let longest = |row: &AccountRow| row.a_ns.max(row.b_ns);
    rows.sort_by(|a, b| longest(b).total_cmp(&longest(a)));
    rows.retain(|row| longest(row) > 0.0);
    if rows.is_empty() {
        return None;
    }
    let others = rows.split_off(rows.len().min(SHOWN));
    let mut parts: Vec<String> = rows.iter().map(|row| name(row)).collect();
    parts.extend((!others.is_empty()).then(|| "all else".to_owned()));
    let bar = |label: &str, ns: fn(&AccountRow) -> f64| {
        let rest = (!others.is_empty()).then(|| others.iter().map(|row| ns(row)).sum());
        Bar::new(label, rows.iter().map(|row| ns(row)).chain(rest))
    };
    let title = format!("Where the time went: {}", scope(account).to_lowercase());
    let chart = BarChart {
        title: title.clone(),
        unit: FigureUnit::Time,
        parts,
        bars: vec![bar("A", |row| row.a_ns), bar("B", |row| row.b_ns)],
        ..BarChart::default()
    };
    Some(Drawing { title, path: String::new(), svg: chart.svg() })
}

/// As in the table below.
fn name(row: &AccountRow) -> String {
    match row.entry {
        Entry::Cause => format!("idle: {}", cause(&row.name)),
        _ => row.name.replace('_', " "),
    }
}
