//! Texts without quotes.

use std::borrow::Cow;

use super::cursor::{Cursor, is_break, is_gap};
use super::fold::{append, push_folded};

/// A text without quotes.
pub(super) struct Plain<'a> {
    pub(super) text: Cow<'a, str>,
    /// Whether the cursor was left at the beginning of a line, where a key may stand.
    pub(super) at_line_start: bool,
}

/// Reads a text without quotes, whose first character is known to begin one. Outside brackets it
/// goes on over lines that are indented to `indent` at least.
pub(super) fn plain<'a>(cursor: &mut Cursor<'a>, indent: usize, in_flow: bool) -> Plain<'a> {
    let mut text = Cow::Borrowed("");
    let mut gap = String::new();
    let mut at_line_start = false;
    loop {
        let line = cursor.take_bytes(line_length(cursor.rest(), in_flow));
        if line.is_empty() {
            break;
        }
        if !gap.is_empty() {
            text.to_mut().push_str(&gap);
        }
        append(&mut text, line);
        cursor.skip_spaces();
        let Some(first_break) = cursor.take_break() else {
            at_line_start = false;
            break;
        };
        at_line_start = true;
        let Some(breaks) = further_breaks(cursor) else { break };
        if cursor.peek() == Some('#') || (!in_flow && cursor.column() < indent) {
            break;
        }
        gap.clear();
        push_folded(&mut gap, first_break, &breaks);
    }
    Plain { text, at_line_start }
}

/// Takes empty lines and the indentation after them; none where the document ends.
fn further_breaks(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut breaks = String::new();
    loop {
        if cursor.separator().is_some() {
            return None;
        }
        cursor.skip_spaces();
        match cursor.take_break() {
            Some(char) => breaks.push(char),
            None => return Some(breaks),
        }
    }
}

/// How many bytes of a line belong to the text, spaces at the end not counted.
fn line_length(line: &str, in_flow: bool) -> usize {
    let mut length = 0;
    let mut after_space = false;
    let mut chars = line.char_indices();
    while let Some((at, char)) = chars.next() {
        let is_end = match char {
            ' ' => {
                after_space = true;
                continue;
            }
            '\t' => true,
            '#' => after_space,
            ':' => {
                let next = chars.as_str().chars().next();
                is_gap(next) || (in_flow && matches!(next, Some(',' | '[' | ']' | '{' | '}')))
            }
            ',' | '?' | '[' | ']' | '{' | '}' => in_flow,
            char => is_break(char),
        };
        if is_end {
            break;
        }
        after_space = false;
        length = at + char.len_utf8();
    }
    length
}
