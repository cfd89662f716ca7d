//! Block texts: `|` keeps its lines, `>` joins them.

use super::cursor::{Cursor, ends_line, ends_word};
use crate::yaml::syntax::{SyntaxError, SyntaxProblem, Within};

/// What becomes of the line breaks at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

/// The line a block text begins with.
struct Header {
    is_folded: bool,
    chomping: Chomping,
    /// The indentation, where the header states it, relative to the collection around.
    increment: Option<usize>,
}

/// Reads a block text in a collection at a column; none at the top of the document.
pub(super) fn block(cursor: &mut Cursor<'_>, parent: Option<usize>) -> Result<String, SyntaxError> {
    let header = header(cursor)?;
    let least = parent.map_or(1, |column| column + 1);
    let mut breaks = String::new();
    let indent = match header.increment {
        Some(increment) => {
            let indent = least + increment - 1;
            take_breaks(cursor, indent, &mut breaks);
            indent
        }
        None => least.max(find_indent(cursor, &mut breaks)),
    };
    let has_line = |cursor: &Cursor<'_>| cursor.column() == indent && cursor.peek().is_some();
    let is_indented_further = |cursor: &Cursor<'_>| matches!(cursor.peek(), Some(' ' | '\t'));

    let mut text = String::new();
    let mut line_break = None;
    while has_line(cursor) {
        text.push_str(&breaks);
        breaks.clear();
        let was_indented_further = is_indented_further(cursor);
        text.push_str(cursor.take_line());
        line_break = cursor.take_break();
        take_breaks(cursor, indent, &mut breaks);
        if !has_line(cursor) {
            break;
        }
        let folds = header.is_folded
            && line_break == Some('\n')
            && !was_indented_further
            && !is_indented_further(cursor);
        if !folds {
            text.extend(line_break);
        } else if breaks.is_empty() {
            text.push(' ');
        }
    }
    if header.chomping != Chomping::Strip {
        text.extend(line_break);
    }
    if header.chomping == Chomping::Keep {
        text.push_str(&breaks);
    }
    Ok(text)
}

fn header(cursor: &mut Cursor<'_>) -> Result<Header, SyntaxError> {
    let is_folded = cursor.peek() == Some('>');
    cursor.advance();
    let mut header = Header { is_folded, chomping: Chomping::Clip, increment: None };
    // The two marks may stand in either order.
    if !take_chomping(cursor, &mut header) {
        take_increment(cursor, &mut header)?;
        take_chomping(cursor, &mut header);
    } else {
        take_increment(cursor, &mut header)?;
    }
    let expected = |expected, cursor: &Cursor<'_>| {
        let problem = SyntaxProblem::Expected { within: Within::BlockHeader, expected, found: cursor.peek() };
        Err(problem.at(cursor.mark()))
    };
    if !ends_word(cursor.peek()) {
        return expected("'+', '-', an indentation of 1 to 9 or the end of the line", cursor);
    }
    cursor.skip_spaces();
    cursor.skip_comment();
    if !ends_line(cursor.peek()) {
        return expected("a comment or the end of the line", cursor);
    }
    cursor.take_break();
    Ok(header)
}

fn take_chomping(cursor: &mut Cursor<'_>, header: &mut Header) -> bool {
    header.chomping = match cursor.peek() {
        Some('+') => Chomping::Keep,
        Some('-') => Chomping::Strip,
        _ => return false,
    };
    cursor.advance();
    true
}

fn take_increment(cursor: &mut Cursor<'_>, header: &mut Header) -> Result<(), SyntaxError> {
    match cursor.peek().and_then(|char| char.to_digit(10)) {
        None => return Ok(()),
        Some(0) => {
            let expected = "an indentation of 1 to 9";
            let problem = SyntaxProblem::Expected { within: Within::BlockHeader, expected, found: Some('0') };
            return Err(problem.at(cursor.mark()));
        }
        Some(digit) => header.increment = usize::try_from(digit).ok(),
    }
    cursor.advance();
    Ok(())
}

/// Goes to the first line with text, past empty ones, and gives the deepest column on the way.
fn find_indent(cursor: &mut Cursor<'_>, breaks: &mut String) -> usize {
    let mut deepest = 0;
    loop {
        cursor.skip_spaces();
        deepest = deepest.max(cursor.column());
        match cursor.take_break() {
            Some(char) => breaks.push(char),
            None => return deepest,
        }
    }
}

/// Goes to the next line with text, past empty ones, or as far into it as the indentation goes.
fn take_breaks(cursor: &mut Cursor<'_>, indent: usize, breaks: &mut String) {
    loop {
        cursor.skip_spaces_before(indent);
        match cursor.take_break() {
            Some(char) => breaks.push(char),
            None => return,
        }
    }
}
