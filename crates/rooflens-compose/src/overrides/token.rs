//! The value of an override cut into tokens.

use super::error::{OverrideError, OverrideFault};
use crate::interpolation::Span;
use crate::interpolation::lexeme::{Lexeme, lexeme, space_end};

/// What a token is. Spaces beside punctuation belong to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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

/// A token and its place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// All tokens of `text` from `at` on, with an end token after the last.
pub(super) fn tokens(text: &str, mut at: usize) -> Result<Vec<Token>, OverrideError> {
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
                    let fault = OverrideFault::UnclosedQuote { quote: char::from(bytes[at]) };
                    return Err(OverrideError::new(text, Span::new(at, at + 1), fault));
                }
            },
            (None, _) => {
                let character = text[at..].chars().next().unwrap_or_default();
                let span = Span::new(at, at + character.len_utf8());
                let fault = OverrideFault::ValueCharacter { character };
                return Err(OverrideError::new(text, span, fault));
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
