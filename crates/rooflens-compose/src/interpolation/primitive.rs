//! Values without quotes: one word with a type, or several that are text.

use super::error::{GrammarError, GrammarFault};
use super::lexeme::{Lexeme, float_value, int_value, unescaped};
use super::parser::Parser;
use super::span::Span;
use super::token::Kind;
use super::tree::{InterpolationElement, TextPart};

impl Parser<'_> {
    /// Words one after the other. A lone one has a type; several are text. A key has neither colons
    /// nor interpolations in it.
    pub(super) fn primitive(&mut self, is_value: bool) -> Result<InterpolationElement, GrammarError> {
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
                Kind::Word(Lexeme::Escapes) => push_text(&mut parts, &unescaped(raw), token.span),
                Kind::Word(_) => push_text(&mut parts, raw, token.span),
                Kind::Colon if is_value => push_text(&mut parts, raw, token.span),
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
            Some(TextPart::Text { text, .. }) if parts.is_empty() => InterpolationElement::Text(text),
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
            Lexeme::Int => match int_value(raw) {
                Some(int) => Some(InterpolationElement::Int(int)),
                None => return Err(GrammarError::new(self.text, span, GrammarFault::LongNumber)),
            },
            Lexeme::Space => return Err(GrammarError::new(self.text, span, GrammarFault::Blank)),
            Lexeme::Id | Lexeme::Char | Lexeme::Escapes => None,
        })
    }
}

/// Adds text to the parts, to the last of them where that is text too.
pub(super) fn push_text(parts: &mut Vec<TextPart>, addition: &str, place: Span) {
    if let Some(TextPart::Text { text, span }) = parts.last_mut() {
        text.push_str(addition);
        span.end = place.end;
    } else {
        parts.push(TextPart::Text { text: addition.to_owned(), span: place });
    }
}
