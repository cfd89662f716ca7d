//! Why an interpolation has no answer.

use crate::interpolation::GrammarError;

/// An interpolation without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{fault}", at(key))]
pub struct ResolveError {
    /// The key whose value was asked for; empty where it is none of a config's.
    pub key: String,
    /// Why there is no answer.
    pub fault: ResolveFault,
}

fn at(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("'{key}': ") }
}

/// Why an interpolation has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One fault, two lines.
#[allow(missing_docs, reason = "the fields are what the messages say they are")]
pub enum ResolveFault {
    /// It is not an interpolation.
    #[error("{0}")]
    Grammar(#[from] GrammarError),
    /// The key it refers to is not there.
    #[error("the interpolation refers to '{target}', which does not exist{}", meant(suggestion.as_deref()))]
    NoTarget { target: String, suggestion: Option<String> },
    /// There are not so many levels above it.
    #[error("the interpolation '{target}' goes above the top of the config")]
    AboveRoot { target: String },
    /// The key it refers to is left open.
    #[error("the interpolation refers to '{target}', which is left open (???)")]
    Missing { target: String },
    /// The path goes through something that has no keys.
    #[error("'{path}' is not a list or mapping and cannot contain '{key}'")]
    NotContainer { path: String, key: String },
    /// A list has items, not keys.
    #[error("'{path}' is a list and has no key '{key}'")]
    NotAnIndex { path: String, key: String },
    /// It refers to itself.
    #[error("the interpolation refers to itself by way of '{target}'")]
    Cycle { target: String },
    /// It refers to a mapping it is in.
    #[error("the interpolation refers to '{target}', which contains it")]
    Ancestor { target: String },
    /// A key or resolver name that is not text.
    #[error("a nested interpolation must resolve to a string here, but resolves to {found}")]
    NameKind { found: &'static str },
    /// There is no such resolver.
    #[error("there is no resolver '{name}'{}", meant(suggestion.as_deref()))]
    NoResolver { name: String, suggestion: Option<String> },
    /// A resolver could not answer.
    #[error("{name}: {message}")]
    Resolver { name: String, message: String },
    /// A resolver's list or mapping where OmegaConf has no place for one.
    #[error("the interpolation resolves to {found}, which is not a config; oc.create converts it")]
    RawContainer { found: &'static str },
    /// A result that a field of the hydra node cannot hold.
    #[error("the interpolation resolves to {found}, but the value must be {expected}")]
    FieldKind { found: String, expected: &'static str },
    /// The hydra node, by `${hydra:…}`, where it is itself still to be resolved.
    #[error("it is part of the hydra node and cannot be resolved from elsewhere; refer to the value and not to the mapping around it")]
    ReadOnly,
    /// Interpolations of interpolations without end.
    #[error("interpolations nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    /// More work than a config can need.
    #[error("resolving the config produces more than {limit} {what}")]
    TooMuch { limit: usize, what: &'static str },
}

fn meant(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}
