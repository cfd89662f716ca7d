//! A text and how far it is read.

use std::str::Chars;

/// The mark that some editors put in front of a text.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A place in a text, line and column from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::yaml) struct Mark {
    pub(in crate::yaml) line: usize,
    pub(in crate::yaml) column: usize,
}

/// The two lines that separate documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Separator {
    Start,
    End,
}

/// Whether a character ends a line. YAML 1.1 has more of these than 1.2.
pub(in crate::yaml) fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a line ends here, or the text.
pub(super) fn ends_line(next: Option<char>) -> bool {
    next.is_none_or(is_break)
}

/// Whether a space or the end of the line is here. A tab is neither: where `PyYAML` asks for this,
/// it refuses tabs.
pub(super) fn ends_word(next: Option<char>) -> bool {
    next == Some(' ') || ends_line(next)
}

/// Whether white space or the end of the line is here.
pub(super) fn is_gap(next: Option<char>) -> bool {
    next == Some('\t') || ends_word(next)
}

/// Reads a text forwards, and knows where it stands.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: Chars<'a>,
    /// Characters passed; simple keys are measured in them.
    index: usize,
    mark: Mark,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text.chars(), index: 0, mark: Mark { line: 0, column: 0 } }
    }

    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    pub(super) fn column(&self) -> usize {
        self.mark.column
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest.as_str()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.rest.clone().nth(1)
    }

    /// Passes one character. `\r\n` is two, of which the second ends the line.
    pub(super) fn advance(&mut self) {
        let Some(char) = self.rest.next() else { return };
        self.index += 1;
        if is_break(char) && !(char == '\r' && self.peek() == Some('\n')) {
            self.mark = Mark { line: self.mark.line + 1, column: 0 };
        } else if char != BYTE_ORDER_MARK {
            self.mark.column += 1;
        }
    }

    pub(super) fn advance_by(&mut self, chars: usize) {
        for _ in 0..chars {
            self.advance();
        }
    }

    /// Takes the longest run of characters of a kind that has no line breaks in it.
    pub(super) fn take_while(&mut self, is_wanted: impl Fn(char) -> bool) -> &'a str {
        let text = self.rest.as_str();
        let length = text.find(|char| !is_wanted(char)).unwrap_or(text.len());
        self.take_bytes(length)
    }

    /// Takes some bytes of the line, which end at a character's end.
    pub(super) fn take_bytes(&mut self, length: usize) -> &'a str {
        let Some((taken, rest)) = self.rest.as_str().split_at_checked(length) else { return "" };
        let chars = taken.chars().count();
        let unseen = if taken.is_ascii() { 0 } else { taken.matches(BYTE_ORDER_MARK).count() };
        self.index += chars;
        self.mark.column += chars - unseen;
        self.rest = rest.chars();
        taken
    }

    pub(super) fn skip_spaces(&mut self) {
        self.take_while(|char| char == ' ');
    }

    /// Skips spaces, but none at a column or after it.
    pub(super) fn skip_spaces_before(&mut self, column: usize) {
        while self.column() < column && self.peek() == Some(' ') {
            self.advance();
        }
    }

    pub(super) fn take_line(&mut self) -> &'a str {
        self.take_while(|char| !is_break(char))
    }

    /// Skips a comment, where one begins here; its line break stays.
    pub(super) fn skip_comment(&mut self) {
        if self.peek() == Some('#') {
            self.take_line();
        }
    }

    /// Takes a line break, where one is here, and gives what it is read as.
    pub(super) fn take_break(&mut self) -> Option<char> {
        let char = self.peek().filter(|char| is_break(*char))?;
        self.advance();
        match char {
            '\u{2028}' | '\u{2029}' => Some(char),
            _ => {
                if char == '\r' && self.peek() == Some('\n') {
                    self.advance();
                }
                Some('\n')
            }
        }
    }

    /// The separator of documents that stands here, if one does; it is one at the margin only.
    pub(super) fn separator(&self) -> Option<Separator> {
        let text = self.rest.as_str();
        let (separator, after) = match text.as_bytes() {
            [b'-', b'-', b'-', ..] => (Separator::Start, text.get(3..)?),
            [b'.', b'.', b'.', ..] => (Separator::End, text.get(3..)?),
            _ => return None,
        };
        is_gap(after.chars().next()).then_some(separator)
    }
}

/// The first character that `PyYAML`'s reader refuses, and its place.
pub(in crate::yaml) fn unprintable(text: &str) -> Option<(char, Mark)> {
    let is_printable = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let refused = text.chars().find(|char| !is_printable(*char))?;
    let mut cursor = Cursor::new(text);
    while let Some(char) = cursor.peek().filter(|char| *char != refused) {
        if is_break(char) {
            cursor.take_break();
        } else {
            cursor.take_while(|char| char != refused && !is_break(char));
        }
    }
    Some((refused, cursor.mark()))
}

/// The lines of a text, as YAML 1.1 breaks it.
pub(in crate::yaml) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut cursor = Cursor::new(text);
    let mut is_open = true;
    std::iter::from_fn(move || {
        let line = is_open.then(|| cursor.take_line())?;
        is_open = cursor.take_break().is_some();
        Some(line)
    })
}
