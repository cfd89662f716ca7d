//! Lines that begin with `%`.

use super::cursor::{Cursor, ends_line, ends_word};
use super::property::{expected, is_name_char, tag_handle, uri};
use super::token::Directive;
use crate::yaml::number::MAX_INT_DIGITS;
use crate::yaml::syntax::{SyntaxError, SyntaxProblem, Within};

/// Reads a directive and its line break.
pub(super) fn directive<'a>(cursor: &mut Cursor<'a>) -> Result<Directive<'a>, SyntaxError> {
    cursor.advance();
    let name = cursor.take_while(is_name_char);
    if name.is_empty() || !ends_word(cursor.peek()) {
        return expected(cursor, Within::Directive, "a letter, a digit, '-' or '_'");
    }
    let directive = match name {
        "YAML" => version(cursor)?,
        "TAG" => {
            cursor.skip_spaces();
            let handle = tag_handle(cursor, Within::Directive)?;
            if cursor.peek() != Some(' ') {
                return expected(cursor, Within::Directive, "a space");
            }
            cursor.skip_spaces();
            let prefix = uri(cursor, Within::Directive)?;
            if !ends_word(cursor.peek()) {
                return expected(cursor, Within::Directive, "a space");
            }
            Directive::Tag { handle, prefix }
        }
        _ => {
            cursor.take_line();
            Directive::Unknown
        }
    };
    cursor.skip_spaces();
    cursor.skip_comment();
    if !ends_line(cursor.peek()) {
        return expected(cursor, Within::Directive, "a comment or the end of the line");
    }
    cursor.take_break();
    Ok(directive)
}

fn version<'a>(cursor: &mut Cursor<'_>) -> Result<Directive<'a>, SyntaxError> {
    cursor.skip_spaces();
    let major = version_number(cursor)?;
    if cursor.peek() != Some('.') {
        return expected(cursor, Within::Directive, "a digit or '.'");
    }
    cursor.advance();
    version_number(cursor)?;
    if !ends_word(cursor.peek()) {
        return expected(cursor, Within::Directive, "a digit or a space");
    }
    Ok(Directive::Version { is_supported: major.trim_start_matches('0') == "1" })
}

fn version_number<'a>(cursor: &mut Cursor<'a>) -> Result<&'a str, SyntaxError> {
    let mark = cursor.mark();
    let digits = cursor.take_while(|char| char.is_ascii_digit());
    if digits.is_empty() {
        return expected(cursor, Within::Directive, "a digit");
    }
    if digits.len() > MAX_INT_DIGITS {
        return Err(SyntaxProblem::Version.at(mark));
    }
    Ok(digits)
}
