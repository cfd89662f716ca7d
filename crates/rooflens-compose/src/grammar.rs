//! What the grammars of overrides and interpolations share: the words of an unquoted value, places in a text, and the
//! error that shows one.

use crate::value::Int;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or("")
    }

    /// The column of its start, in characters from 1.
    pub(crate) fn column(self, text: &str) -> usize {
        text.get(..self.start).map_or(0, |before| before.chars().count()) + 1
    }
}

/// How many characters a message shows on each side of a place, or underlines.
const CONTEXT: usize = 40;
/// Brackets, braces, calls and interpolations inside each other; Python's own stack ends at about 200.
const DEPTH_LIMIT: usize = 200;

/// A text that its grammar does not accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}\n{excerpt}")]
pub struct GrammarError {
    /// The column it stands in, in characters from 1.
    pub(crate) column: usize,
    pub(crate) message: String,
    pub(crate) excerpt: String,
}

impl GrammarError {
    pub(crate) fn new(text: &str, span: Span, message: impl Into<String>) -> Self {
        Self { column: span.column(text), message: message.into(), excerpt: pointer(text, span) }
    }

    pub(crate) fn unexpected(text: &str, span: Span, expected: &str) -> Self {
        let message = match span.of(text) {
            "" => format!("unexpected end of text: expected {expected}"),
            found if found.trim() == "=" => format!(
                "expected {expected}, found '{found}'; escape it (\\=) or put the value in quotes: key='…'"
            ),
            found => format!("expected {expected}, found '{}'", shortened(found)),
        };
        Self::new(text, span, message)
    }

    pub(crate) fn character(text: &str, at: usize, hint: &str) -> Self {
        let character = text[at..].chars().next().unwrap_or_default();
        let span = Span::new(at, at + character.len_utf8());
        Self::new(text, span, format!("unexpected character {character:?}{hint}"))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Token<K> {
    pub(crate) kind: K,
    pub(crate) span: Span,
}

pub(crate) struct Tokens<'a, K> {
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token<K>>,
    pub(crate) next: usize,
    depth: usize,
}

impl<'a, K: Copy + PartialEq> Tokens<'a, K> {
    pub(crate) fn new(text: &'a str, tokens: Vec<Token<K>>) -> Self {
        Self { text, tokens, next: 0, depth: 0 }
    }

