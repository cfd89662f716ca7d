//! The words of an unquoted value. Hydra's overrides and OmegaConf's resolver arguments share them.

use crate::value::Int;

/// A word of an unquoted value.
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
    /// Spaces and tabs.
    Space,
}

/// The longest digits Python reads as one whole number.
pub(crate) const MAX_INT_DIGITS: usize = 4300;

/// The longest word at `at`, with the byte after its last.
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

/// The end of the spaces and tabs at `at`.
pub(crate) fn space_end(text: &[u8], at: usize) -> usize {
    at + text[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// The end of the name at `at`, whose first character is known to begin one.
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

/// The value of a whole number's text; nothing where Python refuses it for its length.
pub(crate) fn int_value(text: &str) -> Option<Int> {
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => ("-", &text[1..]),
        Some(b'+') => ("", &text[1..]),
        _ => ("", text),
    };
    let digits = digits.replace('_', "");
    if digits.len() > MAX_INT_DIGITS {
        return None;
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(Int::Small(0));
    }
    let signed = format!("{sign}{digits}");
    Some(signed.parse().map_or(Int::Big(signed), Int::Small))
}

/// The value of a floating-point number's text.
pub(crate) fn float_value(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok()
}

/// A text with each backslash pair reduced to its second character.
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

/// The end of digits with single underscores between them.
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
