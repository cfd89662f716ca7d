//! An interpolation text cut into tokens. What a character means depends on where it stands, so the
//! tokenizer keeps a stack of modes.

use crate::grammar::{GrammarError, Lexeme, Span, Token, id_end, lexeme, space_end};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Literal,
    /// An odd number of backslashes and `${`.
    EscapedOpen,
    /// An even number of backslashes, escaped where what follows them says so.
    Backslashes,
    /// An odd number of backslashes and the quote that encloses them.
    EscapedQuote,
    InterpolationOpen,
    InterpolationClose,
    BraceOpen,
    BraceClose,
    QuoteOpen,
    QuoteClose,
    Comma,
    BracketOpen,
    BracketClose,
    Colon,
    Dot,
    /// A key that is no name: `0`, `a$b`, `é`.
    Key,
    Word(Lexeme),
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Text,
    Value,
    /// Between `${` and its `:` or `}`.
    Reference,
    Quoted(u8),
}

pub(super) fn tokens(text: &str, mode: Mode) -> Result<Vec<Token<Kind>>, GrammarError> {
    let mut tokens = Vec::new();
    let mut modes = vec![mode];
    let mut at = 0;
    while at < text.len() {
        let bytes = text.as_bytes();
        let mode = modes.last().copied().unwrap_or(Mode::Text);
        let token = match mode {
            Mode::Text => Some(literal(bytes, at, None)),
            Mode::Quoted(quote) => Some(literal(bytes, at, Some(quote))),
            Mode::Value => value(bytes, at),
            Mode::Reference => reference(bytes, at),
        };
        let Some((kind, end)) = token else {
            return Err(GrammarError::character(text, at, ""));
        };
        let span = Span::new(at, end);
        match kind {
            Kind::InterpolationOpen => modes.push(Mode::Reference),
            Kind::BraceOpen => modes.push(Mode::Value),
            Kind::QuoteOpen => modes.push(Mode::Quoted(bytes[at])),
            Kind::Colon if mode == Mode::Reference => {
                modes.pop();
                modes.push(Mode::Value);
            }
            Kind::InterpolationClose | Kind::BraceClose | Kind::QuoteClose => {
                modes.pop();
                if modes.is_empty() {
                    return Err(GrammarError::unexpected(text, span, "an opening brace before"));
                }
            }
            _ => {}
        }
        tokens.push(Token { kind, span });
        at = end;
    }
    tokens.push(Token { kind: Kind::End, span: Span::new(at, at) });
    Ok(tokens)
}

/// Text up to the next thing that is none: an interpolation, the enclosing quote, or backslashes
/// before one of them. Backslashes followed by other text are part of that text.
fn literal(text: &[u8], at: usize, quote: Option<u8>) -> (Kind, usize) {
    match text[at] {
        b'$' if text.get(at + 1) == Some(&b'{') => {
            return (Kind::InterpolationOpen, space_end(text, at + 2));
        }
        b'$' => return (Kind::Literal, at + 1),
        byte if quote == Some(byte) => return (Kind::QuoteClose, at + 1),
        _ => {}
    }
    let plain = |byte: &&u8| **byte != b'$' && Some(**byte) != quote;
    let run = text[at..].iter().take_while(plain).count();
    let slashes = text[at..at + run].iter().rev().take_while(|byte| **byte == b'\\').count();
    let end = at + run;
    if slashes < run {
        return (Kind::Literal, end - slashes);
    }
    let odd = slashes % 2 == 1;
    match text.get(end) {
        Some(b'$') if odd && text.get(end + 1) == Some(&b'{') => (Kind::EscapedOpen, end + 2),
        Some(byte) if odd && quote == Some(*byte) => (Kind::EscapedQuote, end + 1),
        _ if odd => (Kind::Literal, end),
        _ => (Kind::Backslashes, end),
    }
}

fn value(text: &[u8], at: usize) -> Option<(Kind, usize)> {
    let after_space = space_end(text, at);
    match text.get(after_space) {
        Some(b'}') => return Some((Kind::BraceClose, after_space + 1)),
        Some(b']') => return Some((Kind::BracketClose, after_space + 1)),
        Some(b',') => return Some((Kind::Comma, space_end(text, after_space + 1))),
        Some(b':') => return Some((Kind::Colon, space_end(text, after_space + 1))),
        _ => {}
    }
    match text[at] {
        b'$' if text.get(at + 1) == Some(&b'{') => Some((Kind::InterpolationOpen, space_end(text, at + 2))),
        b'{' => Some((Kind::BraceOpen, space_end(text, at + 1))),
        b'[' => Some((Kind::BracketOpen, space_end(text, at + 1))),
        b'\'' | b'"' => Some((Kind::QuoteOpen, at + 1)),
        _ => lexeme(text, at).map(|(word, end)| (Kind::Word(word), end)),
    }
}

fn reference(text: &[u8], at: usize) -> Option<(Kind, usize)> {
    let after_space = space_end(text, at);
    match text.get(after_space) {
        Some(b':') => return Some((Kind::Colon, space_end(text, after_space + 1))),
        Some(b'}') => return Some((Kind::InterpolationClose, after_space + 1)),
        _ => {}
    }
    match text[at] {
        b'$' if text.get(at + 1) == Some(&b'{') => {
            return Some((Kind::InterpolationOpen, space_end(text, at + 2)));
        }
        b'.' => return Some((Kind::Dot, at + 1)),
        b'[' => return Some((Kind::BracketOpen, at + 1)),
        b']' => return Some((Kind::BracketClose, at + 1)),
        _ => {}
    }
    let in_key = |byte: &&u8| !b"\\{}()[]:. \t'\"".contains(byte);
    let end = at + text[at..].iter().take_while(in_key).count();
    let begins_name = text[at].is_ascii_alphabetic() || text[at] == b'_';
    if begins_name && id_end(text, at) == end {
        return Some((Kind::Word(Lexeme::Id), end));
    }
    (end > at).then_some((Kind::Key, end))
}
