//! The document as a graph: anchored nodes are shared, tags are resolved, nothing is built yet.

use std::collections::HashMap;
use std::sync::Arc;

use super::MAX_DEPTH;
use super::error::{YamlError, YamlProblem};
use super::implicit;
use super::parse::{Event, EventKind, Parser, Properties};
use super::scan::{Mark, unprintable};
use super::tag::Tag;

/// The index of a node in its graph.
pub(super) type NodeId = usize;

/// One document.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<GraphNode>,
    /// None where the document is empty.
    pub(super) root: Option<NodeId>,
}

/// A node before it is built.
#[derive(Debug)]
pub(super) struct GraphNode {
    pub(super) tag: Tag,
    pub(super) content: Content,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// What a node holds.
#[derive(Debug, Clone)]
pub(super) enum Content {
    Scalar(String),
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
}

impl Content {
    /// The name of the shape, for messages.
    pub(super) fn shape(&self) -> &'static str {
        match self {
            Content::Scalar(_) => "scalar",
            Content::Sequence(_) => "list",
            Content::Mapping(_) => "mapping",
        }
    }
}

/// Reads the one document of a text.
pub(super) fn read(text: &str, file: &Arc<str>) -> Result<Graph, YamlError> {
    let failed = |problem, mark| {
        let (line, column) = place_of(mark);
        YamlError::new(problem, file, text, line, column)
    };
    if let Some((char, mark)) = unprintable(text) {
        return Err(failed(YamlProblem::Character { code: u32::from(char) }, mark));
    }
    let mut parser = Parser::new(text);
    let mut reading = Reading::default();
    loop {
        let event = parser.next().map_err(|error| failed(YamlProblem::Syntax(error.problem), error.mark))?;
        let mark = event.mark;
        if matches!(event.kind, EventKind::StreamEnd) {
            return Ok(reading.graph);
        }
        reading.take(event).map_err(|problem| failed(problem, mark))?;
    }
}

/// A collection that is still open.
struct OpenCollection {
    node: NodeId,
    /// The key that waits for its value.
    key: Option<NodeId>,
}

#[derive(Default)]
struct Reading<'a> {
    graph: Graph,
    open: Vec<OpenCollection>,
    anchors: HashMap<&'a str, NodeId>,
    documents: usize,
}

impl<'a> Reading<'a> {
    fn take(&mut self, event: Event<'a>) -> Result<(), YamlProblem> {
        let mark = event.mark;
        match event.kind {
            EventKind::DocumentStart => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(YamlProblem::SecondDocument);
                }
            }
            EventKind::Alias(name) => {
                let node = self.anchors.get(name).copied();
                self.place(node.ok_or_else(|| YamlProblem::UnknownAlias { name: name.to_owned() })?);
            }
            EventKind::Scalar { properties, text, is_plain } => {
                let tag = match properties.tag {
                    // A lone `!` asks for the type the text would have unquoted.
                    Some(name) if name != "!" => Tag::of_name(name),
                    None if !is_plain => Tag::Str,
                    _ => implicit::load_tag(&text),
                };
                self.add(tag, Content::Scalar(text.into_owned()), properties.anchor, mark)?;
            }
            EventKind::SequenceStart(properties) => {
                self.open(Content::Sequence(Vec::new()), Tag::Seq, properties, mark)?;
            }
            EventKind::MappingStart(properties) => {
                self.open(Content::Mapping(Vec::new()), Tag::Map, properties, mark)?;
            }
            EventKind::CollectionEnd => {
                self.open.pop();
            }
            EventKind::DocumentEnd | EventKind::StreamEnd => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        content: Content,
        default: Tag,
        properties: Properties<'a>,
        mark: Mark,
    ) -> Result<(), YamlProblem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(YamlProblem::TooDeep { limit: MAX_DEPTH });
        }
        let tag = properties.tag.filter(|name| name != "!").map_or(default, Tag::of_name);
        let node = self.add(tag, content, properties.anchor, mark)?;
        self.open.push(OpenCollection { node, key: None });
        Ok(())
    }

    fn add(
        &mut self,
        tag: Tag,
        content: Content,
        anchor: Option<&'a str>,
        mark: Mark,
    ) -> Result<NodeId, YamlProblem> {
        let (line, column) = place_of(mark);
        let node = self.graph.nodes.len();
        self.graph.nodes.push(GraphNode { tag, content, line, column });
        if let Some(name) = anchor
            && self.anchors.insert(name, node).is_some()
        {
            return Err(YamlProblem::DuplicateAnchor { name: name.to_owned() });
        }
        self.place(node);
        Ok(node)
    }

    /// Puts a node where the document has come to.
    fn place(&mut self, node: NodeId) {
        let Some(open) = self.open.last_mut() else {
            self.graph.root = Some(node);
            return;
        };
        match &mut self.graph.nodes[open.node].content {
            Content::Sequence(items) => items.push(node),
            Content::Mapping(pairs) => match open.key.take() {
                Some(key) => pairs.push((key, node)),
                None => open.key = Some(node),
            },
            Content::Scalar(_) => {}
        }
    }
}

/// Line and column, from 1.
fn place_of(mark: Mark) -> (u32, u32) {
    let number = |count: usize| u32::try_from(count.saturating_add(1)).unwrap_or(u32::MAX);
    (number(mark.line), number(mark.column))
}
