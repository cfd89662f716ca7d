//! The value of an override: cut into tokens, then read by recursive descent.

use indexmap::IndexMap;

use super::OverrideValue;
use super::element::Element;
use super::sweep::{Sweep, call};
use crate::grammar::{
    GrammarError, Lexeme, Span, Token, Tokens, float_value, int_value, lexeme, space_end, unescaped,
};

/// What a token is. Spaces around punctuation belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ParenOpen,
    ParenClose,
    BracketOpen,
    BracketClose,
    BraceOpen,
    BraceClose,
    Comma,
    Colon,
    Equal,
    /// `'…'` or `"…"`, the quotes included.
    Quoted,
    /// `${…}`, to the first brace that closes.
    Interpolation,
    Word(Lexeme),
    End,
}

type Parser<'a> = Tokens<'a, Kind>;

pub(super) fn value(text: &str, at: usize) -> Result<OverrideValue, GrammarError> {
    let mut parser = Parser::new(text, tokens(text, at)?);
    if parser.take(Kind::End) {
        return Ok(OverrideValue::Element(Element::Str(String::new())));
    }
    if parser.peek().kind == Kind::Word(Lexeme::Id) && parser.follower() == Kind::ParenOpen {
        return Ok(OverrideValue::Sweep(parser.call()?));
    }
    let mut items = vec![parser.element()?];
    while parser.take(Kind::Comma) {
        items.push(parser.element()?);
    }
    parser.expect(Kind::End, "',' or the end of the value")?;
    Ok(match items.len() {
        1 => OverrideValue::Element(items.remove(0)),
        _ => OverrideValue::Sweep(Sweep::Choice { items, simple: true }),
    })
}

impl Parser<'_> {
    fn follower(&self) -> Kind {
        self.tokens.get(self.next + 1).map_or(Kind::End, |token| token.kind)
    }

    fn element(&mut self) -> Result<Element, GrammarError> {
        let token = self.peek();
        match token.kind {
            Kind::Quoted => {
                self.next += 1;
                Ok(Element::quoted(token.span.of(self.text)))
            }
            Kind::BracketOpen => self.nested(Self::list),
            Kind::BraceOpen => self.nested(Self::mapping),
            _ => self.primitive(true),
        }
    }

    fn list(&mut self) -> Result<Element, GrammarError> {
        self.next += 1;
        let mut items = Vec::new();
        if !self.take(Kind::BracketClose) {
            items.push(self.element()?);
            while self.take(Kind::Comma) {
                items.push(self.element()?);
            }
            self.expect(Kind::BracketClose, "',' or ']'")?;
        }
        Ok(Element::List(items))
    }

    /// Of two equal keys the first gives the place and the form, the last the value.
    fn mapping(&mut self) -> Result<Element, GrammarError> {
        self.next += 1;
        let mut pairs = IndexMap::new();
        if self.take(Kind::BraceClose) {
            return Ok(Element::Map(pairs));
        }
        loop {
            let place = self.peek().span;
            let key = self.primitive(false)?.into_key();
            let key = key.ok_or_else(|| GrammarError::new(self.text, place, "null cannot be a key"))?;
            self.expect(Kind::Colon, "':'")?;
            pairs.insert(key, self.element()?);
            if !self.take(Kind::Comma) {
                self.expect(Kind::BraceClose, "',' or '}'")?;
                return Ok(Element::Map(pairs));
            }
        }
    }

    fn call(&mut self) -> Result<Sweep, GrammarError> {
        let name = self.peek().span;
        self.next += 2;
        let mut arguments = Vec::new();
        if !self.take(Kind::ParenClose) {
            loop {
                let argument = self.peek();
                let is_named = argument.kind == Kind::Word(Lexeme::Id) && self.follower() == Kind::Equal;
                self.next += if is_named { 2 } else { 0 };
                arguments.push((is_named.then(|| argument.span.of(self.text)), self.element()?));
                if !self.take(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::ParenClose, "',' or ')'")?;
        }
        self.expect(Kind::End, "the end of the value")?;
        call(name.of(self.text), arguments).map_err(|message| GrammarError::new(self.text, name, message))
    }

    /// Words one after the other. A lone one has a type; several are text, without the spaces at its
    /// ends. A key has neither colons nor interpolations in it.
    fn primitive(&mut self, is_value: bool) -> Result<Element, GrammarError> {
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
            [word] => Ok(self.typed(*word)),
            words => Ok(Element::Str(words.iter().map(|word| self.plain(*word)).collect())),
        }
    }

    fn plain(&self, word: Token<Kind>) -> String {
        let raw = word.span.of(self.text);
        match word.kind {
            Kind::Word(Lexeme::Escapes) => unescaped(raw),
            _ => raw.to_owned(),
        }
    }

    fn typed(&self, word: Token<Kind>) -> Element {
        let raw = word.span.of(self.text);
        match word.kind {
            Kind::Word(Lexeme::Null) => Element::Null,
            Kind::Word(Lexeme::Bool) => Element::Bool(raw.eq_ignore_ascii_case("true")),
            Kind::Word(Lexeme::Float) => match float_value(raw) {
                Some(float) => Element::Float(float),
                None => Element::Str(raw.to_owned()),
            },
            Kind::Word(Lexeme::Int) => Element::Int(int_value(raw)),
            _ => Element::Str(self.plain(word)),
        }
    }
}

