//! Every number a person reads is rounded here, and nowhere else.

use crate::block::{Cell, CellValue, ChartUnit, LeftOut, Level, Table};

/// Stands for a number that was not measured.
pub const MISSING: &str = "–";

/// A duration: three or four digits and a unit.
pub fn time(ns: f64) -> String {
    if ns.abs() < 999.5 && ns.fract() == 0.0 {
        return format!("{ns} ns");
    }
    scaled(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

/// A size in binary units.
pub fn bytes(value: f64) -> String {
    if value.abs() < 1023.5 && value.fract() == 0.0 {
        return format!("{value} B");
    }
    scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let mut rest = value.abs();
    let mut units = units.iter().copied().peekable();
    let mut unit = units.next().unwrap_or_default();
    // 999.96 would be shown as 1000.0: it belongs to the next unit.
    while rest >= base - 0.05 {
        let Some(next) = units.next() else { break };
        unit = next;
        rest /= base;
    }
    let number = if rest < 99.995 {
        format!("{rest:.2}")
    } else if rest < 999.95 {
        format!("{rest:.1}")
    } else {
        grouped(&format!("{rest:.0}"))
    };
    format!("{sign}{number} {unit}")
}

/// A number of things, with thousands separators.
pub fn count(value: i64) -> String {
    let digits = grouped(&value.unsigned_abs().to_string());
    if value < 0 { format!("-{digits}") } else { digits }
}

fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A mean count.
pub fn mean(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value.fract() == 0.0 || value.abs() >= 99.95 {
        count(value.round() as i64)
    } else {
        format!("{value:.1}")
    }
}

/// A share of a whole, as a percentage.
pub fn share(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value > 0.0 && value < 0.0005 {
        // Not nothing.
        "<0.1%".to_owned()
    } else {
        format!("{:.1}%", value * 100.0)
    }
}

/// A signed change, as a percentage.
pub fn change(value: f64) -> String {
    if !value.is_finite() {
        MISSING.to_owned()
    } else if value.abs() < 0.0005 {
        "0.0%".to_owned()
    } else {
        format!("{:+.1}%", value * 100.0)
    }
}

/// A rate in GB/s.
pub fn rate(gb_per_s: f64) -> String {
    if !gb_per_s.is_finite() {
        MISSING.to_owned()
    } else if gb_per_s < 99.95 {
        format!("{gb_per_s:.2} GB/s")
    } else {
        format!("{} GB/s", count(gb_per_s.round() as i64))
    }
}

/// A number in a base unit, with a decimal prefix.
pub fn amount(value: f64, unit: &str) -> String {
    if value == 0.0 {
        return format!("0 {unit}");
    }
    let prefixed = scaled(value, 1000.0, &["", "k", "M", "G", "T", "P", "E", "Z"]);
    // The prefix belongs to the unit, not to the number.
    match prefixed.split_once(' ') {
        Some((number, prefix)) => format!("{number} {prefix}{unit}"),
        None => prefixed,
    }
}

/// Parameters as the field counts them: millions, billions, trillions.
pub fn parameters(value: f64) -> String {
    if value.abs() < 1e6 { count(value as i64) } else { scaled(value / 1e6, 1000.0, &["M", "B", "T", "Q"]) }
}

/// A moment since the clock base, to the microsecond: what a timeline viewer shows.
pub fn moment(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let us = ns.unsigned_abs() / 1_000;
    format!("{sign}{}.{:06} s", grouped(&(us / 1_000_000).to_string()), us % 1_000_000)
}

/// A moment on the wall clock, in UTC.
pub fn date(unix_ns: i64) -> String {
    let seconds = unix_ns.div_euclid(1_000_000_000);
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days to a civil date in 400-year eras that begin on 1 March:
    // https://howardhinnant.github.io/date_algorithms.html#civil_from_days
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// A change of time in nanoseconds, always with its sign.
pub fn signed_time(ns: f64) -> String {
    format!("{}{}", if ns < 0.0 { "-" } else { "+" }, time(ns.abs()))
}

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

/// A value on an axis.
pub fn tick(value: f64, unit: &ChartUnit) -> String {
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

/// The sentence about rows that are not shown.
pub fn left_out(left_out: &LeftOut) -> String {
    let rows = count(i64::try_from(left_out.rows).unwrap_or(i64::MAX));
    let (noun, verb) = if left_out.rows == 1 { ("row", "is") } else { ("rows", "are") };
    let share = left_out.share.map(|value| format!(", {} of the total,", share(value))).unwrap_or_default();
    format!("{rows} more {noun}{share} {verb} in {}.", left_out.place)
}

/// The sentence about columns that are not shown since nothing is known.
pub fn hollow(table: &Table) -> Option<String> {
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

/// `1 rank`, `2 ranks`.
pub fn plural(number: i64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_or_four_digits() {
        let shown = |ns: f64| time(ns);
        assert_eq!(shown(0.0), "0 ns");
        assert_eq!(shown(7.0), "7 ns");
        assert_eq!(shown(999.0), "999 ns");
        assert_eq!(shown(12.5), "12.50 ns");
        assert_eq!(shown(1_000.0), "1.00 µs");
        assert_eq!(shown(12_345.0), "12.35 µs");
        assert_eq!(shown(123_456.0), "123.5 µs");
        assert_eq!(shown(99_996.0), "100.0 µs");
        assert_eq!(shown(999_960.0), "1.00 ms");
        assert_eq!(shown(1_234_567_890.0), "1.23 s");
        assert_eq!(shown(4.2e12), "4,200 s");
        assert_eq!(shown(-1_500.0), "-1.50 µs");
        assert_eq!(shown(f64::NAN), MISSING);
        assert_eq!(shown(f64::INFINITY), MISSING);
    }

    #[test]
    fn bytes_are_binary() {
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(bytes(1024.0), "1.00 KiB");
        assert_eq!(bytes(80.0 * 1024.0 * 1024.0 * 1024.0), "80.00 GiB");
        assert_eq!(bytes(1_023.0 * 1024.0), "1,023 KiB");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1,000");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn a_small_share_is_not_nothing() {
        assert_eq!(share(0.0), "0.0%");
        assert_eq!(share(0.0001), "<0.1%");
        assert_eq!(share(0.61234), "61.2%");
        assert_eq!(change(-0.031), "-3.1%");
        assert_eq!(change(0.0), "0.0%");
    }

    #[test]
    fn dates_are_civil() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(1_709_210_096_000_000_000), "2024-02-29 12:34:56 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(2_500_000.0, &ChartUnit::Time), "2.5 ms");
        assert_eq!(tick(200_000.0, &ChartUnit::Time), "200 µs");
        assert_eq!(tick(0.5, &ChartUnit::Share), "50%");
    }
}
