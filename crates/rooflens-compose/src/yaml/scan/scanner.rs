//! The tokens of a text, one after the other.

use std::collections::VecDeque;

use super::cursor::{BYTE_ORDER_MARK, Cursor, Mark, Separator, is_gap};
use super::simple_keys::{SimpleKey, SimpleKeys};
use super::token::{Token, TokenKind};
use super::{block, directive, plain, property, quoted};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem, Within};

/// Cuts a text into tokens. It reads ahead only while the next token may still be a key.
#[derive(Debug)]
pub(in crate::yaml) struct Scanner<'a> {
    cursor: Cursor<'a>,
    queue: VecDeque<Token<'a>>,
    /// Tokens given out.
    taken: usize,
    is_done: bool,
    /// How many brackets are open; none means block context.
    flow_level: usize,
    /// The columns of the open block collections.
    indents: Vec<usize>,
    /// Whether a key without `?` may begin here; in block context, whether a collection may.
    allows_key: bool,
    keys: SimpleKeys,
}

impl<'a> Scanner<'a> {
    pub(in crate::yaml) fn new(text: &'a str) -> Self {
        Self {
            cursor: Cursor::new(text),
            queue: VecDeque::new(),
            taken: 0,
            is_done: false,
            flow_level: 0,
            indents: Vec::new(),
            allows_key: true,
            keys: SimpleKeys::default(),
        }
    }

