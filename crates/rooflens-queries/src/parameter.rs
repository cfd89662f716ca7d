//! Parameters of a query and how their values become literals.

use serde::Serialize;

use crate::dialect::Dialect;

/// Type of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParameterKind {
    /// A day as `YYYY-MM-DD`.
    Day,
    /// A whole number.
    Integer,
    /// A finite number.
    Number,
    /// Any text.
    Text,
    /// A time with its unit, as `50ms`; rendered in nanoseconds.
    Duration,
}

impl ParameterKind {
    /// Every type.
    pub const ALL: [ParameterKind; 5] = [
        ParameterKind::Day,
        ParameterKind::Integer,
        ParameterKind::Number,
        ParameterKind::Text,
        ParameterKind::Duration,
    ];

    /// Its name in headers and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ParameterKind::Day => "day",
            ParameterKind::Integer => "integer",
            ParameterKind::Number => "number",
            ParameterKind::Text => "text",
            ParameterKind::Duration => "duration",
        }
    }
}

impl std::fmt::Display for ParameterKind {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A parameter of a query.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct QueryParameter {
    /// Its name, as in `name=value`.
    pub name: String,
    /// Type of its values.
    pub kind: ParameterKind,
    /// Smallest value, for numbers.
    pub(crate) at_least: Option<f64>,
    /// Value where none is given; without one the parameter is required.
    pub default: Option<String>,
    /// What it means.
    pub meaning: String,
}

impl QueryParameter {
    /// The value as a literal, or what the parameter takes instead.
    pub(crate) fn literal(&self, dialect: Dialect, value: &str) -> Result<String, String> {
        let literal = match self.kind {
            ParameterKind::Text => (!value.contains('\0')).then(|| dialect.text_literal(value)),
            ParameterKind::Day => is_day(value).then(|| dialect.text_literal(value)),
            ParameterKind::Integer => integer(value).filter(|number| self.allows(*number as f64)).map(whole),
            ParameterKind::Number => number(value).filter(|number| self.allows(*number)).map(double),
            ParameterKind::Duration => duration_ns(value).map(whole),
        };
        literal.ok_or_else(|| self.expected())
    }

    fn allows(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least)
    }

    fn expected(&self) -> String {
        let least = self.at_least.map_or(String::new(), |least| format!(" of at least {least}"));
        match self.kind {
            ParameterKind::Day => "a day as 2026-11-17".to_owned(),
            ParameterKind::Integer => format!("a whole number{least}, as 20"),
            ParameterKind::Number => format!("a number{least}, as 0.5"),
            ParameterKind::Text => "text without the character NUL".to_owned(),
            ParameterKind::Duration => "a time in ns, us, ms, s or min, as 50ms".to_owned(),
        }
    }
}

/// Negative numbers in parentheses: two minus signs in a row would begin a comment.
fn whole(value: i64) -> String {
    if value < 0 { format!("({value})") } else { value.to_string() }
}

/// With an exponent, which makes it a double in every engine; without one it is a decimal in some.
fn double(value: f64) -> String {
    if value.is_sign_negative() { format!("({value:e})") } else { format!("{value:e}") }
}

/// The smallest integer is left out: engines read it as minus a number that is too large.
fn integer(value: &str) -> Option<i64> {
    value.parse().ok().filter(|number| *number != i64::MIN)
}

fn number(value: &str) -> Option<f64> {
    let is_plain = value.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    value.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}

/// Whether a text is a day of the Gregorian calendar as `YYYY-MM-DD`.
fn is_day(value: &str) -> bool {
    let parts: Vec<&str> = value.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    let number = |text: &str, digits: usize| {
        let is_number = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u32>().ok()).flatten()
    };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// Nanoseconds of `50ms`, `1.5s`, `200us`, `3min` or `0`.
fn duration_ns(value: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 6] = [
        ("ns", 1),
        ("us", 1_000),
        ("µs", 1_000),
        ("ms", 1_000_000),
        ("min", 60_000_000_000),
        ("s", 1_000_000_000),
    ];
    if value == "0" {
        return Some(0);
    }
    let (digits, unit_ns) = UNITS
        .iter()
        .find_map(|(unit, ns)| value.strip_suffix(unit).map(|digits| (digits.trim_end(), *ns)))?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || digits.ends_with('.') {
        return None;
    }
    // In whole numbers, so that 0.1ms is exactly 100,000 ns; what is finer than a nanosecond is refused.
    let mut ns = whole.parse::<i64>().ok()?.checked_mul(unit_ns)?;
    let mut place_ns = unit_ns;
    for digit in fraction.bytes().map(|byte| i64::from(byte - b'0')) {
        if digit * place_ns % 10 != 0 {
            return None;
        }
        ns = ns.checked_add(digit * place_ns / 10)?;
        place_ns /= 10;
    }
    Some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_of_the_calendar() {
        for day in ["2026-11-17", "2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"] {
            assert!(is_day(day), "{day}");
        }
        for day in [
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-1-01",
            "2026-11-17 ",
            "",
            "+026-01-01",
        ] {
            assert!(!is_day(day), "{day}");
        }
    }

    #[test]
    fn durations_are_exact() {
        let cases = [
            ("0", Some(0)),
            ("50ms", Some(50_000_000)),
            ("0.1ms", Some(100_000)),
            ("1.5s", Some(1_500_000_000)),
            ("1.5 s", Some(1_500_000_000)),
            ("7ns", Some(7)),
            ("2.25us", Some(2_250)),
            ("0.5min", Some(30_000_000_000)),
            ("1.5ns", None),
            ("50", None),
            ("-5ms", None),
            ("ms", None),
            ("1.ms", None),
            ("9223372036854775807s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration_ns(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_plain_and_finite() {
        assert_eq!(number("0.5").map(double).as_deref(), Some("5e-1"));
        assert_eq!(number("-2").map(double).as_deref(), Some("(-2e0)"));
        assert_eq!(integer("-3").map(whole).as_deref(), Some("(-3)"));
        for text in ["inf", "NaN", "1e999", "1 OR 1", "0x10", ""] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(integer("-9223372036854775808"), None);
    }
}
