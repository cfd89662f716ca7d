//! Writing a config, byte for byte as `OmegaConf.to_yaml` does.

use crate::value::{Node, Value, float_repr};

use super::implicit::needs_quotes;

/// A key with its tag must be shorter than this to stand before its `:` on one line.
const SIMPLE_KEY_LENGTH: usize = 128;
/// The column after which a text is folded at its next single space.
const WIDTH: usize = 80;
const INDENT: usize = 2;

/// The YAML of a config, ended with a line break.
pub fn dump(node: &Node) -> String {
    let mut sink = Sink::default();
    let is_open_ended = match &node.value {
        Value::List(_) | Value::Map(_) => false,
        value => Scalar::of(value).is_some_and(|scalar| scalar.style(Place::Root) == Style::Plain),
    };
    write(&node.value, Place::Root, &mut sink);
    let mut text = sink.finish();
    if is_open_ended {
        // A bare scalar could go on in what follows, so its end is marked.
        text.push_str("...\n");
    }
    text
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    /// A value, or a key after `?`.
    Pair,
    /// A key that ends with its line's first `:`.
    SimpleKey,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
}

fn write(value: &Value, place: Place, sink: &mut Sink) {
    match value {
        Value::List(items) if items.is_empty() => {
            sink.word("[");
            sink.close("]");
        }
        Value::List(items) => {
            let level = sink.enter_list(place == Place::Pair);
            for item in items {
                sink.indent();
                sink.mark("-");
                write(&item.value, Place::Item, sink);
            }
            sink.leave(level);
        }
        Value::Map(map) if map.is_empty() => {
            sink.word("{");
            sink.close("}");
        }
        Value::Map(map) => {
            let level = sink.enter_collection();
            for (key, node) in map {
                sink.indent();
                write_key(&key.to_value(), sink);
                write(&node.value, Place::Pair, sink);
            }
            sink.leave(level);
        }
        scalar => {
            if let Some(scalar) = Scalar::of(scalar) {
                scalar.write(place, sink);
            }
        }
    }
}

fn write_key(key: &Value, sink: &mut Sink) {
    let Some(scalar) = Scalar::of(key) else { return };
    let analysis = scalar.analysis;
    let length = scalar.text.len() + scalar.tag.len();
    if length < SIMPLE_KEY_LENGTH && !analysis.is_empty && !analysis.has_breaks {
        scalar.write(Place::SimpleKey, sink);
        sink.close(":");
    } else {
        sink.mark("?");
        scalar.write(Place::Pair, sink);
        sink.indent();
        sink.mark(":");
    }
}

struct Scalar {
    text: Vec<char>,
    tag: &'static str,
    /// Whether the text, unquoted, would read back as the value.
    is_plain_safe: bool,
    analysis: Analysis,
}

impl Scalar {
    fn of(value: &Value) -> Option<Self> {
        let (text, tag) = match value {
            Value::Null => ("null".to_owned(), "!!null"),
            Value::Bool(flag) => (flag.to_string(), "!!bool"),
            Value::Int(int) => (int.to_string(), "!!int"),
            Value::Float(float) => (yaml_float(*float), "!!float"),
            Value::Str(text) => (text.clone(), "!!str"),
            Value::List(_) | Value::Map(_) => return None,
        };
        let is_plain_safe = !matches!(value, Value::Str(text) if needs_quotes(text));
        let text: Vec<char> = text.chars().collect();
        let analysis = Analysis::of(&text);
        Some(Self { text, tag, is_plain_safe, analysis })
    }

    fn style(&self, place: Place) -> Style {
        let Analysis { has_breaks, allows_plain, allows_single_quotes, .. } = self.analysis;
        if self.is_plain_safe && allows_plain {
            Style::Plain
        } else if allows_single_quotes && !(place == Place::SimpleKey && has_breaks) {
            Style::SingleQuoted
        } else {
            Style::DoubleQuoted
        }
    }

    fn write(&self, place: Place, sink: &mut Sink) {
        let folds = place != Place::SimpleKey;
        let level = sink.enter_scalar();
        match self.style(place) {
            Style::Plain => sink.plain(&self.text, folds),
            Style::SingleQuoted => sink.single_quoted(&self.text, folds),
            Style::DoubleQuoted => sink.double_quoted(&self.text, folds),
        }
        sink.leave(level);
    }
}

/// YAML 1.1 needs a dot in a float.
fn yaml_float(float: f64) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = float_repr(float);
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}

fn is_break(char: char) -> bool {
    char == '\n'
}

/// What a text allows. Double quotes are always open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Analysis {
    is_empty: bool,
    has_breaks: bool,
    allows_plain: bool,
    allows_single_quotes: bool,
}

