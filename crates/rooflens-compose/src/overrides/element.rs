//! What stands after the `=`, with the quotes it was written in: as a value of the config, and as text again, since
//! Hydra writes it into the overrides of a sweep's jobs.

use indexmap::IndexMap;

use crate::value::{Int, Key, Node, Origin, Value, float_repr};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Element {
    Null,
    Bool(bool),
    Int(Int),
    Float(f64),
    /// Text without quotes, its escapes already removed. An interpolation is text.
    Str(String),
    /// Text in quotes, its escapes already removed.
    Quoted {
        text: String,
        quote: char,
    },
    List(Vec<Element>),
    Map(IndexMap<Key, Element>),
}

impl Element {
    /// Text in quotes, its escapes still in it. Backslashes count only before a quote.
    pub(super) fn quoted(raw: &str) -> Self {
        let quote = if raw.starts_with('"') { '"' } else { '\'' };
        let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
        let mut text = String::with_capacity(inside.len());
        let mut slashes = 0;
        for char in inside.chars() {
            if char == '\\' {
                slashes += 1;
                continue;
            }
            // An odd number before a quote: half of them, and the last belongs to the quote.
            let kept = if char == quote { slashes / 2 } else { slashes };
            text.extend(std::iter::repeat_n('\\', kept));
            slashes = 0;
            text.push(char);
        }
        text.extend(std::iter::repeat_n('\\', slashes / 2));
        Element::Quoted { text, quote }
    }

    /// The config value it stands for: quotes are gone, and every node in it comes from `origin`.
    pub(crate) fn to_node(&self, origin: &Origin) -> Node {
        let value = match self {
            Element::Null => Value::Null,
            Element::Bool(flag) => Value::Bool(*flag),
            Element::Int(int) => Value::Int(int.clone()),
            Element::Float(float) => Value::Float(*float),
            Element::Str(text) | Element::Quoted { text, .. } => Value::Str(text.clone()),
            Element::List(items) => Value::List(items.iter().map(|item| item.to_node(origin)).collect()),
            Element::Map(pairs) => {
                Value::Map(pairs.iter().map(|(key, item)| (key.clone(), item.to_node(origin))).collect())
            }
        };
        Node::at(value, origin.clone())
    }

    /// The element as a key of a mapping; nothing where a config can have no such key.
    pub(super) fn into_key(self) -> Option<Key> {
        match self {
            Element::Bool(flag) => Some(Key::Bool(flag)),
            Element::Int(int) => Some(Key::Int(int)),
            Element::Float(float) => Some(Key::Float(float.to_bits())),
            Element::Str(text) => Some(Key::Str(text)),
            _ => None,
        }
    }

    /// The element as text that reads as the same element, with one exception that is Hydra's: an interpolation without
    /// quotes comes out escaped.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Element::Null => "null".to_owned(),
            Element::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
            Element::Int(int) => int.to_string(),
            Element::Float(float) => float_repr(*float),
            Element::Str(text) => escaped(text),
            Element::Quoted { text, quote } => requoted(text, *quote),
            Element::List(items) => {
                let items: Vec<String> = items.iter().map(Element::to_text).collect();
                format!("[{}]", items.join(","))
            }
            Element::Map(pairs) => {
                let pair = |(key, value): (&Key, &Element)| {
                    let key = match key {
                        Key::Str(text) => escaped(text),
                        key => crate::value::python_str(&key.to_value()),
                    };
                    format!("{key}:{}", value.to_text())
                };
                let pairs: Vec<String> = pairs.iter().map(pair).collect();
                format!("{{{}}}", pairs.join(","))
            }
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        if "\\()[]{}:=, \t".contains(char) {
            out.push('\\');
        }
        out.push(char);
    }
    out
}

/// Text in its quotes again. Backslashes are doubled before a quote; the closing quote is one too.
fn requoted(text: &str, quote: char) -> String {
    let mut out = String::from(quote);
    let mut slashes = 0;
    for char in text.chars() {
        if char == quote {
            out.extend(std::iter::repeat_n('\\', slashes + 1));
        }
        slashes = if char == '\\' { slashes + 1 } else { 0 };
        out.push(char);
    }
    out.extend(std::iter::repeat_n('\\', slashes));
    out.push(quote);
    out
}
