//! What a text is made of.

use std::borrow::Cow;

use super::cursor::Mark;

/// A token and where it stands.
#[derive(Debug)]
pub(in crate::yaml) struct Token<'a> {
    pub(in crate::yaml) kind: TokenKind<'a>,
    pub(in crate::yaml) start: Mark,
    /// Where an empty value after a `-`, `?` or `:` stands; for other tokens the start again.
    pub(in crate::yaml) end: Mark,
}

impl<'a> Token<'a> {
    pub(super) fn at(kind: TokenKind<'a>, mark: Mark) -> Self {
        Self { kind, start: mark, end: mark }
    }
}

/// The kinds of tokens. Indentation shows as starts and ends of block collections, and a key has
/// its token in front even where it has no `?`.
#[derive(Debug)]
pub(in crate::yaml) enum TokenKind<'a> {
    StreamEnd,
    Directive(Directive<'a>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'a str),
    Anchor(&'a str),
    /// Boxed: tags are rare, and tokens are moved often.
    Tag(Box<TagName<'a>>),
    Scalar {
        text: Cow<'a, str>,
        is_plain: bool,
    },
}

impl TokenKind<'_> {
    /// What stands there, for messages.
    pub(in crate::yaml) fn name(&self) -> &'static str {
        match self {
            TokenKind::StreamEnd => "the end of the text",
            TokenKind::Directive(_) => "a directive",
            TokenKind::DocumentStart => "'---'",
            TokenKind::DocumentEnd => "'...'",
            TokenKind::BlockSequenceStart => "the beginning of a list",
            TokenKind::BlockMappingStart => "the beginning of a mapping",
            TokenKind::BlockEnd => "a line less indented",
            TokenKind::FlowSequenceStart => "'['",
            TokenKind::FlowSequenceEnd => "']'",
            TokenKind::FlowMappingStart => "'{'",
            TokenKind::FlowMappingEnd => "'}'",
            TokenKind::BlockEntry => "the '-' of a list item",
            TokenKind::FlowEntry => "','",
            TokenKind::Key => "a key",
            TokenKind::Value => "':'",
            TokenKind::Alias(_) => "an alias",
            TokenKind::Anchor(_) => "an anchor",
            TokenKind::Tag(_) => "a tag",
            TokenKind::Scalar { .. } => "a string",
        }
    }
}

/// A line that begins with `%`.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::yaml) enum Directive<'a> {
    /// `%YAML`; the minor version is not looked at.
    Version {
        is_supported: bool,
    },
    /// `%TAG`: what a handle stands for.
    Tag {
        handle: &'a str,
        prefix: Cow<'a, str>,
    },
    Unknown,
}

/// A tag as it is written.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::yaml) struct TagName<'a> {
    /// None where the tag is written whole, `!<…>`, and for a lone `!`.
    pub(in crate::yaml) handle: Option<&'a str>,
    pub(in crate::yaml) suffix: Cow<'a, str>,
}
