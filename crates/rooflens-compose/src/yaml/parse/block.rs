//! Lists and mappings by indentation.

use super::{Event, EventKind, ParsedEvent, Parser, State};
use crate::yaml::scan::{Token, TokenKind};
use crate::yaml::syntax::SyntaxProblem;

impl<'a> Parser<'a> {
    pub(super) fn block_item(&mut self) -> ParsedEvent<'a> {
        match self.peek()? {
            TokenKind::BlockEntry => {
                let end = self.scanner.take()?.end;
                if matches!(self.peek()?, TokenKind::BlockEntry | TokenKind::BlockEnd) {
                    return Ok(self.empty(end, State::BlockItem));
                }
                self.after.push(State::BlockItem);
                self.block_node()
            }
            TokenKind::BlockEnd => self.close(),
            _ => self.misfit(|line, found| SyntaxProblem::ListItem { line, found }),
        }
    }

    pub(super) fn indentless_item(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, end } = self.scanner.peek()?;
        let (start, end) = (*start, *end);
        if !matches!(kind, TokenKind::BlockEntry) {
            self.node_done();
            return Ok(Event { kind: EventKind::CollectionEnd, mark: start });
        }
        self.scanner.take()?;
        match self.peek()? {
            TokenKind::BlockEntry | TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => {
                Ok(self.empty(end, State::IndentlessItem))
            }
            _ => {
                self.after.push(State::IndentlessItem);
                self.block_node()
            }
        }
    }

    pub(super) fn block_key(&mut self) -> ParsedEvent<'a> {
        match self.peek()? {
            TokenKind::Key => self.block_pair_part(State::BlockValue),
            TokenKind::BlockEnd => self.close(),
            _ => self.misfit(|line, found| SyntaxProblem::MappingKey { line, found }),
        }
    }

    pub(super) fn block_value(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        match kind {
            TokenKind::Value => self.block_pair_part(State::BlockKey),
            _ => Ok(self.empty(mark, State::BlockKey)),
        }
    }

    /// Takes the `?` or `:` and the node after it, which may be missing.
    fn block_pair_part(&mut self, then: State) -> ParsedEvent<'a> {
        let end = self.scanner.take()?.end;
        match self.peek()? {
            TokenKind::Key | TokenKind::Value | TokenKind::BlockEnd => Ok(self.empty(end, then)),
            _ => {
                self.after.push(then);
                self.pair_node()
            }
        }
    }
}
