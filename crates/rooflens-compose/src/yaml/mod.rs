//! YAML as OmegaConf reads and writes it: the YAML 1.1 types of `PyYAML` with `OmegaConf`'s tweaks.
//!
//! Reading goes text → tokens → events → graph (anchors shared) → tree (aliases copied, merges
//! done); writing goes tree → text. The first two steps follow `PyYAML` in Python, not `libyaml`,
//! since that is what `OmegaConf` loads with; crates read YAML 1.2, and have other types.
//!
//! Refused, though Python reads them: an escape of half a surrogate pair, which no text can hold, and
//! documents beyond [`MAX_NODES`] or [`MAX_ALIASED_BYTES`].

mod analysis;
mod base64;
mod construct;
mod copy;
mod dump;
mod error;
mod graph;
mod header;
mod implicit;
mod number;
mod parse;
mod scalar;
mod scan;
mod sink;
mod syntax;
mod tag;

use std::borrow::Cow;
use std::sync::Arc;

use crate::value::{Key, Map, Node, Origin, Value, ValueSource};

pub use dump::dump;
pub use error::{YamlError, YamlProblem};
pub use header::{Header, HeaderError, header};
pub use syntax::{SyntaxProblem, Within};

/// The deepest nesting that is read. Python's own limit is reached earlier.
pub const MAX_DEPTH: usize = 500;
/// The most nodes a document may have once its aliases are copied.
pub const MAX_NODES: usize = 1_000_000;
/// The most bytes of text that aliases may copy.
pub const MAX_ALIASED_BYTES: usize = 64 << 20;

/// Reads one document, as `OmegaConf.load` does.
///
/// An empty document is [`Value::Null`]. A document that is one text is read once more as YAML,
/// and when that again gives a text, it becomes the only key of a mapping.
///
/// # Errors
/// When the text is not YAML, or holds what a config cannot.
pub fn load(text: &str, source: Arc<str>) -> Result<Node, YamlError> {
    let node = load_value(text, &source)?;
    match &node.value {
        Value::Null | Value::List(_) | Value::Map(_) => Ok(node),
        Value::Str(inner) => load_text_document(inner, &node.origin, &source),
        other => Err(root_scalar(other, &node.origin, &source, text)),
    }
}

/// Reads one document of any kind, a bare number too, as `yaml.load` does.
///
/// # Errors
/// When the text is not YAML, or holds what a config cannot.
pub fn load_value(text: &str, source: &Arc<str>) -> Result<Node, YamlError> {
    let graph = graph::read(text, source)?;
    construct::build(graph, text, source)
}

fn load_text_document(text: &str, origin: &Origin, source: &Arc<str>) -> Result<Node, YamlError> {
    let mut node = load_value(text, source)?;
    match node.value {
        Value::Null | Value::List(_) | Value::Map(_) => Ok(node),
        Value::Str(key) => {
            let mut map = Map::new();
            map.insert(Key::Str(key), Node::at(Value::Null, origin.clone()));
            node.value = Value::Map(map);
            node.origin = origin.clone();
            Ok(node)
        }
        ref other => Err(root_scalar(other, origin, source, text)),
    }
}

fn root_scalar(value: &Value, origin: &Origin, source: &Arc<str>, text: &str) -> YamlError {
    let problem = YamlProblem::RootScalar { kind: value.kind() };
    YamlError::new(problem, source, text, origin.line, origin.column)
}

fn origin(source: &Arc<str>, line: u32, column: u32) -> Origin {
    Origin { source: ValueSource::File(Arc::clone(source)), line, column }
}

/// The text with `\n` for every line end, as Python opens a file.
fn python_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}
