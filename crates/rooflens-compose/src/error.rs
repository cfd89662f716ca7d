//! What can be wrong with a composition: the fact, the place, and what to do about it.

use std::fmt;

use crate::interpolation::parse;
use crate::overrides::OverrideError;
use crate::resolve::ResolveError;
use crate::value::{Node, Origin, Value, ValueSource, is_interpolation};
use crate::yaml::YamlError;

/// Where a problem stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemPlace {
    /// File, line and column, or the argument of the command line.
    pub origin: Origin,
    /// The line as it is written there; empty where it could not be had.
    pub excerpt: String,
}

impl ProblemPlace {
    pub(crate) fn of(origin: &Origin) -> Box<Self> {
        let excerpt = match &origin.source {
            ValueSource::CommandLine(argument) => argument.to_string(),
            ValueSource::BuiltIn | ValueSource::File(_) => String::new(),
        };
        Box::new(Self { origin: origin.clone(), excerpt })
    }
}

impl fmt::Display for ProblemPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.origin.source, self.origin.line) {
            (ValueSource::BuiltIn, _) => out.write_str("built in"),
            (ValueSource::CommandLine(_), _) => out.write_str("command line"),
            (ValueSource::File(file), 0) => out.write_str(file),
            (ValueSource::File(file), line) => write!(out, "{file}:{line}:{}", self.origin.column),
        }
    }
}

/// A composition that cannot be had.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ComposeError {
    message: String,
    hint: Option<String>,
    /// Where it is written.
    pub place: Option<Box<ProblemPlace>>,
}

impl ComposeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, place: None }
    }

    pub(crate) fn at(message: impl Into<String>, origin: &Origin) -> Self {
        Self::new(message).placed(origin)
    }

    pub(crate) fn placed(mut self, origin: &Origin) -> Self {
        self.place.get_or_insert_with(|| ProblemPlace::of(origin));
        self
    }

    pub(crate) fn of_key(key: &str, expected: &str, found: &str) -> Self {
        Self::new(format!("'{key}' must be {expected}, but is {found}"))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn suggest<'a>(self, wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        match crate::suggest::nearest(wanted, candidates) {
            Some(name) => self.with_hint(format!("did you mean '{name}'?")),
            None => self,
        }
    }

    /// What to do about it, if that is known.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl From<YamlError> for ComposeError {
    fn from(error: YamlError) -> Self {
        let source = ValueSource::File(error.file);
        let origin = Origin { source, line: error.line, column: error.column };
        let place = Some(Box::new(ProblemPlace { origin, excerpt: error.excerpt }));
        Self { message: error.problem, hint: error.hint.map(str::to_owned), place }
    }
}

impl From<OverrideError> for ComposeError {
    fn from(error: OverrideError) -> Self {
        Self::new(error.to_string()).with_hint("in a shell, quote what has brackets or spaces: 'key=[a, b]'")
    }
}

impl From<ResolveError> for ComposeError {
    fn from(error: ResolveError) -> Self {
        Self::new(error.to_string())
    }
}

/// An interpolation that is not one is an error when it is read, wanted or not.
pub(crate) fn check_interpolations(node: &Node) -> Result<(), ComposeError> {
    match &node.value {
        Value::Str(text) if is_interpolation(text) => match parse(text) {
            Ok(_) => Ok(()),
            Err(error) => Err(ComposeError::at(error.to_string(), &node.origin)),
        },
        Value::List(items) => items.iter().try_for_each(check_interpolations),
        Value::Map(map) => map.values().try_for_each(check_interpolations),
        _ => Ok(()),
    }
}

pub(crate) fn listed(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

pub(crate) fn options_of(group: &str, options: &[String]) -> String {
    if options.is_empty() { String::new() } else { format!("\noptions of '{group}':{}", listed(options)) }
}
