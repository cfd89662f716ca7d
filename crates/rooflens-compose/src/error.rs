//! What can be wrong with a composition: the fact, the place, and what to do about it.

use std::fmt;
use std::sync::Arc;

use crate::grammar::GrammarError;
use crate::overrides::{OverrideError, SweepError};
use crate::resolve::ResolveError;
use crate::value::{Origin, ValueSource};
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
    /// The place of a value.
    pub(crate) fn of(origin: &Origin) -> Box<Self> {
        let excerpt = match &origin.source {
            ValueSource::CommandLine(argument) => argument.to_string(),
            ValueSource::BuiltIn | ValueSource::File(_) => String::new(),
        };
        Box::new(Self { origin: origin.clone(), excerpt })
    }

    fn in_yaml(error: &YamlError) -> Self {
        let source = ValueSource::File(Arc::clone(&error.file));
        let origin = Origin { source, line: error.line, column: error.column };
        Self { origin, excerpt: error.excerpt.clone() }
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
#[error("{fault}")]
pub struct ComposeError {
    /// What is wrong.
    pub fault: Box<Fault>,
    /// Where.
    pub place: Option<Box<ProblemPlace>>,
    /// The nearest valid choice to a name that is not one.
    pub(crate) suggestion: Option<String>,
}

/// What is wrong with a composition.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One fault, two lines.
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum Fault {
    #[error("{0}")]
    Other(String),
    #[error(transparent)]
    Yaml(#[from] YamlError),
    #[error("{error}")]
    Interpolation { error: GrammarError },
    #[error("there is no primary config '{name}'\nsearched:{}", listed(searched))]
    NoPrimary { name: String, searched: Vec<String> },
    #[error("in '{parent}': there is no config '{config}'{}\nsearched:{}", options_of(group.as_deref(), options), listed(searched))]
    NoConfig { config: String, parent: String, group: Option<String>, options: Vec<String>, searched: Vec<String> },
    #[error("the option '{text}' cannot be resolved: {cause}\nit may refer to:{}", listed(keys))]
    OptionInterpolation { text: String, keys: Vec<String>, cause: String },
    #[error("'{key}' must be chosen{}", options_of(Some(key), options))]
    MustChoose { key: String, options: Vec<String> },
    #[error("'{key}' is chosen twice: '{first}' and '{second}'")]
    TwoChoices { key: String, first: String, second: String },
    #[error("{}there is no '{key}' in the defaults list to override{}", within(config.as_deref()), one_of(alternatives))]
    UnusedOverride { key: String, value: String, config: Option<String>, alternatives: Vec<String> },
    #[error(transparent)]
    Override(#[from] OverrideError),
    #[error("{}'{key}' is {existing} and cannot be merged with {incoming}", within(config.as_deref()))]
    MergeKinds { config: Option<String>, key: String, existing: &'static str, incoming: &'static str },
    #[error("'{key}' must be {expected}, but is {found}")]
    FieldKind { key: String, expected: &'static str, found: String },
    #[error("there is no key '{key}' to change")]
    NoKey { key: String, input: String },
    #[error("'{key}' already exists and cannot be added")]
    KeyExists { key: String, input: String },
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    #[error("'{input}' has several values")]
    SweepInRun { input: String, simple: bool },
    #[error("'{input}': {error}")]
    Sweep { input: String, error: SweepError },
    #[error("the sweep has more than {limit} jobs")]
    TooManyJobs { limit: usize },
    #[error("there is no package '{package}' in the config")]
    NoPackage { package: String },
}

impl ComposeError {
    /// An error without a place, but for one that brings its own.
    pub(crate) fn new(fault: Fault) -> Self {
        let place = match &fault {
            Fault::Yaml(error) => Some(Box::new(ProblemPlace::in_yaml(error))),
            _ => None,
        };
        Self { fault: Box::new(fault), place, suggestion: None }
    }

    /// An error at the place of a value.
    pub(crate) fn at(fault: Fault, origin: &Origin) -> Self {
        Self { place: Some(ProblemPlace::of(origin)), ..Self::new(fault) }
    }

    /// With the nearest of some names to one that is none of them.
    pub(crate) fn suggest<'a>(mut self, wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Self {
        self.suggestion = crate::suggest::nearest(wanted, candidates).map(str::to_owned);
        self
    }

    /// With a name that was not found by its letters, where none was.
    pub(crate) fn or_suggest(mut self, name: Option<String>) -> Self {
        self.suggestion = self.suggestion.or(name);
        self
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        if let Some(suggestion) = &self.suggestion {
            return Some(format!("did you mean '{suggestion}'?"));
        }
        match &*self.fault {
            Fault::TwoChoices { key, second, .. } => {
                Some(format!("to change an earlier choice write 'override {key}: {second}'"))
            }
            Fault::MustChoose { key, .. } => Some(format!("choose with {key}=OPTION")),
            Fault::UnusedOverride { key, value, config: None, .. } => {
                Some(format!("to add it to the defaults list use +{key}={value}"))
            }
            Fault::NoKey { input, .. } => Some(format!("to add it use +{input}")),
            Fault::KeyExists { input, .. } => Some(format!(
                "to change it use {}; to add or change it use +{input}",
                input.strip_prefix('+').unwrap_or(input)
            )),
            Fault::SweepInRun { simple: true, .. } => Some(
                "for a list write key=[a,b]; for a string quote it: key='a,b'; to run all of them add \
                 --multirun"
                    .to_owned(),
            ),
            Fault::SweepInRun { .. } => Some("to run all of them add --multirun".to_owned()),
            Fault::Yaml(error) => error.hint.map(str::to_owned),
            _ => None,
        }
    }
}

impl<T: Into<Fault>> From<T> for ComposeError {
    fn from(fault: T) -> Self {
        Self::new(fault.into())
    }
}

fn listed(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

fn within(config: Option<&str>) -> String {
    config.map(|config| format!("in '{config}': ")).unwrap_or_default()
}

fn one_of(alternatives: &[String]) -> String {
    match alternatives {
        [] => String::new(),
        known => format!("; it has {}", known.join(", ")),
    }
}

fn options_of(group: Option<&str>, options: &[String]) -> String {
    match (group, options) {
        (Some(group), [_, ..]) => format!("\noptions of '{group}':{}", listed(options)),
        _ => String::new(),
    }
}
