//! From tokens to events, by the grammar of `PyYAML`'s parser.
//!
//! The grammar needs one token of lookahead. What has to be done after the current node waits on a
//! stack, so deep documents do not deepen the thread's.

mod block;
mod document;
mod event;
mod flow;
mod node;

use std::collections::HashMap;

use super::scan::{Mark, Scanner, Token, TokenKind};
use super::syntax::{SyntaxError, SyntaxProblem};

pub(super) use event::{Event, EventKind, Properties};

type ParsedEvent<'a> = Result<Event<'a>, SyntaxError>;

/// What is to be read next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    FirstDocument,
    FirstDocumentContent,
    Document,
    DocumentContent,
    DocumentEnd,
    StreamEnd,
    BlockItem,
    /// An item of a list that stands at its key's own column.
    IndentlessItem,
    BlockKey,
    BlockValue,
    FlowFirstItem,
    FlowItem,
    /// `[a: b]` is a list of one mapping of one pair.
    PairKey,
    PairValue,
    PairEnd,
    FlowFirstKey,
    FlowKey,
    FlowValue,
    /// The value of a key without `:`.
    FlowNoValue,
}

/// Reads the events of a text.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    /// What follows the nodes that are open.
    after: Vec<State>,
    /// Where the open collections begin.
    opened: Vec<Opened>,
    tag_prefixes: HashMap<&'a str, String>,
}

/// A collection that is open, except the ones without indentation of their own.
#[derive(Debug, Clone, Copy)]
struct Opened {
    mark: Mark,
    /// Its bracket, if it has one.
    bracket: Option<char>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            scanner: Scanner::new(text),
            state: State::FirstDocument,
            after: Vec::new(),
            opened: Vec::new(),
            tag_prefixes: HashMap::new(),
        }
    }

    /// The next event; after the last one, the end again.
    pub(super) fn next(&mut self) -> ParsedEvent<'a> {
        match self.state {
            State::FirstDocument => self.first_document(),
            State::FirstDocumentContent => self.first_document_content(),
            State::Document => self.document(),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::StreamEnd => self.stream_end(),
            State::BlockItem => self.block_item(),
            State::IndentlessItem => self.indentless_item(),
            State::BlockKey => self.block_key(),
            State::BlockValue => self.block_value(),
            State::FlowFirstItem => self.flow_item(true),
            State::FlowItem => self.flow_item(false),
            State::PairKey => self.pair_key(),
            State::PairValue => self.pair_value(),
            State::PairEnd => self.pair_end(),
            State::FlowFirstKey => self.flow_key(true),
            State::FlowKey => self.flow_key(false),
            State::FlowValue => self.flow_value(),
            State::FlowNoValue => {
                let mark = self.scanner.peek()?.start;
                Ok(self.empty(mark, State::FlowKey))
            }
        }
    }

    /// The next token's kind.
    fn peek(&mut self) -> Result<&TokenKind<'a>, SyntaxError> {
        Ok(&self.scanner.peek()?.kind)
    }

    /// An empty value, after which the parser is in a state.
    fn empty(&mut self, mark: Mark, then: State) -> Event<'a> {
        self.state = then;
        let properties = Properties::default();
        Event { kind: EventKind::Scalar { properties, text: "".into(), is_plain: true }, mark }
    }

    /// Goes on after a node.
    fn node_done(&mut self) {
        self.state = self.after.pop().unwrap_or(State::StreamEnd);
    }

    /// Takes the token that closes the innermost collection.
    fn close(&mut self) -> ParsedEvent<'a> {
        let mark = self.scanner.take()?.start;
        self.opened.pop();
        self.node_done();
        Ok(Event { kind: EventKind::CollectionEnd, mark })
    }

    /// The error that the next token does not fit. Where the text or document ends in brackets, the
    /// bracket is the better place.
    fn misfit<T>(
        &mut self,
        problem: impl Fn(usize, &'static str) -> SyntaxProblem,
    ) -> Result<T, SyntaxError> {
        let opened = self.opened.last().copied();
        let Token { kind, start, .. } = self.scanner.peek()?;
        let ends = matches!(kind, TokenKind::StreamEnd | TokenKind::DocumentStart | TokenKind::DocumentEnd);
        if let Some(Opened { mark, bracket: Some(bracket) }) = opened
            && ends
        {
            return Err(SyntaxProblem::Unclosed { bracket }.at(mark));
        }
        let line = opened.map_or(0, |opened| opened.mark.line) + 1;
        Err(problem(line, kind.name()).at(*start))
    }
}
