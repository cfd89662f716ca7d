//! The value of a scalar whose tag is known.

use crate::value::{Int, Value};

use super::base64;
use super::error::{YamlProblem, excerpt};
use super::number::{IntProblem, MAX_INT_DIGITS, python_float, python_int, sexagesimal};
use super::tag::Tag;

/// Reads a scalar as its tag demands.
pub(super) fn construct(tag: &Tag, text: &str) -> Result<Value, YamlProblem> {
    let malformed = |expected| YamlProblem::MalformedScalar { text: excerpt(text), expected };
    match tag {
        Tag::Null => Ok(Value::Null),
        Tag::Str => Ok(Value::Str(text.to_owned())),
        Tag::Bool => match text.to_lowercase().as_str() {
            "yes" | "true" | "on" => Ok(Value::Bool(true)),
            "no" | "false" | "off" => Ok(Value::Bool(false)),
            _ => Err(malformed("a truth value")),
        },
        Tag::Int => match int(text) {
            Ok(int) => Ok(Value::Int(int)),
            Err(IntProblem::Malformed) => Err(malformed("a whole number")),
            Err(IntProblem::TooLong) => Err(YamlProblem::LongNumber { limit: MAX_INT_DIGITS }),
        },
        Tag::Float => float(text).map(Value::Float).ok_or_else(|| malformed("a number")),
        Tag::Binary if text.is_ascii() => {
            base64::decode(text).map(Value::Bytes).ok_or_else(|| malformed("base64 data"))
        }
        Tag::Binary => Err(malformed("base64 data")),
        Tag::Seq | Tag::Map | Tag::Omap | Tag::Pairs => {
            Err(YamlProblem::TagShape { tag: tag.to_string(), found: "scalar" })
        }
        Tag::Merge | Tag::Value | Tag::Other(_) => Err(YamlProblem::UnknownTag { tag: tag.to_string() }),
    }
}

/// A whole number. The sign is taken off before the base is looked at, so `--5` is 5.
fn int(text: &str) -> Result<Int, IntProblem> {
    let text = text.replace('_', "");
    let (negative, text) = signed(&text);
    let (digits, radix) = match text.as_bytes() {
        [] => return Err(IntProblem::Malformed),
        [b'0'] => return Ok(Int::Small(0)),
        [b'0', b'b', ..] => (&text[2..], 2),
        [b'0', b'x', ..] => (&text[2..], 16),
        [b'0', ..] => (text, 8),
        _ if text.contains(':') => {
            let parts = text.split(':').map(|part| python_int(part, 10)).collect::<Result<Vec<_>, _>>()?;
            // Signs inside only come from an explicit tag, where nobody means them.
            if parts.iter().any(|part| part.is_negative()) {
                return Err(IntProblem::Malformed);
            }
            return sexagesimal(&parts)?.into_int(negative);
        }
        _ => (text, 10),
    };
    python_int(digits, radix)?.into_int(negative)
}

fn float(text: &str) -> Option<f64> {
    let text = text.replace('_', "").to_lowercase();
    if text.is_empty() {
        return None;
    }
    let (negative, text) = signed(&text);
    let sign = if negative { -1.0 } else { 1.0 };
    match text {
        ".inf" => Some(sign * f64::INFINITY),
        ".nan" => Some(f64::NAN),
        _ if text.contains(':') => {
            let mut sum = 0.0;
            let mut base = 1.0;
            for part in text.rsplit(':') {
                sum += python_float(part)? * base;
                base *= 60.0;
            }
            Some(sign * sum)
        }
        _ => python_float(text).map(|float| sign * float),
    }
}

fn signed(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints() {
        let table = [
            ("017", "15"),
            ("0x1F", "31"),
            ("-0b11", "-3"),
            ("1_000", "1000"),
            ("190:20:30", "685230"),
            ("-1:30", "-90"),
            ("0", "0"),
            ("-0_", "0"),
            ("99999999999999999999", "99999999999999999999"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("0xffffffffffffffffffff", "1208925819614629174706175"),
        ];
        for (text, expected) in table {
            let expected = expected.parse().map_or_else(|_| Int::Big(expected.to_owned()), Int::Small);
            assert_eq!(int(text), Ok(expected), "{text}");
        }
        assert_eq!(int("0b_"), Err(IntProblem::Malformed));
        assert_eq!(int(&"9".repeat(5000)), Err(IntProblem::TooLong));
        assert_eq!(int(&format!("0x{}", "f".repeat(1_000_000))), Err(IntProblem::TooLong));
    }

    #[test]
    fn floats() {
        for (text, expected) in [
            ("1e3", 1e3),
            ("5.", 5.0),
            (".5", 0.5),
            ("1_0.5", 10.5),
            ("1:30.5", 90.5),
            ("-.INF", f64::NEG_INFINITY),
        ] {
            assert_eq!(float(text), Some(expected), "{text}");
        }
    }
}
