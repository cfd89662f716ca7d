//! The text being written: columns, indentation, and the folding of long scalars.

use super::analysis::is_break;

/// The column after which a text is folded at its next single space.
const WIDTH: usize = 80;
/// Columns of one level.
const INDENT: usize = 2;

/// What is written, and where the pen stands.
#[derive(Debug)]
pub(super) struct Sink {
    out: String,
    column: usize,
    /// None outside the first collection.
    indent: Option<usize>,
    /// Whether the last thing written was a gap.
    after_gap: bool,
    /// Whether the line so far is only spaces and the marks `-`, `?`, `:`.
    only_marks: bool,
}

impl Default for Sink {
    fn default() -> Self {
        Self { out: String::new(), column: 0, indent: None, after_gap: true, only_marks: true }
    }
}

/// An indentation to come back to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Level(Option<usize>);

impl Sink {
    /// Indents a collection; the first one stands at the margin.
    pub(super) fn enter_collection(&mut self) -> Level {
        let level = Level(self.indent);
        self.indent = Some(self.indent.map_or(0, |indent| indent + INDENT));
        level
    }

    /// Indents a list that may stand at its key's own column.
    pub(super) fn enter_list(&mut self, under_key: bool) -> Level {
        if under_key && !self.only_marks && self.indent.is_some() {
            Level(self.indent)
        } else {
            self.enter_collection()
        }
    }

    /// Indents what a scalar continues on further lines.
    pub(super) fn enter_scalar(&mut self) -> Level {
        let level = Level(self.indent);
        self.indent = Some(self.indent.map_or(INDENT, |indent| indent + INDENT));
        level
    }

    /// Goes back to an indentation.
    pub(super) fn leave(&mut self, level: Level) {
        self.indent = level.0;
    }

    /// Ends the document.
    pub(super) fn finish(mut self) -> String {
        self.indent();
        self.out
    }

    /// Writes something that a gap must precede.
    pub(super) fn word(&mut self, text: &str) {
        if !self.after_gap {
            self.push(" ");
        }
        self.close(text);
    }

    /// Writes something that follows directly.
    pub(super) fn close(&mut self, text: &str) {
        self.push(text);
        self.after_gap = false;
        self.only_marks = false;
    }

    /// Writes a `-`, `?` or `:` that opens an entry.
    pub(super) fn mark(&mut self, mark: &str) {
        let only_marks = self.only_marks;
        self.word(mark);
        self.only_marks = only_marks;
    }

    /// Goes to the indentation, on a new line where needed.
    pub(super) fn indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        let is_past = self.column > indent || (self.column == indent && !self.after_gap);
        if !self.only_marks || is_past {
            self.line_break('\n');
        }
        if self.column < indent {
            self.after_gap = true;
            self.out.extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
    }

    fn line_break(&mut self, char: char) {
        self.out.push(char);
        self.after_gap = true;
        self.only_marks = true;
        self.column = 0;
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.chars().count();
    }

    fn push_chars(&mut self, chars: &[char]) {
        self.out.extend(chars);
        self.column += chars.len();
    }

    /// Writes a text without quotes; it has no line breaks.
    pub(super) fn plain(&mut self, text: &[char], folds: bool) {
        if text.is_empty() {
            return;
        }
        self.word("");
        for run in runs(text) {
            if run == [' '] && self.column > WIDTH && folds {
                self.indent();
                self.after_gap = false;
                self.only_marks = false;
            } else {
                self.push_chars(run);
            }
        }
    }

    /// Writes a text in single quotes; a line break takes an empty line more than it is.
    pub(super) fn single_quoted(&mut self, text: &[char], folds: bool) {
        self.word("'");
        let mut written = 0;
        for run in runs(text) {
            let is_inside = written > 0 && written + run.len() < text.len();
            written += run.len();
            match run {
                [' '] if self.column > WIDTH && folds && is_inside => self.indent(),
                [first, ..] if is_break(*first) => {
                    if *first == '\n' {
                        self.line_break('\n');
                    }
                    run.iter().for_each(|char| self.line_break(*char));
                    self.indent();
                }
                run => {
                    for part in run.split_inclusive(|char| *char == '\'') {
                        self.push_chars(part);
                        if part.ends_with(&['\'']) {
                            self.push("'");
                        }
                    }
                }
            }
        }
        self.close("'");
    }

    /// Writes a text in double quotes, with escapes, cut where the line is full.
    pub(super) fn double_quoted(&mut self, text: &[char], folds: bool) {
        self.word("\"");
        // Characters from `held` on wait: a fold counts them but may come before them.
        let mut held = 0;
        for (index, char) in text.iter().enumerate() {
            if needs_escape(*char) {
                self.push_chars(&text[held..index]);
                self.push(&escape(*char));
                held = index + 1;
            }
            let is_inside = index > 0 && index + 1 < text.len();
            let waiting = index.saturating_sub(held);
            let may_fold = *char == ' ' || held >= index;
            // After an escape the pen is one character ahead, and `PyYAML` counts it so.
            let ahead = held.saturating_sub(index);
            if is_inside && may_fold && self.column + waiting > WIDTH + ahead && folds {
                self.push_chars(&text[held.min(index)..index]);
                held = held.max(index);
                self.push("\\");
                self.indent();
                self.after_gap = false;
                self.only_marks = false;
                if text[held] == ' ' {
                    self.push("\\");
                }
            }
        }
        self.push_chars(&text[held..]);
        self.close("\"");
    }

    /// Writes lines as a block, each at the indentation; the text ends with a line break.
    pub(super) fn literal(&mut self, text: &str) {
        self.word("|");
        self.line_break('\n');
        for line in text.lines() {
            self.indent();
            self.push(line);
            self.line_break('\n');
        }
    }
}

/// Cuts a text into runs of spaces, of line breaks, and of all else.
fn runs(text: &[char]) -> impl Iterator<Item = &[char]> {
    let kind = |char: char| if is_break(char) { 2 } else { u8::from(char == ' ') };
    text.chunk_by(move |left, right| kind(*left) == kind(*right))
}

fn needs_escape(char: char) -> bool {
    match char {
        '"' | '\\' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => true,
        ' '..='~' | '\u{a0}'..='\u{fffd}' => false,
        _ => true,
    }
}

fn escape(char: char) -> String {
    let short = match char {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            let code = u32::from(char);
            return match code {
                0..=0xff => format!("\\x{code:02X}"),
                0x100..=0xffff => format!("\\u{code:04X}"),
                _ => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
