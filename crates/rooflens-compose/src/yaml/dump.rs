//! Writing a config, byte for byte as `OmegaConf.to_yaml` does.

use crate::value::{Int, Node, Value, float_repr};

use super::analysis::Analysis;
use super::number::python_float;
use super::sink::Sink;
use super::{base64, implicit};

/// A key with its tag must be shorter than this to stand before its `:` on one line.
const SIMPLE_KEY_LENGTH: usize = 128;

/// The YAML of a config, ended with a line break.
#[must_use]
pub fn dump(node: &Node) -> String {
    let mut sink = Sink::default();
    let is_open_ended = match &node.value {
        Value::List(_) | Value::Map(_) => false,
        value => Scalar::of(value).is_some_and(|scalar| scalar.style(Place::Root) == Style::Plain),
    };
    write(&node.value, Place::Root, &mut sink);
    let mut text = sink.finish();
    if is_open_ended {
        // A bare scalar could go on in what follows, so its end is marked.
        text.push_str("...\n");
    }
    text
}

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// A value, or a key after `?`.
    Pair,
    /// A key that ends with its line's first `:`.
    SimpleKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

fn write(value: &Value, place: Place, sink: &mut Sink) {
    match value {
        Value::List(items) if items.is_empty() => {
            sink.word("[");
            sink.close("]");
        }
        Value::List(items) => {
            let level = sink.enter_list(place == Place::Pair);
            for item in items {
                sink.indent();
                sink.mark("-");
                write(&item.value, Place::Item, sink);
            }
            sink.leave(level);
        }
        Value::Map(map) if map.is_empty() => {
            sink.word("{");
            sink.close("}");
        }
        Value::Map(map) => {
            let level = sink.enter_collection();
            for (key, node) in map {
                sink.indent();
                write_key(&key.to_value(), sink);
                write(&node.value, Place::Pair, sink);
            }
            sink.leave(level);
        }
        scalar => {
            if let Some(scalar) = Scalar::of(scalar) {
                scalar.write(place, sink);
            }
        }
    }
}

fn write_key(key: &Value, sink: &mut Sink) {
    let Some(scalar) = Scalar::of(key) else { return };
    let analysis = scalar.analysis;
    let length = scalar.text.len() + scalar.tag.len();
    if length < SIMPLE_KEY_LENGTH && !analysis.is_empty && !analysis.has_breaks {
        scalar.write(Place::SimpleKey, sink);
        sink.close(":");
    } else {
        sink.mark("?");
        scalar.write(Place::Pair, sink);
        sink.indent();
        sink.mark(":");
    }
}

/// A scalar that is to be written.
struct Scalar {
    text: Vec<char>,
    /// The tag it would have: it counts in the length of a key, and binary data shows it.
    tag: &'static str,
    /// Whether the text, unquoted, would read back as the value.
    is_plain_safe: bool,
    analysis: Analysis,
}

impl Scalar {
    fn of(value: &Value) -> Option<Self> {
        let (text, tag) = match value {
            Value::Null => ("null".to_owned(), "!!null"),
            Value::Bool(flag) => (flag.to_string(), "!!bool"),
            Value::Int(Int::Small(small)) => (small.to_string(), "!!int"),
            Value::Int(Int::Big(digits)) => (digits.clone(), "!!int"),
            Value::Float(float) => (yaml_float(*float), "!!float"),
            Value::Str(text) => (text.clone(), "!!str"),
            Value::Bytes(bytes) => (base64::encode(bytes), BINARY),
            Value::List(_) | Value::Map(_) => return None,
        };
        let is_plain_safe = !matches!(value, Value::Str(text) if reads_as_another_type(text));
        let text: Vec<char> = text.chars().collect();
        let analysis = Analysis::of(&text);
        Some(Self { text, tag, is_plain_safe, analysis })
    }

    fn style(&self, place: Place) -> Style {
        let Analysis { has_breaks, allows_plain, allows_single_quotes, allows_block, .. } = self.analysis;
        if self.tag == BINARY {
            return if allows_block { Style::Literal } else { Style::DoubleQuoted };
        }
        if self.is_plain_safe && allows_plain {
            Style::Plain
        } else if allows_single_quotes && !(place == Place::SimpleKey && has_breaks) {
            Style::SingleQuoted
        } else {
            Style::DoubleQuoted
        }
    }

    fn write(&self, place: Place, sink: &mut Sink) {
        let folds = place != Place::SimpleKey;
        if self.tag == BINARY {
            sink.word(BINARY);
        }
        let level = sink.enter_scalar();
        match self.style(place) {
            Style::Plain => sink.plain(&self.text, folds),
            Style::SingleQuoted => sink.single_quoted(&self.text, folds),
            Style::DoubleQuoted => sink.double_quoted(&self.text, folds),
            Style::Literal => sink.literal(&self.text.iter().collect::<String>()),
        }
        sink.leave(level);
    }
}

const BINARY: &str = "!!binary";

/// Whether `OmegaConf` quotes a text: what the dumper would misread, `y` and `n`, and all that
/// Python's `float()` takes, whether or not a loader would.
fn reads_as_another_type(text: &str) -> bool {
    matches!(text, "y" | "Y" | "n" | "N") || implicit::dumper_misreads(text) || python_float(text).is_some()
}

/// YAML 1.1 needs a dot in a float.
fn yaml_float(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = float_repr(float);
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}
