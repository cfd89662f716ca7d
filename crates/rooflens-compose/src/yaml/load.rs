//! From a text to values: the parser's events, put together. Aliases become copies, within bounds.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Tag, options};

use super::{MAX_ALIASED_BYTES, MAX_DEPTH, MAX_NODES, YamlError, implicit, origin, python_newlines};
use crate::value::{Key, Map, Node, Origin, Value};

const TAGS: &str = "tag:yaml.org,2002:";

pub(super) fn document(text: &str, file: &Arc<str>) -> Result<Node, YamlError> {
    let text = &*python_newlines(text);
    if let Some(at) = text.find(is_unprintable) {
        let code = text[at..].chars().next().map_or(0, u32::from);
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
        let place = place(file, Marker::new(at, line, column));
        return Err(YamlError::new(format!("character U+{code:04X} is not allowed in YAML"), &place, text));
    }
    let mut loader = Loader::default();
    let limits =
        options! { emit_comments: false, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH };
    for event in Parser::new_from_str_with_options(text, limits) {
        let (event, span) = event.map_err(|error| refused(&error, file, text))?;
        let origin = place(file, span.start);
        let event = match event {
            // The parser ends the last line of a text that does not end it.
            Event::Scalar(block, style @ (ScalarStyle::Literal | ScalarStyle::Folded), anchor, tag)
                if !text.ends_with('\n') && span.end.byte_offset() == Some(text.len()) =>
            {
                let block = block.strip_suffix('\n').unwrap_or(&block).to_owned();
                Event::Scalar(block.into(), style, anchor, tag)
            }
            other => other,
        };
        loader.take(event, &origin).map_err(|problem| YamlError::new(problem, &origin, text))?;
    }
    Ok(loader.root.unwrap_or(Node::at(Value::Null, origin(file, 1, 1))))
}

fn is_unprintable(char: char) -> bool {
    !matches!(char, '\t' | '\n' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

fn place(file: &Arc<str>, mark: Marker) -> Origin {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    origin(file, number(mark.line()), number(mark.col().saturating_add(1)))
}

fn refused(error: &ScanError, file: &Arc<str>, text: &str) -> YamlError {
    let problem = format!("not valid YAML: {}", error.info());
    let mut refused = YamlError::new(problem, &place(file, *error.marker()), text);
    refused.hint = match error.kind() {
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => Some("use spaces"),
        ErrorKind::UnexpectedCharacter { .. } => Some("put the value in quotes"),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            Some("quote a string that contains ': ', and put a mapping on its own lines")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => Some(
            "a string continued from the line before must be indented further; a key and its ': ' must be on one \
             line",
        ),
        ErrorKind::BlockSequenceEntryNotAllowed => {
            Some("put the '- ' on a separate line, or the value in quotes")
        }
        ErrorKind::UnknownQuotedScalarEscape => {
            Some("write '\\\\' for a backslash, or use single quotes, which have no escapes")
        }
        ErrorKind::ExpectedBlockMappingKey => Some("all keys of a mapping must begin in the same column"),
        ErrorKind::ExpectedBlockSequenceEntry => {
            Some("all items of a list must have their '-' in the same column")
        }
        _ => None,
    };
    refused
}

struct Open {
    node: Node,
    anchor: usize,
    key: Option<PendingKey>,
    /// What `<<` merges, the first to be overridden first.
    merged: Vec<Map>,
}

enum PendingKey {
    Key(Key),
    /// `<<`.
    Merge,
}

struct Anchored {
    node: Node,
    extent: Extent,
}

#[derive(Clone, Copy, Default)]
struct Extent {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

impl Extent {
    fn of(node: &Node) -> Self {
        let below = |sum: Extent, node: &Node| {
            let one = Extent::of(node);
            let depth = sum.depth.max(one.depth + 1);
            Extent { nodes: sum.nodes + one.nodes, bytes: sum.bytes + one.bytes, depth }
        };
        let leaf = Extent { nodes: 1, bytes: 0, depth: 0 };
        match &node.value {
            Value::Str(text) => Extent { bytes: text.len(), ..leaf },
            Value::List(items) => items.iter().fold(leaf, below),
            Value::Map(map) => map.values().fold(leaf, below),
            _ => leaf,
        }
    }
}

#[derive(Default)]
struct Loader {
    root: Option<Node>,
    open: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    documents: usize,
    nodes: usize,
    aliased_bytes: usize,
}

impl Loader {
    fn take(&mut self, event: Event<'_>, origin: &Origin) -> Result<(), String> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("a second document begins here; a config is one document".to_owned());
                }
            }
            Event::Alias(anchor) => {
                let Some(anchored) = self.anchors.get(&anchor) else {
                    return Err("an alias refers to the node that contains it".to_owned());
                };
                let (node, extent) = (anchored.node.clone(), anchored.extent);
                self.spend(extent)?;
                self.place(node, false)?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.spend(Extent { nodes: 1, ..Extent::default() })?;
                let is_plain = style == ScalarStyle::Plain;
                let is_merge = is_plain && tag.is_none() && text == "<<";
                let value = scalar(&text, is_plain, tag.as_deref())?;
                let node = Node::at(value, origin.clone());
                self.keep(anchor, &node)?;
                self.place(node, is_merge)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                expect_tag(tag.as_deref(), "seq", "list")?;
                self.begin(Value::List(Vec::new()), anchor, origin)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                expect_tag(tag.as_deref(), "map", "mapping")?;
                self.begin(Value::Map(Map::new()), anchor, origin)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(Open { mut node, anchor, merged, .. }) = self.open.pop() {
                    if let Value::Map(own) = &mut node.value
                        && !merged.is_empty()
                    {
                        let own = std::mem::take(own);
                        node.value = Value::Map(merged.into_iter().flatten().chain(own).collect());
                    }
                    self.keep(anchor, &node)?;
                    self.place(node, false)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, value: Value, anchor: usize, origin: &Origin) -> Result<(), String> {
        self.spend(Extent { nodes: 1, ..Extent::default() })?;
        let node = Node::at(value, origin.clone());
        self.open.push(Open { node, anchor, key: None, merged: Vec::new() });
        Ok(())
    }

    fn keep(&mut self, anchor: usize, node: &Node) -> Result<(), String> {
        if anchor > 0 {
            let extent = Extent::of(node);
            self.spend(extent)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), extent });
        }
        Ok(())
    }

    fn spend(&mut self, extent: Extent) -> Result<(), String> {
        self.nodes += extent.nodes;
        self.aliased_bytes += extent.bytes;
        if self.nodes > MAX_NODES {
            Err(format!("more than {MAX_NODES} nodes once aliases are copied"))
        } else if self.aliased_bytes > MAX_ALIASED_BYTES {
            Err(format!("aliases copy more than {MAX_ALIASED_BYTES} bytes of text"))
        } else if self.open.len() + extent.depth > MAX_DEPTH {
            Err(format!("nested deeper than {MAX_DEPTH} levels"))
        } else {
            Ok(())
        }
    }

    fn place(&mut self, node: Node, is_merge: bool) -> Result<(), String> {
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut open.node.value, open.key.take()) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(map), Some(PendingKey::Key(key))) => {
                map.insert(key, node);
            }
            (_, Some(PendingKey::Merge)) => open.merged.extend(sources(node)?),
            (Value::Map(_), None) if is_merge => open.key = Some(PendingKey::Merge),
            (Value::Map(map), None) => {
                let key = key_of(node.value)?;
                // Only keys that are text are compared; of others the last one wins, as in Python.
                if let Key::Str(text) = &key
                    && map.contains_key(&key)
                {
                    return Err(format!("the key '{text}' is written twice in one mapping"));
                }
                open.key = Some(PendingKey::Key(key));
            }
            _ => {}
        }
        Ok(())
    }
}

