//! Cells and values of charts as people and programs read them.

pub use rooflens_schema::format::*;

use crate::block::{Cell, CellValue, ChartUnit, LeftOut, Level, Table};

/// A cell as people read it.
pub fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Missing(_) => MISSING.to_owned(),
        Cell::Time(ns) => time(*ns as f64),
        Cell::MeanTime(ns) => time(*ns),
        Cell::Seconds(seconds) => time(*seconds * 1e9),
        Cell::At(ns) => moment(*ns),
        Cell::Bytes(value) => bytes(*value as f64),
        Cell::Count(value) => count(*value),
        Cell::Mean(value) => mean(*value),
        Cell::Share(value) => share(*value),
        Cell::Change(value) => change(*value),
        Cell::TimeChange(ns) => signed_time(*ns),
        Cell::Rate(value) => rate(*value),
        Cell::Amount(value, unit) => amount(*value, unit),
        Cell::Params(value) => parameters(*value),
        Cell::Word(word) => word.replace('_', " "),
        Cell::Text(text) => text.clone(),
        Cell::Code { short, .. } => short.clone(),
        Cell::Best(best) => format!("{} ★", self::cell(best)),
        Cell::Link { words, .. } => words.clone(),
    }
}

/// A cell as programs read it: nothing rounded, nothing for a missing number.
pub fn raw(cell: &Cell) -> String {
    match cell.value() {
        CellValue::Missing => String::new(),
        CellValue::Whole(value) => value.to_string(),
        CellValue::Number(value) => value.to_string(),
        CellValue::Text(text) => text.to_owned(),
    }
}

pub(crate) fn tick(value: f64, unit: &ChartUnit) -> String {
    let text = match unit {
        ChartUnit::Time => time(value),
        ChartUnit::Bytes => bytes(value),
        ChartUnit::Share => format!("{:.0}%", value * 100.0),
        ChartUnit::Index => mean(value),
        ChartUnit::Amount(unit) => amount(value, unit),
    };
    // Ticks are round numbers: `2.50 ms` says no more than `2.5 ms`.
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A value of a chart where the pointer is.
pub fn value(value: f64, unit: &ChartUnit) -> String {
    match unit {
        ChartUnit::Time => time(value),
        ChartUnit::Bytes => bytes(value),
        ChartUnit::Share => share(value),
        ChartUnit::Index => mean(value),
        ChartUnit::Amount(unit) => amount(value, unit),
    }
}

pub(crate) fn left_out(left_out: &LeftOut) -> String {
    let rows = count(left_out.rows as i64);
    let (noun, verb) = if left_out.rows == 1 { ("row", "is") } else { ("rows", "are") };
    let share = left_out.share.map(|value| format!(", {} of the total,", share(value))).unwrap_or_default();
    format!("{rows} more {noun}{share} {verb} in {}.", left_out.place)
}

pub(crate) fn hollow(table: &Table) -> Option<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = vec![];
    for (index, column) in table.columns.iter().enumerate().filter(|(_, column)| column.level <= Level::Page)
    {
        let Some(reason) = table.hollow(index) else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, titles)) => titles.push(&column.title),
            None => reasons.push((reason, vec![&*column.title])),
        }
    }
    let sentences: Vec<String> =
        reasons.iter().map(|(reason, titles)| format!("{} ({reason})", titles.join(", "))).collect();
    (!sentences.is_empty()).then(|| format!("Not shown: {}.", sentences.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(2_500_000.0, &ChartUnit::Time), "2.5 ms");
        assert_eq!(tick(200_000.0, &ChartUnit::Time), "200 µs");
        assert_eq!(tick(0.5, &ChartUnit::Share), "50%");
    }
}
