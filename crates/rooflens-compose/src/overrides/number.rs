//! Numbers as Python counts, casts and compares them.

use std::cmp::Ordering;

use super::decimal::Decimal;
use crate::interpolation::lexeme::MAX_INT_DIGITS;
use crate::python_number::ascii_number;
use crate::value::Int;

/// A number of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(Int),
    /// A floating-point number.
    Float(f64),
}

impl Number {
    /// The nearest float; nothing where a whole number is too large for one.
    pub(super) fn to_float(&self) -> Option<f64> {
        match self {
            Number::Int(int) => int_to_float(int),
            Number::Float(float) => Some(*float),
        }
    }

    /// The number without its fraction; nothing where it is infinite or not a number.
    pub(super) fn to_int(&self) -> Option<Int> {
        match self {
            Number::Int(int) => Some(int.clone()),
            Number::Float(float) => float_to_int(*float),
        }
    }

    /// The exact value; nothing where it is infinite or not a number.
    pub(super) fn to_decimal(&self) -> Option<Decimal> {
        match self {
            Number::Int(int) => Some(Decimal::from_int(int)),
            Number::Float(float) => Decimal::from_float(*float),
        }
    }

    pub(super) fn negated(&self) -> Self {
        match self {
            Number::Int(int) => Number::Int(int_negated(int)),
            Number::Float(float) => Number::Float(-float),
        }
    }

    pub(super) fn absolute(&self) -> Self {
        match self {
            Number::Int(int) if int_is_negative(int) => Number::Int(int_negated(int)),
            Number::Float(float) => Number::Float(float.abs()),
            int => int.clone(),
        }
    }

    /// The sum, a float where one of the two is; nothing where a whole number is too large for that.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Number::Int(one), Number::Int(other)) => Some(Number::Int(int_sum(one, other))),
            _ => Some(Number::Float(self.to_float()? + other.to_float()?)),
        }
    }

    /// The order of two numbers; nothing where one is not a number.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Number::Float(one), Number::Float(other)) => one.partial_cmp(other),
            (Number::Int(Int::Small(one)), Number::Int(Int::Small(other))) => Some(one.cmp(other)),
            (Number::Float(one), Number::Int(_)) if !one.is_finite() => one.partial_cmp(&0.0),
            (Number::Int(_), Number::Float(other)) if !other.is_finite() => 0.0_f64.partial_cmp(other),
            _ => Some(self.to_decimal()?.compare(&other.to_decimal()?)),
        }
    }
}

/// The sum of two whole numbers.
pub(super) fn int_sum(one: &Int, other: &Int) -> Int {
    if let (Int::Small(one), Int::Small(other)) = (one, other) {
        let sum = i128::from(*one) + i128::from(*other);
        return i64::try_from(sum).map_or_else(|_| Int::Big(sum.to_string()), Int::Small);
    }
    let sum = Decimal::from_int(one).plus(&Decimal::from_int(other));
    sum.to_int().unwrap_or(Int::Small(0))
}

pub(super) fn int_is_negative(int: &Int) -> bool {
    match int {
        Int::Small(small) => *small < 0,
        Int::Big(digits) => digits.starts_with('-'),
    }
}

fn int_negated(int: &Int) -> Int {
    Decimal::from_int(int).negated().to_int().unwrap_or(Int::Small(0))
}

/// What `float(int)` gives; nothing where it overflows.
pub(super) fn int_to_float(int: &Int) -> Option<f64> {
    let text = match int {
        Int::Small(small) => small.to_string(),
        Int::Big(digits) => digits.clone(),
    };
    text.parse().ok().filter(|float: &f64| float.is_finite())
}

/// What `int(float)` gives; nothing for infinities and NaN.
pub(super) fn float_to_int(float: f64) -> Option<Int> {
    if !float.is_finite() {
        return None;
    }
    // `{:.0}` prints every digit of a whole float; adding zero turns -0 into 0.
    let digits = format!("{:.0}", float.trunc() + 0.0);
    Some(digits.parse().map_or(Int::Big(digits), Int::Small))
}

/// What `int(text)` gives: spaces around it, one sign, digits with single underscores between them.
pub(super) fn int_from_text(text: &str) -> Option<Int> {
    let text = ascii_number(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let whole = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    if digits.is_empty() || !whole || has_lone_underscore(digits) {
        return None;
    }
    let plain = digits.replace('_', "");
    if plain.len() > MAX_INT_DIGITS {
        return None;
    }
    let plain = plain.trim_start_matches('0');
    let signed = format!("{}{}", if text.starts_with('-') { "-" } else { "" }, plain);
    match plain {
        "" => Some(Int::Small(0)),
        _ => Some(signed.parse().map_or(Int::Big(signed), Int::Small)),
    }
}

/// What `float(text)` gives.
pub(super) fn float_from_text(text: &str) -> Option<f64> {
    let text = ascii_number(text);
    if has_lone_underscore(&text) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

fn has_lone_underscore(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    (0..bytes.len()).any(|at| bytes[at] == b'_' && !(digit(at.checked_sub(1)) && digit(Some(at + 1))))
}
