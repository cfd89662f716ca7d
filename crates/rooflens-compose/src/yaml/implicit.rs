//! The types of scalars: YAML 1.1's patterns, as `PyYAML` has them and `OmegaConf` widens them.
//!
//! Loading and dumping know different ones: `OmegaConf` widens the floats and drops the timestamps of its loader only,
//! so a dumped text is quoted where either side could misread it.

use std::sync::LazyLock;

use regex_lite::Regex;

use crate::value::{Int, Value};

/// The longest text that may be a number: what is longer is text.
const LONGEST: usize = 400;

const INT: &str = r"^[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*(:[0-5]?[0-9])*)$";
/// The floats of `PyYAML`: a dot is needed, and a sign in the exponent.
const FLOAT: &str = r"^([-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$";
/// The floats `OmegaConf` adds: `1e3`, `1.5e3`; underscores only between digits.
const LOADER_FLOAT: &str = r"^[-+]?[0-9]+(_[0-9]+)*(\.[0-9_]*)?[eE][-+]?[0-9]+$";
const TIMESTAMP: &str = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?)$";

#[expect(clippy::expect_used, reason = "each pattern is compiled by a test")]
fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

/// Whether a text has one of the forms; only what begins like a number is looked at.
fn fits(text: &str, forms: &[&LazyLock<Regex>]) -> bool {
    let begins = text.starts_with(|char: char| char.is_ascii_digit() || matches!(char, '+' | '-' | '.'));
    begins && text.len() <= LONGEST && forms.iter().any(|form| form.is_match(text))
}

static INTS: LazyLock<Regex> = LazyLock::new(|| compiled(INT));
static FLOATS: LazyLock<Regex> = LazyLock::new(|| compiled(FLOAT));
static LOADER_FLOATS: LazyLock<Regex> = LazyLock::new(|| compiled(LOADER_FLOAT));
static TIMESTAMPS: LazyLock<Regex> = LazyLock::new(|| compiled(TIMESTAMP));

/// The value of a scalar without quotes and tag; none where it is a number that is too large.
pub(super) fn plain(text: &str) -> Option<Value> {
    if fits(text, &[&FLOATS, &LOADER_FLOATS]) {
        tagged("float", text)
    } else if fits(text, &[&INTS]) {
        tagged("int", text)
    } else if is_null(text) {
        Some(Value::Null)
    } else {
        Some(truth(text).map_or_else(|| Value::Str(text.to_owned()), Value::Bool))
    }
}

/// The value of a scalar whose tag is `!!name`; none where the text does not fit it.
pub(super) fn tagged(name: &str, text: &str) -> Option<Value> {
    match name {
        "null" => Some(Value::Null),
        "str" => Some(Value::Str(text.to_owned())),
        "bool" => truth(text).map(Value::Bool),
        "int" => int(&text.replace('_', "")).map(Value::Int),
        "float" => float(&text.replace('_', "").to_lowercase()).map(Value::Float),
        _ => None,
    }
}

/// Whether `OmegaConf` writes a text in quotes: what `PyYAML` would read as something else, `y` and `n`, and all that
/// Python's `float()` takes, whether or not a loader would.
pub(super) fn needs_quotes(text: &str) -> bool {
    is_null(text)
        || truth(text).is_some()
        || matches!(text, "<<" | "=" | "y" | "Y" | "n" | "N")
        || fits(text, &[&INTS, &FLOATS, &TIMESTAMPS])
        || python_float(text)
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

fn python_float(text: &str) -> bool {
    let bytes = text.trim().as_bytes();
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let lone =
        (0..bytes.len()).any(|at| bytes[at] == b'_' && !(at > 0 && is_digit(at - 1) && is_digit(at + 1)));
    !lone && text.trim().replace('_', "").parse::<f64>().is_ok()
}

fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A whole number: decimal of any size, the other bases and base 60 as far as 127 bits go.
fn int(text: &str) -> Option<Int> {
    if text.len() > LONGEST {
        return None;
    }
    let (negative, digits) = signed(text);
    let radix = match digits.as_bytes() {
        [b'0', b'b', ..] => Some((2, 2)),
        [b'0', b'x', ..] => Some((2, 16)),
        [b'0', _, ..] => Some((1, 8)),
        _ => None,
    };
    let magnitude = match radix {
        Some((prefix, radix)) => i128::from_str_radix(&digits[prefix..], radix).ok()?,
        None if digits.contains(':') => digits.split(':').try_fold(0_i128, |sum, part| {
            sum.checked_mul(60)?.checked_add(part.parse::<u64>().ok()?.into())
        })?,
        None => return Int::parse(text),
    };
    Int::parse(&if negative { -magnitude } else { magnitude }.to_string())
}

fn float(text: &str) -> Option<f64> {
    let (negative, digits) = signed(text);
    let magnitude = match digits {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ if digits.contains(':') => {
            digits.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))?
        }
        _ => digits.parse().ok()?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loader_types() {
        let int = |text: &str| Value::Int(Int::parse(text).unwrap());
        for (text, value) in [
            ("0", "0"),
            ("017", "15"),
            ("0x1F", "31"),
            ("-0b11", "-3"),
            ("1_000", "1000"),
            ("190:20:30", "685230"),
            ("-1:30", "-90"),
            ("99999999999999999999", "99999999999999999999"),
            ("0xffffffffffffffffffff", "1208925819614629174706175"),
        ] {
            assert_eq!(plain(text), Some(int(value)), "{text}");
        }
        for (text, value) in [
            ("1e3", 1e3),
            ("1e-3", 1e-3),
            ("5.", 5.0),
            (".5", 0.5),
            ("1_0.5", 10.5),
            ("1:30.5", 90.5),
            ("-.INF", f64::NEG_INFINITY),
        ] {
            assert_eq!(plain(text), Some(Value::Float(value)), "{text}");
        }
        for text in
            ["+.5", "inf", "nan", "1e5_0", "0o17", "08", "2020-01-01", "y", "N", "1:60", ".", "_1", "-"]
        {
            assert_eq!(plain(text), Some(Value::Str(text.into())));
        }
        assert_eq!((plain("NO"), plain("On")), (Some(Value::Bool(false)), Some(Value::Bool(true))));
        assert_eq!((plain("~"), plain("0b_"), tagged("int", "x")), (Some(Value::Null), None, None));
        assert_eq!(plain(&format!("0x{}", "f".repeat(40))), None);
    }

    #[test]
    fn dumper_types() {
        for text in
            ["2020-01-01", "2020-1-1 10:00:00", "2020-01-01T1:02:03.4 +01:30", "1.0", "=", "<<", "inf"]
        {
            assert!(needs_quotes(text), "{text:?}");
        }
        for text in ["2020-1-1", "2020-01-01 10:00", "x", "0o17", "_1", "127.0.0.1"] {
            assert!(!needs_quotes(text), "{text:?}");
        }
    }
}