fn tokens(text: &str, mut at: usize) -> Result<Vec<Token<Kind>>, GrammarError> {
    let bytes = text.as_bytes();
    // Behind the last closing brace nothing is an interpolation: without this, many `${` would
    // each look for one to the end.
    let last_brace = text.rfind('}').unwrap_or(0);
    let mut tokens = Vec::new();
    while at < text.len() {
        let found = punctuation(bytes, at)
            .or_else(|| interpolation(bytes, at, last_brace))
            .or_else(|| lexeme(bytes, at).map(|(word, end)| (Kind::Word(word), end)));
        let (kind, end) = match (found, bytes[at]) {
            (Some(found), _) => found,
            (None, b'\'' | b'"') => match quote_end(bytes, at) {
                Some(end) => (Kind::Quoted, end),
                None => {
                    let message = format!("the quote {} is never closed", char::from(bytes[at]));
                    return Err(GrammarError::new(text, Span::new(at, at + 1), message));
                }
            },
            (None, _) => {
                return Err(GrammarError::character(text, at, "; put the value in quotes: key='…'"));
            }
        };
        tokens.push(Token { kind, span: Span::new(at, end) });
        at = end;
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(at, at) });
    Ok(tokens)
}

fn punctuation(text: &[u8], at: usize) -> Option<(Kind, usize)> {
    let mark = space_end(text, at);
    let end = mark + 1;
    match text.get(mark)? {
        b'(' => return Some((Kind::ParenOpen, space_end(text, end))),
        b')' => return Some((Kind::ParenClose, end)),
        b']' => return Some((Kind::BracketClose, end)),
        b'}' => return Some((Kind::BraceClose, end)),
        b',' => return Some((Kind::Comma, space_end(text, end))),
        b':' => return Some((Kind::Colon, space_end(text, end))),
        b'=' => return Some((Kind::Equal, space_end(text, end))),
        _ => {}
    }
    match text[at] {
        b'[' => Some((Kind::BracketOpen, space_end(text, end))),
        b'{' => Some((Kind::BraceOpen, space_end(text, end))),
        _ => None,
    }
}

/// `${` and at least one character before the first `}`; nested braces are not understood.
fn interpolation(text: &[u8], at: usize, last_brace: usize) -> Option<(Kind, usize)> {
    let inside = at + 2;
    if !text[at..].starts_with(b"${") || last_brace <= inside {
        return None;
    }
    let length = text[inside..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then_some((Kind::Interpolation, inside + length + 1))
}

/// The end of the quoted text at `at`: a quote with an even number of backslashes before it.
fn quote_end(text: &[u8], at: usize) -> Option<usize> {
    let mut slashes = 0usize;
    for (index, byte) in text.iter().enumerate().skip(at + 1) {
        if *byte == text[at] && slashes.is_multiple_of(2) {
            return Some(index + 1);
        }
        slashes = if *byte == b'\\' { slashes + 1 } else { 0 };
    }
    None
}
