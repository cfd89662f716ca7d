//! From tokens to a value, by recursive descent. Calls are carried out as they are read.

use std::collections::HashMap;

use super::call::{Arguments, CallFault, Function};
use super::element::{OverrideElement, Quote, QuotedString};
use super::error::{OverrideError, OverrideFault};
use super::shuffle::Generator;
use super::sweep::{ChoiceSweep, SweepExpression};
use super::text::unquoted;
use super::token::{Kind, Token, tokens};
use crate::interpolation::Span;
use crate::interpolation::lexeme::{Lexeme, float_value, int_value, unescaped};

/// Brackets, braces and calls inside each other; Python's own stack ends at about 250.
const DEPTH_LIMIT: usize = 200;

pub(super) struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    generator: Generator,
}

impl<'a> Parser<'a> {
    /// A parser of the value that begins at `at`.
    pub(super) fn new(text: &'a str, at: usize, seed: u64) -> Result<Self, OverrideError> {
        let tokens = tokens(text, at)?;
        Ok(Self { text, tokens, next: 0, depth: 0, generator: Generator::new(seed) })
    }

    /// The whole value: empty text, an element, or several with commas between them.
    pub(super) fn value(mut self) -> Result<OverrideElement, OverrideError> {
        if self.take(Kind::End) {
            return Ok(OverrideElement::Str(String::new()));
        }
        let first = self.element()?;
        if self.take(Kind::End) {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.take(Kind::Comma) {
            items.push(self.element()?);
        }
        self.expect(Kind::End, "',' or the end of the value")?;
        let choice = ChoiceSweep { items, simple: true, ..Default::default() };
        Ok(OverrideElement::Sweep(Box::new(SweepExpression::Choice(choice))))
    }

    fn peek(&self) -> Token {
        let end = Span::new(self.text.len(), self.text.len());
        self.tokens.get(self.next).copied().unwrap_or(Token { kind: Kind::End, span: end })
    }

    fn follower(&self) -> Kind {
        self.tokens.get(self.next + 1).map_or(Kind::End, |token| token.kind)
    }

    fn take(&mut self, kind: Kind) -> bool {
        let found = self.peek().kind == kind;
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, kind: Kind, expected: &'static str) -> Result<(), OverrideError> {
        if self.take(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> OverrideError {
        let token = self.peek();
        let fault = match token.kind {
            Kind::End => OverrideFault::Unfinished { expected },
            _ => OverrideFault::Unexpected { found: token.span.of(self.text).to_owned(), expected },
        };
        OverrideError::new(self.text, token.span, fault)
    }

    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, OverrideError>,
    ) -> Result<T, OverrideError> {
        if self.depth == DEPTH_LIMIT {
            let fault = OverrideFault::TooDeep { limit: DEPTH_LIMIT };
            return Err(OverrideError::new(self.text, self.peek().span, fault));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn element(&mut self) -> Result<OverrideElement, OverrideError> {
        let token = self.peek();
        match token.kind {
            Kind::Quoted => {
                self.next += 1;
                Ok(OverrideElement::Quoted(quoted(token.span.of(self.text))))
            }
            Kind::BracketOpen => self.nested(Self::list),
            Kind::BraceOpen => self.nested(Self::mapping),
            Kind::Word(Lexeme::Id) if self.follower() == Kind::ParenOpen => self.nested(Self::function),
            _ => self.primitive(true),
        }
    }

    fn list(&mut self) -> Result<OverrideElement, OverrideError> {
        self.next += 1;
        let mut items = Vec::new();
        if !self.take(Kind::BracketClose) {
            items.push(self.element()?);
            while self.take(Kind::Comma) {
                items.push(self.element()?);
            }
            self.expect(Kind::BracketClose, "',' or ']'")?;
        }
        Ok(OverrideElement::List(items))
    }

    /// Of two equal keys the first gives the place and the form, the last the value.
    fn mapping(&mut self) -> Result<OverrideElement, OverrideError> {
        self.next += 1;
        let mut pairs: Vec<(OverrideElement, OverrideElement)> = Vec::new();
        let mut places = HashMap::new();
        if self.take(Kind::BraceClose) {
            return Ok(OverrideElement::Map(pairs));
        }
        loop {
            let key = self.primitive(false)?;
            self.expect(Kind::Colon, "':'")?;
            let value = self.element()?;
            // NaN is equal to nothing, itself included.
            let undefined = matches!(&key, OverrideElement::Float(float) if float.is_nan());
            let place = *places.entry(key.as_key()).or_insert(pairs.len());
            if place < pairs.len() && !undefined {
                pairs[place].1 = value;
            } else {
                pairs.push((key, value));
            }
            if !self.take(Kind::Comma) {
                self.expect(Kind::BraceClose, "',' or '}'")?;
                return Ok(OverrideElement::Map(pairs));
            }
        }
    }

    fn function(&mut self) -> Result<OverrideElement, OverrideError> {
        let name = self.peek();
        self.next += 2;
        let mut arguments = Arguments::default();
        let mut fault = None;
        if !self.take(Kind::ParenClose) {
            loop {
                let argument = self.peek();
                if argument.kind == Kind::Word(Lexeme::Id) && self.follower() == Kind::Equal {
                    self.next += 2;
                    let element = self.element()?;
                    arguments.push_named(argument.span.of(self.text), element);
                } else {
                    let element = self.element()?;
                    fault = fault.or(arguments.push(element).err());
                }
                if !self.take(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::ParenClose, "',' or ')'")?;
        }
        let end = self.tokens[self.next - 1].span.end;
        self.called(name.span, end, arguments, fault)
    }

    fn called(
        &mut self,
        name: Span,
        end: usize,
        arguments: Arguments,
        fault: Option<CallFault>,
    ) -> Result<OverrideElement, OverrideError> {
        let text = self.text;
        let Some(function) = Function::named(name.of(text)) else {
            let fault = OverrideFault::UnknownFunction { name: name.of(text).to_owned() };
            return Err(OverrideError::new(text, name, fault));
        };
        let result = match fault {
            Some(fault) => Err(fault),
            None => function.call(arguments, &mut self.generator),
        };
        result.map_err(|fault| {
            let fault = OverrideFault::Call { function, fault };
            OverrideError::new(text, Span::new(name.start, end), fault)
        })
    }

    /// Words one after the other. A lone one has a type; several are text, without the spaces at its
    /// ends. A key has neither colons nor interpolations in it.
    fn primitive(&mut self, is_value: bool) -> Result<OverrideElement, OverrideError> {
        let begin = self.next;
        while match self.peek().kind {
            Kind::Word(_) => true,
            Kind::Colon | Kind::Interpolation => is_value,
            _ => false,
        } {
            self.next += 1;
        }
        let space = Kind::Word(Lexeme::Space);
        let mut words = &self.tokens[begin..self.next];
        if let [first, rest @ ..] = words {
            words = if first.kind == space { rest } else { words };
        }
        if let [rest @ .., last] = words {
            words = if last.kind == space { rest } else { words };
        }
        match words {
            [] if is_value => Err(self.unexpected("a value")),
            [] => Err(self.unexpected("a key without quotes")),
            [word] => self.typed(*word),
            words => Ok(OverrideElement::Str(words.iter().map(|word| self.plain(*word)).collect())),
        }
    }

    fn plain(&self, word: Token) -> String {
        let raw = word.span.of(self.text);
        match word.kind {
            Kind::Word(Lexeme::Escapes) => unescaped(raw),
            _ => raw.to_owned(),
        }
    }

    fn typed(&self, word: Token) -> Result<OverrideElement, OverrideError> {
        let raw = word.span.of(self.text);
        Ok(match word.kind {
            Kind::Word(Lexeme::Null) => OverrideElement::Null,
            Kind::Word(Lexeme::Bool) => OverrideElement::Bool(raw.eq_ignore_ascii_case("true")),
            Kind::Word(Lexeme::Float) => match float_value(raw) {
                Some(float) => OverrideElement::Float(float),
                None => OverrideElement::Str(raw.to_owned()),
            },
            Kind::Word(Lexeme::Int) => match int_value(raw) {
                Some(int) => OverrideElement::Int(int),
                None => {
                    return Err(OverrideError::new(self.text, word.span, OverrideFault::LongNumber));
                }
            },
            _ => OverrideElement::Str(self.plain(word)),
        })
    }
}

fn quoted(raw: &str) -> QuotedString {
    let quote = if raw.starts_with('"') { Quote::Double } else { Quote::Single };
    let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or("");
    QuotedString { text: unquoted(inside, quote.character()), quote }
}