impl Analysis {
    /// Looks at a text that stands outside brackets, as all of ours do.
    fn of(text: &[char]) -> Self {
        let (Some(first), Some(last)) = (text.first(), text.last()) else {
            return Self {
                is_empty: true,
                has_breaks: false,
                allows_plain: true,
                allows_single_quotes: true,
            };
        };
        let followed = |wanted: fn(char) -> bool, next: fn(char) -> bool| {
            text.windows(2).any(|pair| wanted(pair[0]) && next(pair[1]))
        };
        let has_breaks = text.iter().copied().any(is_break);
        let has_special = text.iter().copied().any(is_special);
        let has_space_after_break = followed(is_break, is_space);
        let has_break_after_space = followed(is_space, is_break);
        let is_edged = [*first, *last].into_iter().any(|char| is_space(char) || is_break(char));
        let only_double_quotes = has_break_after_space || has_special;
        Self {
            is_empty: false,
            has_breaks,
            allows_plain: !(is_edged || has_breaks || only_double_quotes || has_indicator(text)),
            allows_single_quotes: !(has_space_after_break || only_double_quotes),
        }
    }
}

fn is_space(char: char) -> bool {
    char == ' '
}

/// Characters that are only written as escapes: those that YAML 1.1 or 1.2 takes for a line break too. The last code
/// point counts, by an off-by-one of `PyYAML` that has become the format.
fn is_special(char: char) -> bool {
    match char {
        '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{10ffff}' => true,
        '\n' | ' '..='~' | '\u{a0}'..='\u{fffd}' | '\u{10000}'.. => false,
        _ => true,
    }
}

fn has_indicator(text: &[char]) -> bool {
    let is_gap = |char: char| matches!(char, '\0' | ' ' | '\t' | '\r' | '\n');
    if text.starts_with(&['-'; 3]) || text.starts_with(&['.'; 3]) {
        return true;
    }
    text.iter().enumerate().any(|(index, char)| {
        let gap_follows = || text.get(index + 1).is_none_or(|next| is_gap(*next));
        let gap_precedes = || index == 0 || is_gap(text[index - 1]);
        match char {
            '#' => gap_precedes(),
            ':' => gap_follows(),
            '?' | '-' => index == 0 && gap_follows(),
            ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => {
                index == 0
            }
            _ => false,
        }
    })
}

#[derive(Debug)]
struct Sink {
    out: String,
    column: usize,
    /// None outside the first collection.
    indent: Option<usize>,
    after_gap: bool,
    /// Whether the line so far is only spaces and the marks `-`, `?`, `:`.
    only_marks: bool,
}

impl Default for Sink {
    fn default() -> Self {
        Self { out: String::new(), column: 0, indent: None, after_gap: true, only_marks: true }
    }
}

#[derive(Debug, Clone, Copy)]
struct Level(Option<usize>);

impl Sink {
    fn enter_collection(&mut self) -> Level {
        let level = Level(self.indent);
        self.indent = Some(self.indent.map_or(0, |indent| indent + INDENT));
        level
    }

    /// Indents a list that may stand at its key's own column.
    fn enter_list(&mut self, under_key: bool) -> Level {
        if under_key && !self.only_marks && self.indent.is_some() {
            Level(self.indent)
        } else {
            self.enter_collection()
        }
    }

    fn enter_scalar(&mut self) -> Level {
        let level = Level(self.indent);
        self.indent = Some(self.indent.map_or(INDENT, |indent| indent + INDENT));
        level
    }

    fn leave(&mut self, level: Level) {
        self.indent = level.0;
    }

    fn finish(mut self) -> String {
        self.indent();
        self.out
    }

    /// Writes something that a gap must precede.
    fn word(&mut self, text: &str) {
        if !self.after_gap {
            self.push(" ");
        }
        self.close(text);
    }

    fn close(&mut self, text: &str) {
        self.push(text);
        self.after_gap = false;
        self.only_marks = false;
    }

    /// Writes a `-`, `?` or `:` that opens an entry.
    fn mark(&mut self, mark: &str) {
        let only_marks = self.only_marks;
        self.word(mark);
        self.only_marks = only_marks;
    }

    fn indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        let is_past = self.column > indent || (self.column == indent && !self.after_gap);
        if !self.only_marks || is_past {
            self.line_break();
        }
        if self.column < indent {
            self.after_gap = true;
            self.out.extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
    }

    fn line_break(&mut self) {
        self.out.push('\n');
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
    fn plain(&mut self, text: &[char], folds: bool) {
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
    fn single_quoted(&mut self, text: &[char], folds: bool) {
        self.word("'");
        let mut written = 0;
        for run in runs(text) {
            let is_inside = written > 0 && written + run.len() < text.len();
            written += run.len();
            match run {
                [' '] if self.column > WIDTH && folds && is_inside => self.indent(),
                [first, ..] if is_break(*first) => {
                    (0..=run.len()).for_each(|_| self.line_break());
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

    fn double_quoted(&mut self, text: &[char], folds: bool) {
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
}

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
