//! Equality as Python has it: `1`, `1.0` and `True` are the same.

use crate::value::{Int, Key, Value};

/// Whether two values are equal to Python.
pub(super) fn python_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::List(left), Value::List(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| python_equal(&l.value, &r.value))
        }
        (Value::Map(left), Value::Map(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| {
                    right.get(key).is_some_and(|other| python_equal(&value.value, &other.value))
                })
        }
        (Value::Null, Value::Null) => true,
        (Value::Str(left), Value::Str(right)) => left == right,
        (Value::Bytes(left), Value::Bytes(right)) => left == right,
        // Keys already compare as Python's numbers do; NaN, though, is not equal to itself.
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        },
    }
}

fn number(value: &Value) -> Option<Key> {
    match value {
        Value::Bool(flag) => Some(Key::Int(Int::Small(i64::from(*flag)))),
        Value::Int(int) => Some(Key::Int(int.clone())),
        Value::Float(float) if !float.is_nan() => Some(Key::Float(float.to_bits())),
        _ => None,
    }
}
