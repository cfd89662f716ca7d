//! Lazy interpolation: what `${…}` comes to, asked for when it is needed.
//!
//! A config keeps its interpolations as text. An evaluator answers for one config: it walks paths, follows
//! interpolations on the way, calls resolvers, and keeps count of its work, so that a config can neither loop nor grow
//! without end.

mod evaluator;
mod expression;
mod resolvers;
mod select;

use crate::grammar::GrammarError;
use crate::value::{Key, Node, Value, python_str};

pub use resolvers::{EvaluationSettings, Resolver, Resolvers};

pub(crate) use evaluator::Evaluator;
pub(crate) use select::{Found, python_int};

/// An interpolation without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{fault}", at(key))]
pub struct ResolveError {
    /// The key whose value was asked for; empty where it is none of a config's.
    pub(crate) key: String,
    /// Why there is no answer.
    pub(crate) fault: ResolveFault,
}

fn at(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("'{key}': ") }
}

/// Why an interpolation has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[rustfmt::skip] // One fault, two lines.
#[allow(missing_docs, reason = "the messages say what each is")]
pub(crate) enum ResolveFault {
    #[error("{0}")]
    Grammar(#[from] GrammarError),
    #[error("the interpolation refers to '{target}', which does not exist{}", meant(suggestion.as_deref()))]
    NoTarget { target: String, suggestion: Option<String> },
    #[error("the interpolation '{target}' goes above the top of the config")]
    AboveRoot { target: String },
    #[error("the interpolation refers to '{target}', which is left open (???)")]
    Missing { target: String },
    #[error("'{path}' is not a list or mapping and cannot contain '{key}'")]
    NotContainer { path: String, key: String },
    #[error("'{path}' is a list and has no key '{key}'")]
    NotAnIndex { path: String, key: String },
    #[error("the interpolation refers to itself by way of '{target}'")]
    Cycle { target: String },
    #[error("the interpolation refers to '{target}', which contains it")]
    Ancestor { target: String },
    #[error("a nested interpolation must resolve to a string here, but resolves to {found}")]
    NameKind { found: &'static str },
    #[error("there is no resolver '{name}'{}", meant(suggestion.as_deref()))]
    NoResolver { name: String, suggestion: Option<String> },
    #[error("{name}: {message}")]
    Resolver { name: String, message: String },
    #[error("the interpolation resolves to {found}, which is not a config; oc.create converts it")]
    RawContainer { found: &'static str },
    #[error("it is part of the hydra node and cannot be resolved from elsewhere; refer to the value and not to the mapping around it")]
    ReadOnly,
    #[error("interpolations nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("resolving the config produces more than {limit} {what}")]
    TooMuch { limit: usize, what: &'static str },
}

fn meant(suggestion: Option<&str>) -> String {
    suggestion.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// Which config an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    Asked,
    /// The whole config, with its `hydra` node, for `${hydra:…}`.
    Whole,
}

/// A step down.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathSegment {
    /// To a value of a mapping.
    Key(Key),
    /// To an item of a list.
    Index(usize),
    /// To something a resolver made, whose parent is the container it was made in.
    Made(usize),
}

/// The address of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) root: Root,
    pub(crate) steps: Vec<PathSegment>,
}

impl Address {
    pub(crate) fn root(root: Root) -> Self {
        Self { root, steps: Vec::new() }
    }

    pub(crate) fn below(&self, step: PathSegment) -> Self {
        let mut steps = Vec::with_capacity(self.steps.len() + 1);
        steps.extend_from_slice(&self.steps);
        steps.push(step);
        Self { root: self.root, steps }
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        let (_, above) = self.steps.split_last()?;
        Some(Self { root: self.root, steps: above.to_vec() })
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        self.root == other.root && other.steps.starts_with(&self.steps)
    }

    /// The keys with dots, for messages.
    pub(crate) fn text(&self) -> String {
        let steps = self.steps.iter().map(|step| match step {
            PathSegment::Key(key) => python_str(&key.to_value()),
            PathSegment::Index(index) => index.to_string(),
            PathSegment::Made(_) => "*".to_owned(),
        });
        steps.collect::<Vec<_>>().join(".")
    }
}

/// The value some steps down.
pub(crate) fn walk<'n>(node: &'n Node, steps: &[PathSegment]) -> Option<&'n Node> {
    steps.iter().try_fold(node, |node, step| match (step, &node.value) {
        (PathSegment::Key(key), Value::Map(map)) => map.get(key),
        (PathSegment::Index(index), Value::List(items)) => items.get(*index),
        _ => None,
    })
}

/// The value some steps down, to change it.
pub(crate) fn walk_mut<'n>(node: &'n mut Node, steps: &[PathSegment]) -> Option<&'n mut Node> {
    steps.iter().try_fold(node, |node, step| match (step, &mut node.value) {
        (PathSegment::Key(key), Value::Map(map)) => map.get_mut(key),
        (PathSegment::Index(index), Value::List(items)) => items.get_mut(*index),
        _ => None,
    })
}

/// The longest part of the way that ends in something a resolver made, and the rest.
pub(crate) fn split_made(address: &Address) -> Option<(Address, &[PathSegment])> {
    let last = address.steps.iter().rposition(|step| matches!(step, PathSegment::Made(_)))?;
    let (way, rest) = address.steps.split_at(last + 1);
    Some((Address { root: address.root, steps: way.to_vec() }, rest))
}
