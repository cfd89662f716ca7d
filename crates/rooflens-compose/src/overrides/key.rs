//! What stands before the `=`: the kind of an override, its key and its package.

use super::OverrideKind;
use super::error::{OverrideError, OverrideFault};
use crate::interpolation::Span;
use crate::interpolation::lexeme::{space_end, unsigned_end};

/// The part of an override before its value.
pub(super) struct Head {
    pub(super) kind: OverrideKind,
    pub(super) key: Span,
    pub(super) package: Option<Span>,
    /// Where the value begins; nothing where there is no `=`.
    pub(super) value: Option<usize>,
}

/// What a word of a key can be used for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    /// No word at all: the empty key, which Hydra allows.
    Empty,
    /// A name: may be part of a group's path.
    Name,
    /// A name with `$`, or several with dots.
    Path,
}

pub(super) fn head(text: &str) -> Result<Head, OverrideError> {
    let bytes = text.as_bytes();
    let (kind, start) = match bytes {
        [b'~', ..] => (OverrideKind::Delete, 1),
        [b'+', b'+', ..] => (OverrideKind::ForceAdd, 2),
        [b'+', ..] => (OverrideKind::Add, 1),
        _ => (OverrideKind::Change, 0),
    };
    let (word, mut at) = word(text, start)?;
    if word == Word::Name {
        while bytes.get(at) == Some(&b'/') {
            at = group_name(text, at + 1)?;
        }
    }
    let key = Span::new(start, at);
    let mut package = None;
    if bytes.get(at) == Some(&b'@') {
        let begin = at + 1;
        at = self::word(text, begin)?.1;
        package = Some(Span::new(begin, at));
    }
    let value = match bytes.get(at) {
        Some(b'=') => Some(space_end(bytes, at + 1)),
        None if kind == OverrideKind::Delete => None,
        _ => return Err(unexpected(text, at, "'='")),
    };
    Ok(Head { kind, key, package, value })
}

/// A word of a group's path, behind a slash: a name, and no dots after it.
fn group_name(text: &str, at: usize) -> Result<usize, OverrideError> {
    match word(text, at)? {
        (Word::Name, end) => Ok(end),
        (Word::Empty, _) => Err(unexpected(text, at, "the name of a group")),
        (Word::Path, end) => {
            let found = text[at..end].to_owned();
            let fault = OverrideFault::Unexpected { found, expected: "the name of a group" };
            Err(OverrideError::new(text, Span::new(at, end), fault))
        }
    }
}

/// The longest word at `at`. One that begins with a digit must have a dot in it.
fn word(text: &str, at: usize) -> Result<(Word, usize), OverrideError> {
    let bytes = text.as_bytes();
    let Some(mut end) = component(bytes, at) else {
        return Ok((Word::Empty, at));
    };
    let mut dotted = false;
    while bytes.get(end) == Some(&b'.') {
        match component(bytes, end + 1) {
            Some(next) => end = next,
            None => break,
        }
        dotted = true;
    }
    if !dotted && bytes[at].is_ascii_digit() {
        return Err(unexpected(text, at, "a name"));
    }
    let plain = !dotted && !bytes[at..end].contains(&b'$');
    Ok((if plain { Word::Name } else { Word::Path }, end))
}

fn component(text: &[u8], at: usize) -> Option<usize> {
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let continues = |byte: &&u8| begins(byte) || byte.is_ascii_digit() || **byte == b'-';
    if text.get(at).is_some_and(begins) {
        return Some(at + text[at..].iter().take_while(continues).count());
    }
    unsigned_end(text, at)
}

fn unexpected(text: &str, at: usize, expected: &'static str) -> OverrideError {
    let Some(character) = text[at..].chars().next() else {
        let fault = OverrideFault::Unfinished { expected };
        return OverrideError::new(text, Span::new(at, at), fault);
    };
    let span = Span::new(at, at + character.len_utf8());
    let fault = if matches!(character, '~' | '+' | '@' | ':' | '/' | '=') {
        OverrideFault::Unexpected { found: character.to_string(), expected }
    } else {
        OverrideFault::KeyCharacter { character }
    };
    OverrideError::new(text, span, fault)
}
