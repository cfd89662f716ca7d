//! The document as a graph: anchored nodes are shared, tags are resolved, nothing is built yet.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::MAX_DEPTH;
use super::dialect::Dialect;
use super::error::{YamlError, YamlProblem};
use super::implicit;
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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    check_characters(text, file)?;
    let options = granit_parser::options! {
        emit_comments: true,
        max_buffered_comment_events: usize::MAX,
        emit_anchor_events: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    let mut reading = Reading::new(text, file);
    let mut dialect = Dialect::new(text);
    if dialect.ends_first() {
        return Err(error_at(YamlProblem::EndFirst, file, text, 0));
    }
    for step in Parser::new_from_str_with_options(text, options) {
        let (event, span) = step.map_err(|error| reading.syntax(&error))?;
        dialect.check(&event, span).map_err(|problem| reading.error(problem, span))?;
        reading.take(event, span)?;
    }
    if let Some(at) = dialect.stray_tab() {
        return Err(error_at(YamlProblem::StrayTab, file, text, at));
    }
    Ok(reading.graph)
}

/// A collection that is still open.
struct OpenCollection {
    node: NodeId,
    /// The key that waits for its value.
    key: Option<NodeId>,
}

struct Reading<'a> {
    text: &'a str,
    file: &'a Arc<str>,
    graph: Graph,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, NodeId>,
    anchor_names: HashSet<String>,
    documents: usize,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, file: &'a Arc<str>) -> Self {
        Self {
            text,
            file,
            graph: Graph::default(),
            open: Vec::new(),
            anchors: HashMap::new(),
            anchor_names: HashSet::new(),
            documents: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), YamlError> {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(self.error(YamlProblem::SecondDocument, span));
                }
            }
            Event::Alias(anchor) => {
                if let Some(node) = self.anchors.get(&anchor).copied() {
                    self.place(node);
                }
            }
            Event::Anchor(_, name) => self.check_anchor(&name, span)?,
            Event::Scalar(value, style, anchor, tag) => {
                let value = without_phantom_break(&value, style, span, self.text);
                let explicit = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
                let tag = match explicit {
                    // A lone `!` asks for the type the text would have unquoted.
                    Some(name) if name != "!" => Tag::of_name(name),
                    None if style != ScalarStyle::Plain => Tag::Str,
                    _ => implicit::load_tag(value),
                };
                let content = Content::Scalar(value.to_owned());
                self.add(tag, content, anchor, span);
            }
            Event::SequenceStart(_, anchor, tag) => {
                let explicit = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
                self.open(Content::Sequence(Vec::new()), Tag::Seq, explicit, anchor, span)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                let explicit = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
                self.open(Content::Mapping(Vec::new()), Tag::Map, explicit, anchor, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        content: Content,
        default: Tag,
        explicit: Option<String>,
        anchor: usize,
        span: Span,
    ) -> Result<(), YamlError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(YamlProblem::TooDeep { limit: MAX_DEPTH }, span));
        }
        let tag = explicit.filter(|name| name != "!").map_or(default, Tag::of_name);
        let node = self.add(tag, content, anchor, span);
        self.open.push(OpenCollection { node, key: None });
        Ok(())
    }

    fn add(&mut self, tag: Tag, content: Content, anchor: usize, span: Span) -> NodeId {
        let (line, column) = place_of(span);
        let node = self.graph.nodes.len();
        self.graph.nodes.push(GraphNode { tag, content, line, column });
        if anchor != 0 {
            self.anchors.insert(anchor, node);
        }
        self.place(node);
        node
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

    fn check_anchor(&mut self, name: &str, span: Span) -> Result<(), YamlError> {
        let allowed = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if !name.chars().all(allowed) {
            return Err(self.error(YamlProblem::AnchorName { name: name.to_owned() }, span));
        }
        if !self.anchor_names.insert(name.to_owned()) {
            return Err(self.error(YamlProblem::DuplicateAnchor { name: name.to_owned() }, span));
        }
        Ok(())
    }

    fn error(&self, problem: YamlProblem, span: Span) -> YamlError {
        let (line, column) = place_of(span);
        YamlError::new(problem, self.file, self.text, line, column)
    }

    fn syntax(&self, error: &ScanError) -> YamlError {
        let problem = YamlProblem::Syntax { message: error.info() };
        self.error(problem, Span::empty(*error.marker()))
    }
}

fn place_of(span: Span) -> (u32, u32) {
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (number(span.start.line()), number(span.start.col().saturating_add(1)))
}

/// `PyYAML` ends a block scalar that runs into the end of the file without a line break.
fn without_phantom_break<'v>(value: &'v str, style: ScalarStyle, span: Span, text: &str) -> &'v str {
    let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
    let at_end = span.end.byte_offset().is_some_and(|end| end == text.len());
    if !is_block || !at_end {
        return value;
    }
    let last_line = text.rsplit('\n').next().unwrap_or("");
    let last_read = value.trim_end_matches('\n').rsplit('\n').next().unwrap_or("");
    let has_text = !last_line.trim_matches(' ').is_empty();
    // A last line of spaces counts only where it is indented further than the block.
    let has_spaces = !last_read.is_empty() && last_line.ends_with(last_read);
    if has_text || has_spaces { value.strip_suffix('\n').unwrap_or(value) } else { value }
}

/// Refuses what `PyYAML`'s reader refuses: control characters; and a mark it would keep but we would lose.
fn check_characters(text: &str, file: &Arc<str>) -> Result<(), YamlError> {
    let allowed = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    // The event parser drops a byte order mark at the start of a line, where `PyYAML` keeps it.
    let inner_mark = text.find("\n\u{feff}").map(|at| (at + 1, '\u{feff}'));
    let forbidden = text.char_indices().find(|(_, char)| !allowed(*char));
    let Some((at, char)) = forbidden.or(inner_mark) else {
        return Ok(());
    };
    Err(error_at(YamlProblem::Character { code: u32::from(char) }, file, text, at))
}

fn error_at(problem: YamlProblem, file: &Arc<str>, text: &str, at: usize) -> YamlError {
    let before = &text[..at];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    YamlError::new(problem, file, text, number(line), number(column))
}
