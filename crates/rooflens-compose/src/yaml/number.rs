//! Numbers as Python's `int()` and `float()` read them.

use crate::python_number::ascii_number;
use crate::value::Int;

/// The most decimal digits Python reads or prints of a whole number.
pub(super) const MAX_INT_DIGITS: usize = 4300;

/// Why a text is not a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntProblem {
    Malformed,
    TooLong,
}

/// What `float()` gives, underscores between digits allowed.
pub(super) fn python_float(text: &str) -> Option<f64> {
    let text = ascii_number(text);
    let bytes = text.as_bytes();
    let digit_at = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let lone = |(index, byte): (usize, &u8)| {
        *byte == b'_' && !(index > 0 && digit_at(index - 1) && digit_at(index + 1))
    };
    if bytes.iter().enumerate().any(lone) {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// What `int(text, radix)` gives of a text without underscores.
pub(super) fn python_int(text: &str, radix: u32) -> Result<Magnitude, IntProblem> {
    let text = ascii_number(text);
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text.as_str()),
    };
    let prefix = match radix {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        _ => "",
    };
    let digits = match digits.get(..prefix.len()) {
        Some(start) if !prefix.is_empty() && start.eq_ignore_ascii_case(prefix) => &digits[prefix.len()..],
        _ => digits,
    };
    if digits.is_empty() {
        return Err(IntProblem::Malformed);
    }
    let mut magnitude = Magnitude { negative, limbs: Vec::new() };
    if radix == 10 {
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(IntProblem::Malformed);
        }
        if digits.len() > MAX_INT_DIGITS {
            return Err(IntProblem::TooLong);
        }
    }
    let mut too_long = false;
    for digit in digits.chars() {
        let digit = digit.to_digit(radix).ok_or(IntProblem::Malformed)?;
        // A number too long is still read to its end, so that what is no number is said to be none.
        too_long = too_long || magnitude.push_digit(radix, digit).is_err();
    }
    if too_long { Err(IntProblem::TooLong) } else { Ok(magnitude) }
}

/// The sum of base-60 digits, the highest first.
pub(super) fn sexagesimal(parts: &[Magnitude]) -> Result<Magnitude, IntProblem> {
    let mut sum = Magnitude { negative: false, limbs: Vec::new() };
    for part in parts {
        sum.multiply_add(60, 0)?;
        sum.add(part)?;
    }
    Ok(sum)
}

/// A whole number of any size, in limbs of nine decimal digits, the lowest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Magnitude {
    negative: bool,
    limbs: Vec<u32>,
}

const LIMB: u64 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

impl Magnitude {
    fn push_digit(&mut self, radix: u32, digit: u32) -> Result<(), IntProblem> {
        self.multiply_add(radix, digit)
    }

    fn multiply_add(&mut self, factor: u32, addend: u32) -> Result<(), IntProblem> {
        let mut carry = u64::from(addend);
        for limb in &mut self.limbs {
            let sum = u64::from(*limb) * u64::from(factor) + carry;
            *limb = u32::try_from(sum % LIMB).unwrap_or(0);
            carry = sum / LIMB;
        }
        if carry > 0 {
            self.limbs.push(u32::try_from(carry).unwrap_or(0));
        }
        self.check_length()
    }

    /// Adds a number of the same sign.
    fn add(&mut self, other: &Self) -> Result<(), IntProblem> {
        let mut carry = 0u64;
        for index in 0..self.limbs.len().max(other.limbs.len()) {
            if index == self.limbs.len() {
                self.limbs.push(0);
            }
            let sum = u64::from(self.limbs[index])
                + u64::from(other.limbs.get(index).copied().unwrap_or(0))
                + carry;
            self.limbs[index] = u32::try_from(sum % LIMB).unwrap_or(0);
            carry = sum / LIMB;
        }
        if carry > 0 {
            self.limbs.push(u32::try_from(carry).unwrap_or(0));
        }
        self.check_length()
    }

    /// Bounds the work: without it a long number takes quadratic time.
    fn check_length(&self) -> Result<(), IntProblem> {
        let too_long = self.limbs.len() > MAX_INT_DIGITS.div_ceil(LIMB_DIGITS);
        if too_long { Err(IntProblem::TooLong) } else { Ok(()) }
    }

    /// The number, its sign turned when asked.
    pub(super) fn into_int(self, negate: bool) -> Result<Int, IntProblem> {
        let mut digits = String::new();
        for (index, limb) in self.limbs.iter().rev().enumerate() {
            let part = if index == 0 { limb.to_string() } else { format!("{limb:09}") };
            digits.push_str(&part);
        }
        if digits.len() > MAX_INT_DIGITS {
            return Err(IntProblem::TooLong);
        }
        if digits.is_empty() {
            digits.push('0');
        }
        if self.negative != negate {
            digits.insert(0, '-');
        }
        Ok(digits.parse().map_or(Int::Big(digits), Int::Small))
    }

    /// Whether the number is below zero, before [`Self::into_int`] turns it.
    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }
}
