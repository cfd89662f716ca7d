//! Lists in brackets and mappings in braces.

use super::{Event, EventKind, ParsedEvent, Parser, Properties, State};
use crate::yaml::scan::{Token, TokenKind};
use crate::yaml::syntax::SyntaxProblem;

impl<'a> Parser<'a> {
    pub(super) fn flow_item(&mut self, is_first: bool) -> ParsedEvent<'a> {
        if !is_first && !matches!(self.peek()?, TokenKind::FlowSequenceEnd) {
            if !matches!(self.peek()?, TokenKind::FlowEntry) {
                return self.misfit(|line, found| SyntaxProblem::BracketItem { line, found });
            }
            self.scanner.take()?;
        }
        let Token { kind, start, .. } = self.scanner.peek()?;
        match kind {
            TokenKind::FlowSequenceEnd => self.close(),
            TokenKind::Key => {
                let mark = *start;
                self.state = State::PairKey;
                Ok(Event { kind: EventKind::MappingStart(Properties::default()), mark })
            }
            _ => {
                self.after.push(State::FlowItem);
                self.flow_node()
            }
        }
    }

    pub(super) fn pair_key(&mut self) -> ParsedEvent<'a> {
        self.flow_pair_part(State::PairValue)
    }

    pub(super) fn pair_value(&mut self) -> ParsedEvent<'a> {
        self.flow_pair_value(State::PairEnd)
    }

    pub(super) fn pair_end(&mut self) -> ParsedEvent<'a> {
        let mark = self.scanner.peek()?.start;
        self.state = State::FlowItem;
        Ok(Event { kind: EventKind::CollectionEnd, mark })
    }

    pub(super) fn flow_key(&mut self, is_first: bool) -> ParsedEvent<'a> {
        if !is_first && !matches!(self.peek()?, TokenKind::FlowMappingEnd) {
            if !matches!(self.peek()?, TokenKind::FlowEntry) {
                return self.misfit(|line, found| SyntaxProblem::BracePair { line, found });
            }
            self.scanner.take()?;
        }
        match self.peek()? {
            TokenKind::FlowMappingEnd => self.close(),
            TokenKind::Key => self.flow_pair_part(State::FlowValue),
            _ => {
                self.after.push(State::FlowNoValue);
                self.flow_node()
            }
        }
    }

    pub(super) fn flow_value(&mut self) -> ParsedEvent<'a> {
        self.flow_pair_value(State::FlowKey)
    }

    fn flow_pair_value(&mut self, then: State) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        match kind {
            TokenKind::Value => self.flow_pair_part(then),
            _ => Ok(self.empty(mark, then)),
        }
    }

    /// Takes the `?` or `:` and the node after it, which may be missing.
    fn flow_pair_part(&mut self, then: State) -> ParsedEvent<'a> {
        let is_key = matches!(then, State::PairValue | State::FlowValue);
        let in_list = matches!(then, State::PairValue | State::PairEnd);
        let end = self.scanner.take()?.end;
        let is_empty = match self.peek()? {
            TokenKind::FlowEntry => true,
            TokenKind::Value => is_key,
            TokenKind::FlowSequenceEnd => in_list,
            TokenKind::FlowMappingEnd => !in_list,
            _ => false,
        };
        if is_empty {
            return Ok(self.empty(end, then));
        }
        self.after.push(then);
        self.flow_node()
    }
}
