//! YAML as OmegaConf reads and writes it: the YAML 1.1 types of `PyYAML` with `OmegaConf`'s tweaks.
//!
//! `granit-parser` turns a text into events, this module turns those into values: types, anchors, merge keys, duplicate
//! keys, and limits against hostile texts. Writing is our own, byte for byte as `OmegaConf` writes.
//!
//! # Where reading differs from `PyYAML`
//! The parser follows YAML 1.2. Configs that people write read the same; of unusual ones
//! `docs/decisions/0012-our-own-hydra.md` has the list, from tabs to tags.
//! - Limits: see [`MAX_DEPTH`], [`MAX_NODES`], [`MAX_ALIASED_BYTES`]. Unquoted numbers are shorter than 400 characters,
//!   and hexadecimal, octal, binary and sexagesimal ones have at most 127 bits.

mod dump;
mod implicit;
mod load;

use std::borrow::Cow;
use std::sync::Arc;

use crate::value::{Key, Map, Node, Origin, Value, ValueSource};

pub use dump::dump;

pub(crate) const MAX_DEPTH: usize = 250;
/// The most nodes a document may have once its aliases are copied.
pub(crate) const MAX_NODES: usize = 1_000_000;
/// The most bytes of text that aliases may copy.
pub(crate) const MAX_ALIASED_BYTES: usize = 64 << 20;

/// How much of a file Hydra reads for its header.
const HEADER_CHARS: usize = 512;
/// The most characters of a text that an error repeats.
const EXCERPT_CHARS: usize = 160;

/// A text that could not be read as a config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {problem}")]
pub struct YamlError {
    /// The name the text was given.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The line the problem stands in, cut where it is long.
    pub excerpt: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it, where that is known.
    pub hint: Option<&'static str>,
}

impl YamlError {
    fn new(problem: impl Into<String>, origin: &Origin, text: &str) -> Self {
        let ValueSource::File(file) = &origin.source else {
            return Self::new(problem, &self::origin(&"".into(), origin.line, origin.column), text);
        };
        let index = usize::try_from(origin.line).unwrap_or(usize::MAX).saturating_sub(1);
        let line =
            python_newlines(text).split('\n').nth(index).unwrap_or("").chars().take(EXCERPT_CHARS).collect();
        let (file, problem) = (Arc::clone(file), problem.into());
        Self { file, line: origin.line, column: origin.column, excerpt: line, problem, hint: None }
    }
}

/// Reads one document, as `OmegaConf.load` does.
///
/// An empty document is [`Value::Null`]. A document that is one text is read once more as YAML, and when that again
/// gives a text, it becomes the only key of a mapping.
pub fn load(text: &str, source: Arc<str>) -> Result<Node, YamlError> {
    let node = load::document(text, &source)?;
    let Value::Str(inner) = &node.value else { return container(node, text) };
    let again = load::document(inner, &source)?;
    let Value::Str(key) = again.value else { return container(again, inner) };
    let mut map = Map::new();
    map.insert(Key::Str(key), Node::at(Value::Null, node.origin.clone()));
    Ok(Node::at(Value::Map(map), node.origin))
}

fn container(node: Node, text: &str) -> Result<Node, YamlError> {
    match &node.value {
        Value::Null | Value::List(_) | Value::Map(_) => Ok(node),
        other => {
            let problem = format!("the document is {}, not a mapping or a list", other.kind());
            Err(YamlError::new(problem, &node.origin, text))
        }
    }
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

/// The package that the header of a config file names: the `# @package a.b` among the `# @key value` lines at the top,
/// with blank lines between them. The first line of another kind ends the header, a plain comment too. As in Hydra,
/// other keys are ignored, and only the first 512 characters are looked at.
pub fn header(text: &str) -> Result<Option<String>, String> {
    let text = python_newlines(text);
    let end = text.char_indices().nth(HEADER_CHARS).map_or(text.len(), |(end, _)| end);
    let mut package = None;
    for line in text[..end].split('\n').map(str::trim).filter(|line| !line.is_empty()) {
        let Some(content) = line.strip_prefix('#').map(str::trim_start).filter(|line| line.starts_with('@'))
        else {
            break;
        };
        match content.split_whitespace().collect::<Vec<_>>()[..] {
            ["@package", name] => package = Some(name.to_owned()),
            [_, _] => {}
            _ => return Err(content.to_owned()),
        }
    }
    Ok(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_the_first_block_only() {
        for (text, package) in [
            ("\n# @package _global_\na: 1\n", Ok(Some("_global_"))),
            ("#@package a.b", Ok(Some("a.b"))),
            ("# note\n# @package a\n", Ok(None)),
            ("# @other x\n\n# @package a\n", Ok(Some("a"))),
            ("a: 1\n# @package a\n", Ok(None)),
            ("## @package a\n", Ok(None)),
            ("# @package", Err("@package")),
            ("\n# @package a b", Err("@package a b")),
        ] {
            assert_eq!(
                header(text),
                package.map(|it| it.map(str::to_owned)).map_err(str::to_owned),
                "{text:?}"
            );
        }
    }
}
