//! Decimal numbers as Python's `decimal` adds them. Ranges of floats step in these, so that a
//! hundred steps of 0.1 drift as they do in Hydra and not as binary floats would.

use std::cmp::Ordering;

use crate::value::Int;

/// The digits a sum keeps: the precision of Python's default context.
const PRECISION: usize = 28;

/// A finite decimal number: digits times a power of ten.
#[derive(Debug, Clone)]
pub(super) struct Decimal {
    negative: bool,
    /// The highest first, none of them for zero, the first never 0.
    digits: Vec<u8>,
    exponent: i32,
}

impl Decimal {
    /// The exact value of a finite float; nothing where it is infinite or not a number.
    pub(super) fn from_float(float: f64) -> Option<Self> {
        if !float.is_finite() {
            return None;
        }
        // 767 digits are the most a float has, so nothing is rounded here.
        let text = format!("{:.766e}", float.abs());
        let (mantissa, exponent) = text.split_once('e')?;
        let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
        let exponent = exponent.parse::<i32>().ok()? - 766;
        // Python's decimals keep the sign of a zero, and a range may begin with one.
        let exact = Self { negative: float < 0.0, digits, exponent }.normalized();
        Some(Self { negative: float.is_sign_negative(), ..exact })
    }

    /// The exact value of a whole number.
    pub(super) fn from_int(int: &Int) -> Self {
        let text = match int {
            Int::Small(small) => small.to_string(),
            Int::Big(digits) => digits.clone(),
        };
        let digits = text.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
        Self { negative: text.starts_with('-'), digits, exponent: 0 }.normalized()
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        if self.digits.is_empty() {
            return if self.negative { -0.0 } else { 0.0 };
        }
        format!("{}e{}", self.signed_digits(), self.exponent).parse().unwrap_or(f64::NAN)
    }

    /// The number as a whole one; nothing where it has a fraction.
    pub(super) fn to_int(&self) -> Option<Int> {
        let zeros = usize::try_from(self.exponent).ok()?;
        let text = if self.digits.is_empty() {
            "0".to_owned()
        } else {
            format!("{}{}", self.signed_digits(), "0".repeat(zeros))
        };
        Some(text.parse().map_or(Int::Big(text), Int::Small))
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.digits.is_empty();
        self
    }

    /// The exact sum.
    pub(super) fn plus(&self, other: &Self) -> Self {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        let exponent = self.exponent.min(other.exponent);
        let (left, right) = (self.aligned(exponent), other.aligned(exponent));
        if self.negative == other.negative {
            let digits = added(&left, &right);
            return Self { negative: self.negative, digits, exponent }.normalized();
        }
        let (larger, smaller, negative) = match compare_digits(&left, &right) {
            Ordering::Less => (right, left, other.negative),
            _ => (left, right, self.negative),
        };
        Self { negative, digits: subtracted(&larger, &smaller), exponent }.normalized()
    }

    /// The number with no more digits than a sum keeps, ties to the even digit.
    pub(super) fn rounded(mut self) -> Self {
        let dropped = self.digits.len().saturating_sub(PRECISION);
        if dropped == 0 {
            return self;
        }
        let tail = self.digits.split_off(PRECISION);
        self.exponent += i32::try_from(dropped).unwrap_or(i32::MAX);
        let beyond_half = tail[0] > 5 || (tail[0] == 5 && tail[1..].iter().any(|digit| *digit > 0));
        let tie = tail[0] == 5 && !beyond_half;
        let odd = self.digits.last().is_some_and(|digit| digit % 2 == 1);
        if beyond_half || (tie && odd) {
            self.digits = added(&self.digits, &[1]);
        }
        self.normalized()
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let difference = self.plus(&other.clone().negated());
        match (difference.is_zero(), difference.negative) {
            (true, _) => Ordering::Equal,
            (false, true) => Ordering::Less,
            (false, false) => Ordering::Greater,
        }
    }

    fn signed_digits(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|digit| char::from(digit + b'0')).collect();
        format!("{sign}{digits}")
    }

    fn aligned(&self, exponent: i32) -> Vec<u8> {
        let zeros = usize::try_from(self.exponent - exponent).unwrap_or(0);
        let mut digits = self.digits.clone();
        digits.resize(digits.len() + zeros, 0);
        digits
    }

    /// Without zeros before the first digit, and none behind the last of a fraction.
    fn normalized(mut self) -> Self {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        while self.exponent < 0 && self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        if self.digits.is_empty() {
            return Self { negative: false, digits: Vec::new(), exponent: 0 };
        }
        self
    }
}

fn compare_digits(left: &[u8], right: &[u8]) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

fn added(left: &[u8], right: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(left.len().max(right.len()) + 1);
    let (mut left, mut right) = (left.iter().rev(), right.iter().rev());
    let mut carry = 0;
    loop {
        let (one, other) = (left.next(), right.next());
        if one.is_none() && other.is_none() {
            break;
        }
        let digit = one.unwrap_or(&0) + other.unwrap_or(&0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.push(carry);
    sum.reverse();
    sum
}

fn subtracted(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut difference = larger.to_vec();
    let mut borrow = 0;
    let mut smaller = smaller.iter().rev();
    for digit in difference.iter_mut().rev() {
        let taken = smaller.next().unwrap_or(&0) + borrow;
        borrow = u8::from(*digit < taken);
        *digit = *digit + 10 * borrow - taken;
    }
    difference
}
