//! One node: an alias, or properties and content, either of which may be missing.

use super::{Event, EventKind, Opened, ParsedEvent, Parser, Properties, State};
use crate::yaml::scan::{Mark, TagName, Token, TokenKind};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem};

/// Where a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Flow,
    Block,
    /// The key or the value of a block mapping, where a list needs no indentation of its own.
    BlockPair,
}

impl<'a> Parser<'a> {
    pub(super) fn flow_node(&mut self) -> ParsedEvent<'a> {
        self.node(Context::Flow)
    }

    pub(super) fn block_node(&mut self) -> ParsedEvent<'a> {
        self.node(Context::Block)
    }

    pub(super) fn pair_node(&mut self) -> ParsedEvent<'a> {
        self.node(Context::BlockPair)
    }

    fn node(&mut self, context: Context) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        if let TokenKind::Alias(name) = *kind {
            self.scanner.take()?;
            self.node_done();
            return Ok(Event { kind: EventKind::Alias(name), mark });
        }
        let properties = self.properties()?;
        let in_block = context != Context::Flow;
        let (start, state, bracket): (fn(_) -> _, _, _) = match self.peek()? {
            TokenKind::BlockEntry if context == Context::BlockPair => {
                // No token opens this list, so none is taken.
                self.state = State::IndentlessItem;
                return Ok(Event { kind: EventKind::SequenceStart(properties), mark });
            }
            TokenKind::Scalar { .. } => return self.scalar(properties, mark),
            TokenKind::FlowSequenceStart => (EventKind::SequenceStart, State::FlowFirstItem, Some('[')),
            TokenKind::FlowMappingStart => (EventKind::MappingStart, State::FlowFirstKey, Some('{')),
            TokenKind::BlockSequenceStart if in_block => (EventKind::SequenceStart, State::BlockItem, None),
            TokenKind::BlockMappingStart if in_block => (EventKind::MappingStart, State::BlockKey, None),
            _ if properties.anchor.is_some() || properties.tag.is_some() => {
                self.node_done();
                let kind = EventKind::Scalar { properties, text: "".into(), is_plain: true };
                return Ok(Event { kind, mark });
            }
            _ => return self.misfit(|_, found| SyntaxProblem::NoValue { found }),
        };
        let opening = self.scanner.take()?.start;
        self.opened.push(Opened { mark: opening, bracket });
        self.state = state;
        Ok(Event { kind: start(properties), mark })
    }

    fn scalar(&mut self, properties: Properties<'a>, mark: Mark) -> ParsedEvent<'a> {
        let (text, is_plain) = match self.scanner.take()?.kind {
            TokenKind::Scalar { text, is_plain } => (text, is_plain),
            _ => ("".into(), true),
        };
        self.node_done();
        Ok(Event { kind: EventKind::Scalar { properties, text, is_plain }, mark })
    }

    /// An anchor and a tag, in either order.
    fn properties(&mut self) -> Result<Properties<'a>, SyntaxError> {
        let (mut anchor, mut tag) = (None, None);
        loop {
            match self.peek()? {
                TokenKind::Anchor(name) if anchor.is_none() => {
                    anchor = Some(*name);
                    self.scanner.take()?;
                }
                TokenKind::Tag(_) if tag.is_none() => tag = Some(self.scanner.take()?),
                _ => break,
            }
        }
        let tag = match tag {
            Some(Token { kind: TokenKind::Tag(name), start, .. }) => Some(self.whole_tag(*name, start)?),
            _ => None,
        };
        Ok(Properties { anchor, tag })
    }

    fn whole_tag(&self, name: TagName<'a>, mark: Mark) -> Result<String, SyntaxError> {
        let Some(handle) = name.handle else { return Ok(name.suffix.into_owned()) };
        let Some(prefix) = self.tag_prefixes.get(handle) else {
            return Err(SyntaxProblem::UnknownTagHandle { handle: handle.to_owned() }.at(mark));
        };
        Ok(format!("{prefix}{}", name.suffix))
    }
}
