//! What the parser finds, in the order of the text.

use std::borrow::Cow;

use crate::yaml::scan::Mark;

/// A step through a document, and where it stands.
#[derive(Debug)]
pub(in crate::yaml) struct Event<'a> {
    pub(in crate::yaml) kind: EventKind<'a>,
    /// The first character of the node, its tag and anchor included.
    pub(in crate::yaml) mark: Mark,
}

/// The kinds of steps.
#[derive(Debug)]
pub(in crate::yaml) enum EventKind<'a> {
    DocumentStart,
    DocumentEnd,
    StreamEnd,
    Alias(&'a str),
    Scalar {
        properties: Properties<'a>,
        text: Cow<'a, str>,
        is_plain: bool,
    },
    SequenceStart(Properties<'a>),
    MappingStart(Properties<'a>),
    /// The innermost sequence or mapping is complete.
    CollectionEnd,
}

/// What is written before a node.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Properties<'a> {
    pub(in crate::yaml) anchor: Option<&'a str>,
    /// The tag, its handle replaced.
    pub(in crate::yaml) tag: Option<String>,
}
