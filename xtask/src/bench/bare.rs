//! The bar: one pass of serde_json over a trace that visits the fields Rooflens reads and adds them
//! up, so that nothing can be left out. It keeps nothing and joins nothing.
//!
//! This is the fastest plain reader there is: from memory, on one thread, strings borrowed, unwanted
//! values skipped.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Pass {
    pub(crate) events: u64,
    pub(crate) sum: f64,
    /// Parsing alone, once the file is in memory.
    pub(crate) parse_s: f64,
}

pub(crate) fn run(file: &Path) -> Result<()> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let start = Instant::now();
    let mut pass = visit(&text)?;
    pass.parse_s = start.elapsed().as_secs_f64();
    println!("{}", serde_json::to_string(&pass)?);
    Ok(())
}

fn visit(text: &[u8]) -> Result<Pass> {
    let mut pass = Pass::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    Top(&mut pass).deserialize(&mut json)?;
    Ok(pass)
}

macro_rules! seed {
    ($name:ident, $method:ident) => {
        impl<'de> DeserializeSeed<'de> for $name<'_> {
            type Value = ();
            fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
                from.$method(self)
            }
        }
    };
}

fn expecting(out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("a trace")
}

struct Top<'p>(&'p mut Pass);
seed!(Top, deserialize_map);

impl<'de> Visitor<'de> for Top<'_> {
    type Value = ();
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(out)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.bytes() {
                b"traceEvents" => map.next_value_seed(Events(&mut *self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Events<'p>(&'p mut Pass);
seed!(Events, deserialize_seq);

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(out)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while events.next_element_seed(Event(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

struct Event<'p>(&'p mut Pass);
seed!(Event, deserialize_map);

impl<'de> Visitor<'de> for Event<'_> {
    type Value = ();
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(out)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.events += 1;
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.bytes() {
                b"ph" | b"cat" | b"name" | b"pid" | b"tid" | b"ts" | b"dur" => {
                    self.0.sum += map.next_value::<Value>()?.0;
                }
                b"args" => map.next_value_seed(Args(&mut *self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

struct Args<'p>(&'p mut Pass);
seed!(Args, deserialize_map);

impl<'de> Visitor<'de> for Args<'_> {
    type Value = ();
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(out)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            match key.bytes() {
                b"External id"
                | b"correlation"
                | b"device"
                | b"stream"
                | b"bytes"
                | b"graph id"
                | b"graph node id"
                | b"grid"
                | b"block"
                | b"registers per thread"
                | b"shared memory"
                | b"Collective name"
                | b"dtype"
                | b"In msg nelems"
                | b"Out msg nelems"
                | b"Group size"
                | b"Process Group Name"
                | b"Bytes"
                | b"Device Id"
                | b"Device Type"
                | b"Total Allocated"
                | b"Total Reserved"
                | b"Input Dims"
                | b"Input type" => self.0.sum += map.next_value::<Value>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// A key: borrowed where it holds no escape.
enum Text<'de> {
    Borrowed(&'de str),
    Owned(String),
}

impl Text<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Text::Borrowed(text) => text.as_bytes(),
            Text::Owned(text) => text.as_bytes(),
        }
    }
}

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OfText;
        impl<'de> Visitor<'de> for OfText {
            type Value = Text<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(out)
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text::Borrowed(text))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text::Owned(text.to_owned()))
            }
        }
        from.deserialize_str(OfText)
    }
}

/// Any value as one number: itself, its length, or the sum of its parts.
struct Value(f64);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OfValue)
    }
}

struct OfValue;

impl<'de> Visitor<'de> for OfValue {
    type Value = Value;
    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        expecting(out)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value(f64::from(u8::from(value))))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value(value as f64))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value(value.len() as f64))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value(0.0))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut sum = 0.0;
        while let Some(value) = values.next_element::<Value>()? {
            sum += value.0;
        }
        Ok(Value(sum))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wanted_field_is_added_once() {
        let text = br#"{"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "cat": "kernel", "name": "k\n", "pid": 1, "tid": 2, "ts": 3.5, "dur": 4, "s": "t",
             "args": {"device": 10, "grid": [1, 2, 3], "queued": 99, "stream": "7"}}]}"#;
        let pass = visit(text).unwrap();
        assert_eq!(pass.events, 1);
        assert_eq!(pass.sum, 1.0 + 6.0 + 2.0 + 1.0 + 2.0 + 3.5 + 4.0 + 10.0 + 6.0 + 1.0);
    }
}
