//! Texts in quotes. They may go on over any lines, however these are indented.

use std::borrow::Cow;

use super::cursor::{Cursor, Mark, is_break};
use super::fold::{append, push_folded};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem, Within};

/// Reads a text in quotes, from the opening quote to the closing one.
pub(super) fn quoted<'a>(cursor: &mut Cursor<'a>, quote: char) -> Result<Cow<'a, str>, SyntaxError> {
    let start = cursor.mark();
    let has_escapes = quote == '"';
    cursor.advance();
    let mut text = Cow::Borrowed("");
    loop {
        let run =
            cursor.take_while(|char| char != quote && !is_break(char) && !(has_escapes && char == '\\'));
        match cursor.peek() {
            None => return Err(SyntaxProblem::UnclosedQuote { quote }.at(start)),
            Some('\\') if has_escapes => {
                append(&mut text, run);
                escape(cursor, text.to_mut(), start)?;
            }
            Some(char) if char == quote => {
                append(&mut text, run);
                cursor.advance();
                if has_escapes || cursor.peek() != Some(quote) {
                    return Ok(text);
                }
                text.to_mut().push(quote);
                cursor.advance();
            }
            Some(_) => {
                append(&mut text, run.trim_end_matches([' ', '\t']));
                if let Some(first) = cursor.take_break() {
                    let further = further_breaks(cursor, start)?;
                    push_folded(text.to_mut(), first, &further);
                }
            }
        }
    }
}

/// Takes empty lines and the white space that the next text stands after.
fn further_breaks(cursor: &mut Cursor<'_>, start: Mark) -> Result<String, SyntaxError> {
    let mut breaks = String::new();
    loop {
        if cursor.separator().is_some() {
            return Err(SyntaxProblem::SeparatorInQuotes { line: start.line + 1 }.at(cursor.mark()));
        }
        cursor.take_while(|char| matches!(char, ' ' | '\t'));
        match cursor.take_break() {
            Some(char) => breaks.push(char),
            None => return Ok(breaks),
        }
    }
}

fn escape(cursor: &mut Cursor<'_>, text: &mut String, start: Mark) -> Result<(), SyntaxError> {
    cursor.advance();
    let Some(letter) = cursor.peek() else {
        return Err(SyntaxProblem::UnclosedQuote { quote: '"' }.at(start));
    };
    let plain = match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '\\' | '/' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        'x' => return code(cursor, text, 2),
        'u' => return code(cursor, text, 4),
        'U' => return code(cursor, text, 8),
        _ if is_break(letter) => {
            cursor.take_break();
            text.push_str(&further_breaks(cursor, start)?);
            return Ok(());
        }
        _ => return Err(SyntaxProblem::UnknownEscape { char: letter }.at(cursor.mark())),
    };
    text.push(plain);
    cursor.advance();
    Ok(())
}

/// Reads an escape that names a character by its code.
fn code(cursor: &mut Cursor<'_>, text: &mut String, digits: usize) -> Result<(), SyntaxError> {
    cursor.advance();
    let mark = cursor.mark();
    let mut rest = cursor.rest().chars();
    let mut code = 0u32;
    for _ in 0..digits {
        let found = rest.next();
        let Some(digit) = found.and_then(|char| char.to_digit(16)) else {
            let expected = match digits {
                2 => "two hexadecimal digits",
                4 => "four hexadecimal digits",
                _ => "eight hexadecimal digits",
            };
            return Err(SyntaxProblem::Expected { within: Within::Escape, expected, found }.at(mark));
        };
        code = code << 4 | digit;
    }
    let Some(char) = char::from_u32(code) else {
        return Err(SyntaxProblem::EscapeCode { code }.at(mark));
    };
    text.push(char);
    cursor.advance_by(digits);
    Ok(())
}
