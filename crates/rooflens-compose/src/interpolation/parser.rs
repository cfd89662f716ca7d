//! From tokens to parts, by recursive descent.

use super::token::Kind;
use super::{Interpolation, InterpolationElement, Name, NodeReference, PathKey, ResolverCall, TextPart};
use crate::grammar::{GrammarError, Lexeme, Span, Tokens, float_value, int_value, unescaped};

pub(super) type Parser<'a> = Tokens<'a, Kind>;

impl Parser<'_> {
    pub(super) fn config_value(mut self) -> Result<Vec<TextPart>, GrammarError> {
        let parts = self.text_parts()?;
        if parts.is_empty() {
            return Err(self.unexpected("text"));
        }
        self.expect(Kind::End, "the end")?;
        Ok(parts)
    }

    pub(super) fn single_element(mut self) -> Result<InterpolationElement, GrammarError> {
        let element = self.element()?;
        self.expect(Kind::End, "the end")?;
        Ok(element)
    }

    fn text_parts(&mut self) -> Result<Vec<TextPart>, GrammarError> {
        let mut parts = Vec::new();
        loop {
            let token = self.peek();
            let raw = token.span.of(self.text);
            let text = match token.kind {
                Kind::InterpolationOpen => {
                    parts.push(TextPart::Interpolation(self.interpolation()?));
                    continue;
                }
                Kind::Literal => raw.to_owned(),
                // Of the backslashes before `${` the last escapes it, the others each other.
                Kind::EscapedOpen => raw[raw.len() - (raw.len() / 2 + 1)..].to_owned(),
                Kind::EscapedQuote => unescaped(raw),
                Kind::Backslashes => {
                    let follower = self.tokens.get(self.next + 1).map(|token| token.kind);
                    match follower {
                        Some(Kind::InterpolationOpen | Kind::QuoteClose) => unescaped(raw),
                        _ => raw.to_owned(),
                    }
                }
                _ => return Ok(parts),
            };
            self.next += 1;
            push_text(&mut parts, &text);
        }
    }

    fn interpolation(&mut self) -> Result<Interpolation, GrammarError> {
        self.nested(Self::reference)
    }

    /// From `${` to its end; only its `:` or `}` says whether it is a resolver or a node.
    fn reference(&mut self) -> Result<Interpolation, GrammarError> {
        self.expect(Kind::InterpolationOpen, "'${'")?;
        let mut dots = 0;
        while self.take(Kind::Dot) {
            dots += 1;
        }
        let mut keys = vec![self.path_key(true)?];
        let mut nameable = dots == 0 && self.can_name_resolver(&keys[0]);
        loop {
            match self.peek().kind {
                Kind::Dot | Kind::BracketOpen => {
                    let key = self.path_key(false)?;
                    nameable = nameable && self.can_name_resolver(&key);
                    keys.push(key);
                }
                Kind::Colon if nameable => {
                    self.next += 1;
                    let arguments = self.sequence(Kind::BraceClose)?;
                    self.expect(Kind::BraceClose, "',' or '}'")?;
                    let name = keys.into_iter().map(|key| key.name).collect();
                    return Ok(Interpolation::Resolver(ResolverCall { name, arguments }));
                }
                Kind::InterpolationClose => {
                    self.next += 1;
                    return Ok(Interpolation::Node(NodeReference { dots, keys }));
                }
                _ if nameable => return Err(self.unexpected("'.', '[', ':' or '}'")),
                _ => return Err(self.unexpected("'.', '[' or '}'")),
            }
        }
    }

    /// Whether the key just read may be a word of a resolver's name: `foo`, but not `0` or `[foo]`.
    fn can_name_resolver(&self, key: &PathKey) -> bool {
        let last = self.next.checked_sub(1).and_then(|last| self.tokens.get(last));
        let plain = last.is_some_and(|token| token.kind == Kind::Word(Lexeme::Id));
        !key.bracketed && (plain || matches!(key.name, Name::Interpolation(_)))
    }

    /// A key: `a` or `[a]` where it is the first, `.a` or `[a]` after that.
    fn path_key(&mut self, first: bool) -> Result<PathKey, GrammarError> {
        let bracketed = self.take(Kind::BracketOpen);
        if !bracketed && !first {
            self.expect(Kind::Dot, "'.' or '['")?;
        }
        let token = self.peek();
        let name = match token.kind {
            Kind::InterpolationOpen => Name::Interpolation(Box::new(self.interpolation()?)),
            Kind::Key | Kind::Word(Lexeme::Id) => {
                self.next += 1;
                Name::Text(token.span.of(self.text).to_owned())
            }
            _ => return Err(self.unexpected("a key")),
        };
        if bracketed {
            self.expect(Kind::BracketClose, "']'")?;
        }
        Ok(PathKey { name, bracketed })
    }

    /// Elements between commas. An element left out counts as empty text.
    fn sequence(&mut self, close: Kind) -> Result<Vec<InterpolationElement>, GrammarError> {
        let mut elements = Vec::new();
        if self.peek().kind == close {
            return Ok(elements);
        }
        loop {
            let is_empty = self.peek().kind == Kind::Comma || self.peek().kind == close;
            elements.push(if is_empty { InterpolationElement::Text(String::new()) } else { self.element()? });
            if !self.take(Kind::Comma) {
                return Ok(elements);
            }
        }
    }

    fn element(&mut self) -> Result<InterpolationElement, GrammarError> {
        match self.peek().kind {
            Kind::QuoteOpen => {
                self.next += 1;
                let parts = self.text_parts()?;
                self.expect(Kind::QuoteClose, "the closing quote")?;
                Ok(InterpolationElement::Quoted(parts))
            }
            Kind::BracketOpen => self.nested(|parser| {
                parser.next += 1;
                let items = parser.sequence(Kind::BracketClose)?;
                parser.expect(Kind::BracketClose, "',' or ']'")?;
                Ok(InterpolationElement::List(items))
            }),
            Kind::BraceOpen => self.nested(Self::mapping),
            _ => self.primitive(true),
        }
    }

    fn mapping(&mut self) -> Result<InterpolationElement, GrammarError> {
        self.next += 1;
        let mut pairs = Vec::new();
        if !self.take(Kind::BraceClose) {
            loop {
                let key = self.primitive(false)?;
                self.expect(Kind::Colon, "':'")?;
                pairs.push((key, self.element()?));
                if !self.take(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::BraceClose, "',' or '}'")?;
        }
        Ok(InterpolationElement::Map(pairs))
    }

    /// Words one after the other. A lone one has a type; several are text. A key has neither colons
    /// nor interpolations in it.
    fn primitive(&mut self, is_value: bool) -> Result<InterpolationElement, GrammarError> {
        let first = self.peek();
        let begin = self.next;
        let mut parts = Vec::new();
        loop {
            let token = self.peek();
            let raw = token.span.of(self.text);
            match token.kind {
                Kind::InterpolationOpen if is_value => {
                    parts.push(TextPart::Interpolation(self.interpolation()?));
                    continue;
                }
                Kind::Word(Lexeme::Escapes) => push_text(&mut parts, &unescaped(raw)),
                Kind::Word(_) => push_text(&mut parts, raw),
                Kind::Colon if is_value => push_text(&mut parts, raw),
                _ => break,
            }
            self.next += 1;
        }
        if parts.is_empty() {
            return Err(self.unexpected(if is_value { "an element" } else { "an unquoted key" }));
        }
        if let (Kind::Word(word), 1) = (first.kind, self.next - begin)
            && let Some(element) = self.typed(word, first.span)?
        {
            return Ok(element);
        }
        Ok(match parts.pop() {
            Some(TextPart::Text(text)) if parts.is_empty() => InterpolationElement::Text(text),
            Some(TextPart::Interpolation(lone)) if parts.is_empty() => {
                InterpolationElement::Interpolation(lone)
            }
            last => {
                parts.extend(last);
                InterpolationElement::Joined(parts)
            }
        })
    }

    /// The value of a lone word; nothing where it is text.
    fn typed(&self, word: Lexeme, span: Span) -> Result<Option<InterpolationElement>, GrammarError> {
        let raw = span.of(self.text);
        Ok(match word {
            Lexeme::Null => Some(InterpolationElement::Null),
            Lexeme::Bool => Some(InterpolationElement::Bool(raw.eq_ignore_ascii_case("true"))),
            Lexeme::Float => float_value(raw).map(InterpolationElement::Float),
            Lexeme::Int => Some(InterpolationElement::Int(int_value(raw))),
            Lexeme::Space => {
                let message = "an element of only spaces needs quotes";
                return Err(GrammarError::new(self.text, span, message));
            }
            Lexeme::Id | Lexeme::Char | Lexeme::Escapes => None,
        })
    }
}

/// Adds text to the parts, to the last of them where that is text too.
fn push_text(parts: &mut Vec<TextPart>, addition: &str) {
    match parts.last_mut() {
        Some(TextPart::Text(text)) => text.push_str(addition),
        _ => parts.push(TextPart::Text(addition.to_owned())),
    }
}
