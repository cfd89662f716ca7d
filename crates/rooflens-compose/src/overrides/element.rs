//! What stands after the `=`: elements, with the quotes they were written in.

use super::error::ValueError;
use super::sweep::SweepExpression;
use crate::value::{Int, Key, Map, Node, Origin, Value};

/// A value, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum OverrideElement {
    /// `null`.
    Null,
    /// `true` or `false`, in any case.
    Bool(bool),
    /// A whole number.
    Int(Int),
    /// A floating-point number.
    Float(f64),
    /// Text without quotes, its escapes already removed. An interpolation is text.
    Str(String),
    /// Text in quotes.
    Quoted(QuotedString),
    /// `[a, b]`.
    List(Vec<OverrideElement>),
    /// `{a: b}`. Keys are never quoted, lists, mappings or sweeps; equal ones are already one.
    Map(Vec<(OverrideElement, OverrideElement)>),
    /// A sweep inside something else. Hydra reads it and has no use for it.
    Sweep(Box<SweepExpression>),
}

/// Text in quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotedString {
    /// The text between them, its escapes already removed.
    pub text: String,
    /// The quotes.
    pub quote: Quote,
}

/// The quotes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// `'…'`
    Single,
    /// `"…"`
    Double,
}

impl Quote {
    /// The character.
    #[must_use]
    pub fn character(self) -> char {
        match self {
            Quote::Single => '\'',
            Quote::Double => '"',
        }
    }
}

impl OverrideElement {
    /// The config value it stands for: quotes are gone.
    ///
    /// # Errors
    /// [`ValueError`] where a config cannot hold it: `null` as a key, a sweep inside a value.
    pub fn to_value(&self) -> Result<Value, ValueError> {
        Ok(self.to_node(&Origin::default())?.value)
    }

    /// As [`to_value`](Self::to_value), with every node in it said to come from `origin`.
    ///
    /// # Errors
    /// As [`to_value`](Self::to_value).
    pub fn to_node(&self, origin: &Origin) -> Result<Node, ValueError> {
        let value = match self {
            OverrideElement::Null => Value::Null,
            OverrideElement::Bool(flag) => Value::Bool(*flag),
            OverrideElement::Int(int) => Value::Int(int.clone()),
            OverrideElement::Float(float) => Value::Float(*float),
            OverrideElement::Str(text) => Value::Str(text.clone()),
            OverrideElement::Quoted(quoted) => Value::Str(quoted.text.clone()),
            OverrideElement::List(items) => {
                let nodes = items.iter().map(|item| item.to_node(origin));
                Value::List(nodes.collect::<Result<_, _>>()?)
            }
            OverrideElement::Map(pairs) => {
                let mut map = Map::with_capacity(pairs.len());
                for (key, value) in pairs {
                    let key = key.as_key().ok_or(ValueError::NullKey)?;
                    map.insert(key, value.to_node(origin)?);
                }
                Value::Map(map)
            }
            OverrideElement::Sweep(sweep) => return Err(ValueError::NestedSweep { kind: sweep.kind_name() }),
        };
        Ok(Node::at(value, origin.clone()))
    }

    /// The element as a key of a mapping; nothing where a config can have no such key.
    pub(super) fn as_key(&self) -> Option<Key> {
        match self {
            OverrideElement::Bool(flag) => Some(Key::Bool(*flag)),
            OverrideElement::Int(int) => Some(Key::Int(int.clone())),
            OverrideElement::Float(float) => Some(Key::Float(float.to_bits())),
            OverrideElement::Str(text) => Some(Key::Str(text.clone())),
            _ => None,
        }
    }

    /// What messages call it.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            OverrideElement::Null => "null",
            OverrideElement::Bool(_) => "a truth value",
            OverrideElement::Int(_) => "a whole number",
            OverrideElement::Float(_) => "a floating-point number",
            OverrideElement::Str(_) => "text",
            OverrideElement::Quoted(_) => "quoted text",
            OverrideElement::List(_) => "a list",
            OverrideElement::Map(_) => "a mapping",
            OverrideElement::Sweep(sweep) => sweep.kind_name(),
        }
    }
}
