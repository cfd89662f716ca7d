//! Documents, and the `%` lines before them.

use super::{Event, EventKind, ParsedEvent, Parser, State};
use crate::yaml::scan::{Directive, Token, TokenKind};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem};

/// What the handles `!` and `!!` stand for, unless a `%TAG` line says otherwise.
const DEFAULT_PREFIXES: [(&str, &str); 2] = [("!", "!"), ("!!", "tag:yaml.org,2002:")];

impl<'a> Parser<'a> {
    /// The first document needs no `---`.
    pub(super) fn first_document(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        if matches!(kind, TokenKind::Directive(_) | TokenKind::DocumentStart | TokenKind::StreamEnd) {
            return self.document();
        }
        let mark = *start;
        self.set_default_prefixes();
        self.after.push(State::DocumentEnd);
        self.state = State::FirstDocumentContent;
        Ok(Event { kind: EventKind::DocumentStart, mark })
    }

    pub(super) fn first_document_content(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        if matches!(kind, TokenKind::DocumentEnd) {
            return Err(SyntaxProblem::EndFirst.at(*start));
        }
        self.block_node()
    }

    pub(super) fn document(&mut self) -> ParsedEvent<'a> {
        while matches!(self.peek()?, TokenKind::DocumentEnd) {
            self.scanner.take()?;
        }
        let first = self.scanner.peek()?;
        let mark = first.start;
        if matches!(first.kind, TokenKind::StreamEnd) {
            self.state = State::StreamEnd;
            return self.stream_end();
        }
        let has_directives = matches!(first.kind, TokenKind::Directive(_));
        self.directives()?;
        if !matches!(self.peek()?, TokenKind::DocumentStart) {
            return self.misfit(|_, found| {
                if has_directives {
                    SyntaxProblem::DirectiveAlone { found }
                } else {
                    SyntaxProblem::AfterValue { found }
                }
            });
        }
        self.scanner.take()?;
        self.after.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        Ok(Event { kind: EventKind::DocumentStart, mark })
    }

    pub(super) fn document_content(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        match kind {
            TokenKind::Directive(_)
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::StreamEnd => {
                let event = self.empty(mark, State::DocumentEnd);
                self.node_done();
                Ok(event)
            }
            _ => self.block_node(),
        }
    }

    pub(super) fn document_end(&mut self) -> ParsedEvent<'a> {
        let Token { kind, start, .. } = self.scanner.peek()?;
        let mark = *start;
        if matches!(kind, TokenKind::DocumentEnd) {
            self.scanner.take()?;
        }
        self.state = State::Document;
        Ok(Event { kind: EventKind::DocumentEnd, mark })
    }

    pub(super) fn stream_end(&mut self) -> ParsedEvent<'a> {
        let mark = self.scanner.peek()?.start;
        Ok(Event { kind: EventKind::StreamEnd, mark })
    }

    fn directives(&mut self) -> Result<(), SyntaxError> {
        self.tag_prefixes.clear();
        let mut has_version = false;
        while matches!(self.peek()?, TokenKind::Directive(_)) {
            let token = self.scanner.take()?;
            let problem = match token.kind {
                TokenKind::Directive(Directive::Version { .. }) if has_version => {
                    SyntaxProblem::RepeatedVersion
                }
                TokenKind::Directive(Directive::Version { is_supported: false }) => SyntaxProblem::Version,
                TokenKind::Directive(Directive::Version { .. }) => {
                    has_version = true;
                    continue;
                }
                TokenKind::Directive(Directive::Tag { handle, prefix }) => {
                    if self.tag_prefixes.insert(handle, prefix.into_owned()).is_none() {
                        continue;
                    }
                    SyntaxProblem::RepeatedTagHandle { handle: handle.to_owned() }
                }
                _ => continue,
            };
            return Err(problem.at(token.start));
        }
        self.set_default_prefixes();
        Ok(())
    }

    fn set_default_prefixes(&mut self) {
        for (handle, prefix) in DEFAULT_PREFIXES {
            self.tag_prefixes.entry(handle).or_insert_with(|| prefix.to_owned());
        }
    }
}