fn sources(node: Node) -> Result<Vec<Map>, String> {
    let wrong = |kind: &str| format!("'<<' merges mappings, not {kind}");
    match node.value {
        Value::Map(map) => Ok(vec![map]),
        Value::List(items) => items
            .into_iter()
            .rev()
            .map(|item| match item.value {
                Value::Map(map) => Ok(map),
                other => Err(wrong(other.kind())),
            })
            .collect(),
        other => Err(wrong(other.kind())),
    }
}

fn key_of(value: Value) -> Result<Key, String> {
    Ok(match value {
        Value::Str(text) => Key::Str(text),
        Value::Int(int) => Key::Int(int),
        Value::Float(float) => Key::Float(float.to_bits()),
        Value::Bool(flag) => Key::Bool(flag),
        other => return Err(format!("{} cannot be a key", other.kind())),
    })
}

/// The name of a tag of YAML's own; none for `!`, which asks for the type that the text would have unquoted.
fn tag_name(tag: &Tag) -> Result<Option<&str>, String> {
    match (tag.parts(), tag.core_suffix()) {
        (_, Some(name)) => Ok(Some(name)),
        (("!" | "", ""), None) | (("", "!"), None) => Ok(None),
        _ => Err(unknown(&tag.original())),
    }
}

fn unknown(tag: &str) -> String {
    format!("the tag '{}' has no meaning in a config", tag.replace(TAGS, "!!"))
}

fn expect_tag(tag: Option<&Tag>, wanted: &str, shape: &str) -> Result<(), String> {
    match tag.map(tag_name).transpose()?.flatten() {
        Some(name) if name != wanted => Err(format!("the tag '!!{name}' does not fit a {shape}")),
        _ => Ok(()),
    }
}

fn scalar(text: &str, is_plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    let value = match tag.map(tag_name).transpose()? {
        None if is_plain => implicit::plain(text),
        None => Some(Value::Str(text.to_owned())),
        Some(None) => implicit::plain(text),
        Some(Some(name @ ("null" | "str" | "bool" | "int" | "float"))) => implicit::tagged(name, text),
        Some(Some(name)) => return Err(unknown(&format!("!!{name}"))),
    };
    let shown: String = text.chars().take(40).collect();
    value.ok_or_else(|| format!("'{shown}' is not what its type demands, or too large a number"))
}
