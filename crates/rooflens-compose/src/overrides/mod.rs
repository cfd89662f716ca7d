//! Overrides of the command line, as Hydra reads them: `db=mysql`, `+a.b=1`, `~db`, `x=1,2`, `x=range(1,4)`.
//!
//! ```
//! use rooflens_compose::overrides::Override;
//!
//! let sweep: Override = "db.port=3306,'3307'".parse()?;
//! let texts: Vec<String> = sweep.sweep_texts(&[])?.collect();
//! assert_eq!(texts, ["3306", "'3307'"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod element;
mod parser;
mod sweep;

use std::str::FromStr;

use crate::grammar::{GrammarError, Span, shortened, space_end, unsigned_end};
use crate::value::{Node, Origin, Value, ValueSource};

pub(crate) use element::Element;
pub(crate) use sweep::Sweep;

/// What an override does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideKind {
    /// `key=value`: changes what is there.
    Change,
    /// `+key=value`: adds what is not there.
    Add,
    /// `++key=value`: adds or changes.
    ForceAdd,
    /// `~key` or `~key=value`: removes.
    Delete,
}

impl OverrideKind {
    /// What is written before the key.
    pub fn prefix(self) -> &'static str {
        match self {
            OverrideKind::Change => "",
            OverrideKind::Add => "+",
            OverrideKind::ForceAdd => "++",
            OverrideKind::Delete => "~",
        }
    }
}

/// An override of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Override {
    /// What it does.
    pub kind: OverrideKind,
    /// The path of a value, `a.b`, or of a group, `a/b`. May be empty.
    pub key: String,
    /// The package behind `@`. May be empty, which is not the same as none.
    pub package: Option<String>,
    /// The override as it was written.
    pub text: String,
    /// None only where something is removed without naming its value.
    pub(crate) value: Option<OverrideValue>,
    /// Where the value begins, or the key where there is no value; in characters from 1.
    column: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OverrideValue {
    Element(Element),
    Sweep(Sweep),
}

/// A text that is no override.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("override '{}', {error}", shortened(text))]
pub struct OverrideError {
    pub(crate) text: String,
    pub(crate) error: GrammarError,
}

impl FromStr for Override {
    type Err = OverrideError;

    fn from_str(text: &str) -> Result<Self, OverrideError> {
        parsed(text).map_err(|error| OverrideError { text: text.to_owned(), error })
    }
}

fn parsed(text: &str) -> Result<Override, GrammarError> {
    let (kind, start) = match text.as_bytes() {
        [b'~', ..] => (OverrideKind::Delete, 1),
        [b'+', b'+', ..] => (OverrideKind::ForceAdd, 2),
        [b'+', ..] => (OverrideKind::Add, 1),
        _ => (OverrideKind::Change, 0),
    };
    let (key, mut at) = key(text, start)?;
    let mut package = None;
    if text[at..].starts_with('@') {
        let end = word(text, at + 1)?.1;
        package = Some(text[at + 1..end].to_owned());
        at = end;
    }
    let (value, column) = match text[at..].chars().next() {
        Some('=') => {
            let begin = space_end(text.as_bytes(), at + 1);
            (Some(parser::value(text, begin)?), begin)
        }
        None if kind == OverrideKind::Delete => (None, start),
        _ => return Err(unexpected(text, at, "'='")),
    };
    let column = Span::new(column, column).column(text);
    Ok(Override { kind, key, package, text: text.to_owned(), value, column })
}

/// The key at `start`, and where it ends: a path of values, or of groups with slashes.
fn key(text: &str, start: usize) -> Result<(String, usize), GrammarError> {
    let (mut is_name, mut at) = word(text, start)?;
    while is_name && text[at..].starts_with('/') {
        let begin = at + 1;
        (is_name, at) = word(text, begin)?;
        if !is_name {
            return Err(unexpected(text, begin, "the name of a group"));
        }
    }
    Ok((text[start..at].to_owned(), at))
}

/// The end of the word at `at`, and whether it is a name, which may be part of a group's path: it has neither a dot nor
/// `$` in it. One that begins with a digit must have a dot. A word may be empty, which Hydra allows.
fn word(text: &str, at: usize) -> Result<(bool, usize), GrammarError> {
    let bytes = text.as_bytes();
    let Some(mut end) = component(bytes, at) else {
        return Ok((false, at));
    };
    let mut dotted = false;
    while bytes.get(end) == Some(&b'.')
        && let Some(next) = component(bytes, end + 1)
    {
        (end, dotted) = (next, true);
    }
    if !dotted && bytes[at].is_ascii_digit() {
        return Err(unexpected(text, at, "a name"));
    }
    Ok((!dotted && !bytes[at..end].contains(&b'$'), end))
}

fn component(text: &[u8], at: usize) -> Option<usize> {
    let begins = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    let continues = |byte: &&u8| begins(byte) || byte.is_ascii_digit() || **byte == b'-';
    if text.get(at).is_some_and(begins) {
        return Some(at + text[at..].iter().take_while(continues).count());
    }
    unsigned_end(text, at)
}

fn unexpected(text: &str, at: usize, expected: &str) -> GrammarError {
    match text[at..].chars().next() {
        Some('[') => {
            GrammarError::character(text, at, "; an item of a list is addressed with a dot: key.0=…")
        }
        Some(char) => GrammarError::unexpected(text, Span::new(at, at + char.len_utf8()), expected),
        None => GrammarError::unexpected(text, Span::new(at, at), expected),
    }
}

impl Override {
    /// The key as it is written: `+group/sub@package`.
    pub fn key_text(&self) -> String {
        let package = self.package.as_ref().map(|package| format!("@{package}")).unwrap_or_default();
        format!("{}{}{package}", self.kind.prefix(), self.key)
    }

    /// What stands after the first `=`, unchanged.
    pub fn value_text(&self) -> Option<&str> {
        self.text.split_once('=').map(|(_, value)| value)
    }

    /// Whether it names something of Hydra's own: `hydra.run.dir`, `hydra/launcher`.
    pub(crate) fn is_hydra(&self) -> bool {
        self.key.starts_with("hydra.") || self.key.starts_with("hydra/")
    }

    /// Whether its value stands for several.
    pub fn is_sweep(&self) -> bool {
        matches!(self.value, Some(OverrideValue::Sweep(_)))
    }

    /// The value it gives, null where it names none; nothing where it is a sweep.
    pub fn node(&self) -> Option<Node> {
        let origin = self.origin();
        match &self.value {
            None => Some(Node::at(Value::Null, origin)),
            Some(OverrideValue::Element(element)) => Some(element.to_node(&origin)),
            Some(OverrideValue::Sweep(_)) => None,
        }
    }

    /// The values its jobs get, in Hydra's order, as they are written into the overrides of those jobs. A glob chooses
    /// among `options`, the sorted options of the config group.
    pub fn sweep_texts<'a>(
        &'a self,
        options: &'a [String],
    ) -> Result<Box<dyn Iterator<Item = String> + 'a>, String> {
        match &self.value {
            Some(OverrideValue::Sweep(sweep)) => sweep.texts(options),
            _ => Err("the override is not a sweep".to_owned()),
        }
    }

    /// The value as Hydra writes it into the overrides of a job, `null` if the override has no value.
    pub fn job_text(&self) -> String {
        match &self.value {
            Some(OverrideValue::Element(element)) => element.to_text(),
            _ => "null".to_owned(),
        }
    }

    pub(crate) fn origin(&self) -> Origin {
        let column = u32::try_from(self.column).unwrap_or(u32::MAX);
        Origin { source: ValueSource::CommandLine(self.text.as_str().into()), line: 0, column }
    }
}
