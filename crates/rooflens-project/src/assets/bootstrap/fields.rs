//! A mapping whose keys are known: an unknown one is an error with its place and the nearest known.

use std::path::Path;

use rooflens_compose::value::{Int, Key, Map, Node, Origin, Value, python_str};

use crate::assets::error::{AssetError, AssetFault};

/// What the whole file is called.
pub(super) const FILE: &str = "bootstrap.yaml";

/// The text that is read, for the lines that errors show, and the way to files beside it.
pub(super) struct Document<'a> {
    pub(super) text: &'a str,
    pub(super) beside: &'a dyn Fn(&Path) -> Result<String, AssetError>,
}

/// A mapping with known keys.
pub(super) struct Fields<'a> {
    pub(super) document: &'a Document<'a>,
    map: &'a Map,
    origin: &'a Origin,
    /// What it is called in messages: `models[0]`.
    within: String,
}

impl<'a> Fields<'a> {
    pub(super) fn of(
        document: &'a Document<'a>,
        node: &'a Node,
        within: &str,
        known: &'static [&'static str],
    ) -> Result<Self, AssetError> {
        let Value::Map(map) = &node.value else {
            return Err(kind_error(document, within, node, "a mapping"));
        };
        for (key, value) in map {
            let name = python_str(&key.to_value());
            if !matches!(key, Key::Str(_)) || !known.contains(&name.as_str()) {
                let fault = AssetFault::UnknownKey { key: name.clone(), within: within.to_owned(), known };
                let origin = key_origin(document.text, &name, &value.origin);
                return Err(
                    AssetError::at(fault, &origin, document.text).suggest(&name, known.iter().copied())
                );
            }
        }
        Ok(Self { document, map, origin: &node.origin, within: within.to_owned() })
    }

    /// The value of a key; none where it is null.
    pub(super) fn get(&self, key: &str) -> Option<&'a Node> {
        self.map.get(&Key::from(key)).filter(|node| node.value != Value::Null)
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>, AssetError> {
        self.get(key).map(|node| text_of(self.document, node, &self.name_of(key))).transpose()
    }

    pub(super) fn needed_text(&self, key: &'static str) -> Result<&'a str, AssetError> {
        self.text(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn whole(&self, key: &str) -> Result<Option<u64>, AssetError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        match &node.value {
            Value::Int(Int::Small(small)) if *small >= 0 => Ok(Some(small.unsigned_abs())),
            _ => Err(kind_error(self.document, &self.name_of(key), node, "a whole number of at least 0")),
        }
    }

    pub(super) fn list(&self, key: &str) -> Result<&'a [Node], AssetError> {
        match self.get(key) {
            None => Ok(&[]),
            Some(Node { value: Value::List(items), .. }) => Ok(items),
            Some(node) => Err(kind_error(self.document, &self.name_of(key), node, "a list")),
        }
    }

    pub(super) fn missing(&self, key: &'static str) -> AssetError {
        let fault = AssetFault::MissingKey { key, within: self.within.clone() };
        AssetError::at(fault, self.origin, self.document.text)
    }

    /// An error of the value of a key.
    pub(super) fn refuse(&self, key: &str, problem: &'static str) -> AssetError {
        let Some(node) = self.map.get(&Key::from(key)) else {
            let fault = AssetFault::FieldValue { within: self.name_of(key), value: String::new(), problem };
            return AssetError::at(fault, self.origin, self.document.text);
        };
        refuse(self.document, node, &self.name_of(key), problem)
    }

    pub(super) fn name_of(&self, key: &str) -> String {
        if self.within == FILE { key.to_owned() } else { format!("{}.{key}", self.within) }
    }
}

/// An error of a value.
pub(super) fn refuse(
    document: &Document<'_>,
    node: &Node,
    within: &str,
    problem: &'static str,
) -> AssetError {
    let value = python_str(&node.value).chars().take(200).collect();
    let fault = AssetFault::FieldValue { within: within.to_owned(), value, problem };
    AssetError::at(fault, &node.origin, document.text)
}

/// A text that means only itself.
pub(super) fn text_of<'a>(
    document: &Document<'_>,
    node: &'a Node,
    within: &str,
) -> Result<&'a str, AssetError> {
    let Some(text) = node.as_str() else { return Err(kind_error(document, within, node, "a string")) };
    if node.is_missing() {
        return Err(refuse(document, node, within, "is still to be filled in"));
    }
    if node.is_interpolation() {
        return Err(refuse(document, node, within, "is an interpolation, which this file does not support"));
    }
    Ok(text)
}

pub(super) fn kind_error(
    document: &Document<'_>,
    within: &str,
    node: &Node,
    expected: &'static str,
) -> AssetError {
    let fault = AssetFault::FieldKind { within: within.to_owned(), expected, found: node.value.kind() };
    AssetError::at(fault, &node.origin, document.text)
}

/// Where a key is written. The loader knows the places of values only; a key stands before its
/// value, on the same line or on the nearest one above that has it.
fn key_origin(text: &str, key: &str, value: &Origin) -> Origin {
    let last = usize::try_from(value.line).unwrap_or(usize::MAX);
    let lines: Vec<&str> = text.lines().take(last).collect();
    for (index, line) in lines.iter().enumerate().rev() {
        let end = if index + 1 == last { char_offset(line, value.column) } else { line.len() };
        let found = line[..end].rmatch_indices(key).find(|(at, _)| {
            let before = line[..*at].trim_end_matches(['"', '\'']);
            let after = line[at + key.len()..].trim_start_matches(['"', '\'']).trim_start();
            after.starts_with(':') && (before.is_empty() || before.ends_with([' ', '{', ',']))
        });
        if let (Some((at, _)), Ok(number)) = (found, u32::try_from(index + 1)) {
            let column = u32::try_from(line[..at].chars().count() + 1).unwrap_or(1);
            return Origin { source: value.source.clone(), line: number, column };
        }
    }
    value.clone()
}

fn char_offset(line: &str, column: u32) -> usize {
    let chars = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
    line.char_indices().nth(chars).map_or(line.len(), |(at, _)| at)
}