    /// The next token, which stays. After the last one, the end of the text is given again.
    pub(in crate::yaml) fn peek(&mut self) -> Result<&Token<'a>, SyntaxError> {
        while self.needs_more()? {
            self.fetch()?;
        }
        if self.queue.is_empty() {
            self.push(TokenKind::StreamEnd, self.cursor.mark());
        }
        Ok(&self.queue[0])
    }

    /// Takes the next token.
    pub(in crate::yaml) fn take(&mut self) -> Result<Token<'a>, SyntaxError> {
        self.peek()?;
        self.taken += 1;
        let end = Token::at(TokenKind::StreamEnd, self.cursor.mark());
        Ok(self.queue.pop_front().unwrap_or(end))
    }

    fn needs_more(&mut self) -> Result<bool, SyntaxError> {
        if self.is_done {
            return Ok(false);
        }
        if self.queue.is_empty() {
            return Ok(true);
        }
        self.keys.remove_stale(&self.cursor)?;
        Ok(self.keys.first_token() == Some(self.taken))
    }

    fn fetch(&mut self) -> Result<(), SyntaxError> {
        self.skip_to_token();
        self.keys.remove_stale(&self.cursor)?;
        self.unwind(Some(self.cursor.column()));
        let Some(first) = self.cursor.peek() else { return self.end() };
        if self.cursor.column() == 0 {
            if first == '%' {
                return self.directive();
            }
            if let Some(separator) = self.cursor.separator() {
                return self.separator(separator);
            }
        }
        let gap_follows = || is_gap(self.cursor.peek_second());
        match first {
            '[' => self.open_flow(TokenKind::FlowSequenceStart),
            '{' => self.open_flow(TokenKind::FlowMappingStart),
            ']' => self.close_flow(TokenKind::FlowSequenceEnd),
            '}' => self.close_flow(TokenKind::FlowMappingEnd),
            ',' => {
                self.allows_key = true;
                self.keys.remove(self.flow_level)?;
                self.push_indicator(TokenKind::FlowEntry);
                Ok(())
            }
            '-' if gap_follows() => self.block_entry(),
            '?' if self.in_flow() || gap_follows() => self.explicit_key(),
            ':' if self.in_flow() || gap_follows() => self.value(),
            '*' | '&' | '!' | '\'' | '"' => self.property_or_quoted(first),
            '|' | '>' if !self.in_flow() => {
                self.allows_key = true;
                self.keys.remove(self.flow_level)?;
                let mark = self.cursor.mark();
                let parent = self.indent();
                let text = block::block(&mut self.cursor, parent)?.into();
                self.push(TokenKind::Scalar { text, is_plain: false }, mark);
                Ok(())
            }
            '\t' => Err(SyntaxProblem::StrayTab.at(self.cursor.mark())),
            '|' | '>' | '%' | '@' | '`' => {
                Err(SyntaxProblem::CannotBegin { char: first }.at(self.cursor.mark()))
            }
            _ => self.plain(),
        }
    }

    fn in_flow(&self) -> bool {
        self.flow_level > 0
    }

    /// The column of the innermost block collection.
    fn indent(&self) -> Option<usize> {
        self.indents.last().copied()
    }

    fn push(&mut self, kind: TokenKind<'a>, mark: Mark) {
        self.queue.push_back(Token::at(kind, mark));
    }

    /// Passes a character that is a token.
    fn push_indicator(&mut self, kind: TokenKind<'a>) {
        let start = self.cursor.mark();
        self.cursor.advance();
        self.queue.push_back(Token { kind, start, end: self.cursor.mark() });
    }

    /// Skips spaces, comments and line breaks. Tabs are left, and refused.
    fn skip_to_token(&mut self) {
        if self.cursor.index() == 0 && self.cursor.peek() == Some(BYTE_ORDER_MARK) {
            self.cursor.advance();
        }
        loop {
            self.cursor.skip_spaces();
            self.cursor.skip_comment();
            if self.cursor.take_break().is_none() {
                return;
            }
            if !self.in_flow() {
                self.allows_key = true;
            }
        }
    }

    /// Ends the block collections right of a column; none ends all. In brackets nothing ends.
    fn unwind(&mut self, column: Option<usize>) {
        if self.in_flow() {
            return;
        }
        while self.indent() > column {
            self.indents.pop();
            self.push(TokenKind::BlockEnd, self.cursor.mark());
        }
    }

    /// Whether a collection begins at a column; then it is open.
    fn begins_collection(&mut self, column: usize) -> bool {
        let begins = self.indent() < Some(column);
        if begins {
            self.indents.push(column);
        }
        begins
    }

    /// Notes that the next token may begin a key.
    fn note_key(&mut self) -> Result<(), SyntaxError> {
        let mark = self.cursor.mark();
        let is_required = !self.in_flow() && self.indent() == Some(mark.column);
        if self.allows_key {
            self.keys.remove(self.flow_level)?;
            let token = self.taken + self.queue.len();
            let index = self.cursor.index();
            self.keys.push(SimpleKey { token, is_required, level: self.flow_level, index, mark });
        }
        Ok(())
    }

    fn leave_document(&mut self) -> Result<(), SyntaxError> {
        self.unwind(None);
        self.keys.remove(self.flow_level)?;
        self.allows_key = false;
        Ok(())
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        self.leave_document()?;
        self.keys.clear();
        self.push(TokenKind::StreamEnd, self.cursor.mark());
        self.is_done = true;
        Ok(())
    }

    fn directive(&mut self) -> Result<(), SyntaxError> {
        self.leave_document()?;
        let mark = self.cursor.mark();
        let directive = directive::directive(&mut self.cursor)?;
        self.push(TokenKind::Directive(directive), mark);
        Ok(())
    }

    fn separator(&mut self, separator: Separator) -> Result<(), SyntaxError> {
        self.leave_document()?;
        let kind = match separator {
            Separator::Start => TokenKind::DocumentStart,
            Separator::End => TokenKind::DocumentEnd,
        };
        self.push(kind, self.cursor.mark());
        self.cursor.advance_by(3);
        Ok(())
    }

    fn open_flow(&mut self, kind: TokenKind<'a>) -> Result<(), SyntaxError> {
        self.note_key()?;
        self.flow_level += 1;
        self.allows_key = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn close_flow(&mut self, kind: TokenKind<'a>) -> Result<(), SyntaxError> {
        self.keys.remove(self.flow_level)?;
        self.allows_key = false;
        self.push_indicator(kind);
        match self.flow_level.checked_sub(1) {
            Some(level) => self.flow_level = level,
            // No parser takes a bracket that closes nothing, so nothing after it matters.
            None => return self.end(),
        }
        Ok(())
    }

    /// A `-`. In brackets it is the parser that refuses it.
    fn block_entry(&mut self) -> Result<(), SyntaxError> {
        if !self.in_flow() {
            self.begin_block(SyntaxProblem::MisplacedItem, TokenKind::BlockSequenceStart)?;
        }
        self.allows_key = true;
        self.keys.remove(self.flow_level)?;
        self.push_indicator(TokenKind::BlockEntry);
        Ok(())
    }

    /// A `?`.
    fn explicit_key(&mut self) -> Result<(), SyntaxError> {
        if !self.in_flow() {
            self.begin_block(SyntaxProblem::MisplacedKey, TokenKind::BlockMappingStart)?;
        }
        self.allows_key = !self.in_flow();
        self.keys.remove(self.flow_level)?;
        self.push_indicator(TokenKind::Key);
        Ok(())
    }

    /// A `:`. The key before it, if it has no `?`, gets its token now.
    fn value(&mut self) -> Result<(), SyntaxError> {
        if let Some(key) = self.keys.take(self.flow_level) {
            let at = key.token.saturating_sub(self.taken).min(self.queue.len());
            self.queue.insert(at, Token::at(TokenKind::Key, key.mark));
            if !self.in_flow() && self.begins_collection(key.mark.column) {
                self.queue.insert(at, Token::at(TokenKind::BlockMappingStart, key.mark));
            }
            self.allows_key = false;
        } else {
            if !self.in_flow() {
                self.begin_block(SyntaxProblem::MisplacedValue, TokenKind::BlockMappingStart)?;
            }
            self.allows_key = !self.in_flow();
        }
        self.push_indicator(TokenKind::Value);
        Ok(())
    }

    /// Begins a block collection at an indicator, unless it is the next entry of an open one.
    fn begin_block(&mut self, misplaced: SyntaxProblem, kind: TokenKind<'a>) -> Result<(), SyntaxError> {
        let mark = self.cursor.mark();
        if !self.allows_key {
            return Err(misplaced.at(mark));
        }
        if self.begins_collection(mark.column) {
            self.push(kind, mark);
        }
        Ok(())
    }

    fn property_or_quoted(&mut self, first: char) -> Result<(), SyntaxError> {
        self.note_key()?;
        self.allows_key = false;
        let mark = self.cursor.mark();
        let cursor = &mut self.cursor;
        let kind = match first {
            '*' => TokenKind::Alias(property::anchor_name(cursor, Within::Alias)?),
            '&' => TokenKind::Anchor(property::anchor_name(cursor, Within::Anchor)?),
            '!' => TokenKind::Tag(Box::new(property::tag(cursor)?)),
            quote => TokenKind::Scalar { text: quoted::quoted(cursor, quote)?, is_plain: false },
        };
        self.push(kind, mark);
        Ok(())
    }

    fn plain(&mut self) -> Result<(), SyntaxError> {
        self.note_key()?;
        let mark = self.cursor.mark();
        let indent = self.indent().map_or(0, |column| column + 1);
        let in_flow = self.in_flow();
        let plain = plain::plain(&mut self.cursor, indent, in_flow);
        self.allows_key = plain.at_line_start;
        self.push(TokenKind::Scalar { text: plain.text, is_plain: true }, mark);
        Ok(())
    }
}