    pub(crate) fn peek(&self) -> Token<K> {
        self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    pub(crate) fn take(&mut self, kind: K) -> bool {
        let found = self.peek().kind == kind;
        self.next += usize::from(found);
        found
    }

    pub(crate) fn expect(&mut self, kind: K, expected: &'static str) -> Result<(), GrammarError> {
        if self.take(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    pub(crate) fn unexpected(&self, expected: &'static str) -> GrammarError {
        GrammarError::unexpected(self.text, self.peek().span, expected)
    }

    /// Reads something that may have more of its kind in it.
    pub(crate) fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, GrammarError>,
    ) -> Result<T, GrammarError> {
        if self.depth == DEPTH_LIMIT {
            let message = format!("nested deeper than {DEPTH_LIMIT} levels");
            return Err(GrammarError::new(self.text, self.peek().span, message));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}

fn pointer(text: &str, span: Span) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    let after = text.get(span.start..).unwrap_or("");
    let cut_before = before.char_indices().rev().nth(CONTEXT - 1).map_or(0, |(at, _)| at);
    let cut_after = after.char_indices().nth(2 * CONTEXT).map_or(after.len(), |(at, _)| at);
    // A line break or a tab would move the carets away from their place.
    let shown = |part: &str| part.replace(|char: char| char.is_control(), " ");
    let lead = if cut_before > 0 { "…" } else { "" };
    let tail = if cut_after < after.len() { "…" } else { "" };
    let left = format!("{lead}{}", shown(&before[cut_before..]));
    let carets = span.of(text).chars().take(CONTEXT).count().max(1);
    format!(
        "    {left}{}{tail}\n    {}{}",
        shown(&after[..cut_after]),
        " ".repeat(left.chars().count()),
        "^".repeat(carets)
    )
}

pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CONTEXT) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lexeme {
    /// `1.5`, `1e3`, `.5`, `-inf`, `nan`.
    Float,
    /// `10`, `+1_000`.
    Int,
    /// `true`, `FALSE`.
    Bool,
    /// `null`, in any case.
    Null,
    /// A letter or `_`, then letters, digits, `_` and `-`.
    Id,
    /// One of the other characters that need no quotes.
    Char,
    /// Backslash pairs: `\\`, `\,`, `\(` and so on.
    Escapes,
    Space,
}

pub(crate) fn lexeme(text: &[u8], at: usize) -> Option<(Lexeme, usize)> {
    let first = *text.get(at)?;
    match first {
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
            let end = id_end(text, at);
            Some((keyword(&text[at..end]), end))
        }
        b'0'..=b'9' => number(text, at),
        b'+' | b'-' | b'.' => number(text, at).or(Some((Lexeme::Char, at + 1))),
        b' ' | b'\t' => Some((Lexeme::Space, space_end(text, at))),
        b'\\' => {
            let end = escapes_end(text, at);
            Some(if end > at { (Lexeme::Escapes, end) } else { (Lexeme::Char, at + 1) })
        }
        b'/' | b'$' | b'%' | b'*' | b'@' | b'?' | b'|' => Some((Lexeme::Char, at + 1)),
        _ => None,
    }
}

pub(crate) fn space_end(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

pub(crate) fn id_end(text: &[u8], at: usize) -> usize {
    let continues = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    at + text[at..].iter().take_while(continues).count()
}

/// The end of the whole number without sign at `at`: `0`, or digits that begin with another.
pub(crate) fn unsigned_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'0' => Some(at + 1),
        b'1'..=b'9' => digits_end(text, at),
        _ => None,
    }
}

pub(crate) fn int_value(text: &str) -> Int {
    Int::parse(&text.replace('_', "")).unwrap_or(Int::Small(0))
}

pub(crate) fn float_value(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}

pub(crate) fn unescaped(pairs: &str) -> String {
    pairs.chars().skip(1).step_by(2).collect()
}

fn keyword(id: &[u8]) -> Lexeme {
    let is = |word: &[u8]| id.eq_ignore_ascii_case(word);
    if is(b"inf") || is(b"nan") {
        Lexeme::Float
    } else if is(b"true") || is(b"false") {
        Lexeme::Bool
    } else if is(b"null") {
        Lexeme::Null
    } else {
        Lexeme::Id
    }
}

fn number(text: &[u8], at: usize) -> Option<(Lexeme, usize)> {
    let signed = matches!(text[at], b'+' | b'-');
    let start = at + usize::from(signed);
    if signed && text.get(start..start + 3).is_some_and(|word| keyword(word) == Lexeme::Float) {
        return Some((Lexeme::Float, start + 3));
    }
    let whole = unsigned_end(text, start);
    let point = whole.unwrap_or(start);
    let fraction = (text.get(point) == Some(&b'.'))
        .then(|| digits_end(text, point + 1).or(whole.map(|end| end + 1)))
        .flatten();
    let mantissa = fraction.or(whole)?;
    if let Some(end) = exponent_end(text, mantissa).or(fraction) {
        return Some((Lexeme::Float, end));
    }
    Some((Lexeme::Int, mantissa))
}

fn exponent_end(text: &[u8], at: usize) -> Option<usize> {
    matches!(text.get(at)?, b'e' | b'E').then_some(())?;
    let signed = matches!(text.get(at + 1)?, b'+' | b'-');
    digits_end(text, at + 1 + usize::from(signed))
}

fn digits_end(text: &[u8], at: usize) -> Option<usize> {
    let digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    if !digit(at) {
        return None;
    }
    let mut end = at + 1;
    loop {
        if digit(end) {
            end += 1;
        } else if text.get(end) == Some(&b'_') && digit(end + 1) {
            end += 2;
        } else {
            return Some(end);
        }
    }
}

fn escapes_end(text: &[u8], at: usize) -> usize {
    let escaped = |byte: &u8| b"\\()[]{}:=, \t".contains(byte);
    let mut end = at;
    while text.get(end) == Some(&b'\\') && text.get(end + 1).is_some_and(escaped) {
        end += 2;
    }
    end
}
