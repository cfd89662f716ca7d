//! Python's order of values, and the sort that keeps to it.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::call::CallFault;
use super::element::OverrideElement;
use super::number::Number;
use crate::value::Int;

/// Below this length Python sorts by insertion alone. Above it runs are merged; the two differ only
/// where NaN leaves the order undefined.
const INSERTION_LIMIT: usize = 64;

/// What `sorted(items, reverse=…)` gives.
pub(super) fn sorted(
    mut items: Vec<OverrideElement>,
    reverse: bool,
) -> Result<Vec<OverrideElement>, CallFault> {
    // Turned around before and after, equal items keep their order in a descending sort too.
    if reverse {
        items.reverse();
    }
    let mut items = sorted_ascending(items)?;
    if reverse {
        items.reverse();
    }
    Ok(items)
}

fn sorted_ascending(mut items: Vec<OverrideElement>) -> Result<Vec<OverrideElement>, CallFault> {
    if items.len() < INSERTION_LIMIT {
        insertion_sort(&mut items)?;
        return Ok(items);
    }
    let right = sorted_ascending(items.split_off(items.len() / 2))?;
    let left = sorted_ascending(items)?;
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(one), Some(other)) = (left.peek(), right.peek()) {
        let next = if less(other, one)? { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

/// Finds the first run, then puts each further item into its place by halving. Just so, because
/// with NaN among the items the steps decide the result.
fn insertion_sort(items: &mut [OverrideElement]) -> Result<(), CallFault> {
    if items.len() < 2 {
        return Ok(());
    }
    let descending = less(&items[1], &items[0])?;
    let mut run = 2;
    while run < items.len() && less(&items[run], &items[run - 1])? == descending {
        run += 1;
    }
    if descending {
        items[..run].reverse();
    }
    for next in run..items.len() {
        let (mut low, mut high) = (0, next);
        while low < high {
            let middle = low + (high - low) / 2;
            if less(&items[next], &items[middle])? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        items[low..=next].rotate_right(1);
    }
    Ok(())
}

/// What `left < right` gives.
fn less(left: &OverrideElement, right: &OverrideElement) -> Result<bool, CallFault> {
    if let (Some(one), Some(other)) = (number(left), number(right)) {
        return Ok(one.compare(&other) == Some(Ordering::Less));
    }
    match (left, right) {
        (OverrideElement::Str(one), OverrideElement::Str(other)) => Ok(one < other),
        (OverrideElement::List(one), OverrideElement::List(other)) => {
            let differing = one.iter().zip(other).find(|(one, other)| !equal(one, other));
            match differing {
                Some((one, other)) => less(one, other),
                None => Ok(one.len() < other.len()),
            }
        }
        _ => Err(CallFault::Incomparable { left: left.kind_name(), right: right.kind_name() }),
    }
}

/// What `left == right` gives.
fn equal(left: &OverrideElement, right: &OverrideElement) -> bool {
    if let (Some(one), Some(other)) = (number(left), number(right)) {
        return one.compare(&other) == Some(Ordering::Equal);
    }
    match (left, right) {
        (OverrideElement::List(one), OverrideElement::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (OverrideElement::Map(one), OverrideElement::Map(other)) => {
            let values: HashMap<_, _> = other.iter().map(|(key, value)| (key.as_key(), value)).collect();
            let held = |(key, value): &(OverrideElement, OverrideElement)| {
                // NaN is equal to nothing, itself included.
                !matches!(key, OverrideElement::Float(float) if float.is_nan())
                    && values.get(&key.as_key()).is_some_and(|other| equal(value, other))
            };
            one.len() == other.len() && one.iter().all(held)
        }
        _ => left == right,
    }
}

/// The element as a number: truth values are ones in Python.
pub(super) fn number(element: &OverrideElement) -> Option<Number> {
    match element {
        OverrideElement::Bool(flag) => Some(Number::Int(Int::Small(i64::from(*flag)))),
        OverrideElement::Int(int) => Some(Number::Int(int.clone())),
        OverrideElement::Float(float) => Some(Number::Float(*float)),
        _ => None,
    }
}
