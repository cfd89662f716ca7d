//! Anchors, aliases and tags.

use std::borrow::Cow;

use super::cursor::{Cursor, ends_word, is_gap};
use super::fold::append;
use super::token::TagName;
use crate::yaml::syntax::{SyntaxError, SyntaxProblem, Within};

/// Whether a character may stand in the name of an anchor, a directive or a tag handle.
pub(super) fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_')
}

/// The error that something else stands here.
pub(super) fn expected<T>(
    cursor: &Cursor<'_>,
    within: Within,
    expected: &'static str,
) -> Result<T, SyntaxError> {
    Err(SyntaxProblem::Expected { within, expected, found: cursor.peek() }.at(cursor.mark()))
}

/// Reads the name after an `&` or a `*`.
pub(super) fn anchor_name<'a>(cursor: &mut Cursor<'a>, within: Within) -> Result<&'a str, SyntaxError> {
    cursor.advance();
    let name = cursor.take_while(is_name_char);
    let is_ended = |next| is_gap(next) || matches!(next, Some('?' | ':' | ',' | ']' | '}' | '%' | '@' | '`'));
    if name.is_empty() || !is_ended(cursor.peek()) {
        return expected(cursor, within, "a letter, a digit, '-' or '_'");
    }
    Ok(name)
}

/// Reads a tag: `!<whole>`, a lone `!`, `!suffix` or `!handle!suffix`.
pub(super) fn tag<'a>(cursor: &mut Cursor<'a>) -> Result<TagName<'a>, SyntaxError> {
    let name = match cursor.peek_second() {
        Some('<') => {
            cursor.advance_by(2);
            let suffix = uri(cursor, Within::Tag)?;
            if cursor.peek() != Some('>') {
                return expected(cursor, Within::Tag, "'>'");
            }
            cursor.advance();
            TagName { handle: None, suffix }
        }
        second if is_gap(second) => {
            cursor.advance();
            TagName { handle: None, suffix: Cow::Borrowed("!") }
        }
        _ => {
            let mut word = cursor.rest().chars().skip(1).take_while(|char| !ends_word(Some(*char)));
            let handle = if word.any(|char| char == '!') {
                tag_handle(cursor, Within::Tag)?
            } else {
                cursor.advance();
                "!"
            };
            TagName { handle: Some(handle), suffix: uri(cursor, Within::Tag)? }
        }
    };
    if !ends_word(cursor.peek()) {
        return expected(cursor, Within::Tag, "a space");
    }
    Ok(name)
}

/// Reads `!`, `!!` or `!name!`.
pub(super) fn tag_handle<'a>(cursor: &mut Cursor<'a>, within: Within) -> Result<&'a str, SyntaxError> {
    let text = cursor.rest();
    if cursor.peek() != Some('!') {
        return expected(cursor, within, "'!'");
    }
    cursor.advance();
    let mut length = 1;
    if cursor.peek() != Some(' ') {
        length += cursor.take_while(is_name_char).len() + 1;
        if cursor.peek() != Some('!') {
            return expected(cursor, within, "'!'");
        }
        cursor.advance();
    }
    Ok(text.get(..length).unwrap_or(text))
}

/// Reads the characters of a URI, its escapes decoded.
pub(super) fn uri<'a>(cursor: &mut Cursor<'a>, within: Within) -> Result<Cow<'a, str>, SyntaxError> {
    let is_uri_char =
        |char: char| char.is_ascii_alphanumeric() || (char != '%' && "-;/?:@&=+$,_.!~*'()[]".contains(char));
    let mut uri = Cow::Borrowed("");
    let mut is_empty = true;
    loop {
        let run = cursor.take_while(is_uri_char);
        append(&mut uri, run);
        is_empty &= run.is_empty();
        if cursor.peek() != Some('%') {
            break;
        }
        uri.to_mut().push_str(&uri_escapes(cursor, within)?);
        is_empty = false;
    }
    if is_empty {
        return expected(cursor, within, "a name");
    }
    Ok(uri)
}

/// Reads escapes that follow each other: together they are UTF-8.
fn uri_escapes(cursor: &mut Cursor<'_>, within: Within) -> Result<String, SyntaxError> {
    let start = cursor.mark();
    let mut bytes = Vec::new();
    while cursor.peek() == Some('%') {
        cursor.advance();
        let mark = cursor.mark();
        let mut byte = 0;
        for _ in 0..2 {
            let found = cursor.peek();
            let digit = found.and_then(|char| char.to_digit(16)).and_then(|digit| u8::try_from(digit).ok());
            let Some(digit) = digit else {
                let expected = "two hexadecimal digits after '%'";
                return Err(SyntaxProblem::Expected { within, expected, found }.at(mark));
            };
            byte = byte << 4 | digit;
            cursor.advance();
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| SyntaxProblem::TagBytes.at(start))
}
