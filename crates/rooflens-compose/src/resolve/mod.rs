//! Lazy interpolation: what `${…}` comes to, asked for when it is needed.
//!
//! A config keeps its interpolations as text. An evaluator answers for one config: it walks paths, follows
//! interpolations on the way, calls resolvers, and keeps count of its work, so that a config can neither loop nor grow
//! without end.

mod evaluator;
mod expression;
mod resolvers;
mod select;
mod settings;

use crate::grammar::GrammarError;
use crate::value::{Key, Node, Value, python_str};

pub use settings::{EvaluationSettings, Resolver};

pub(crate) use evaluator::Evaluator;
pub(crate) use select::python_int;

/// An interpolation without an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{fault}", at(key))]
pub struct ResolveError {
    /// The key whose value was asked for; empty where it is none of a config's.
    pub(crate) key: String,
    pub(crate) fault: ResolveFault,
}

fn at(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!("'{key}': ") }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum ResolveFault {
    #[error("the interpolation refers to '{0}', which is left open (???)")]
    Missing(String),
    #[error("'{path}' is not a list or mapping and cannot contain '{key}'")]
    NotContainer { path: String, key: String },
    #[error("{0}")]
    Other(String),
}

impl From<GrammarError> for ResolveFault {
    fn from(error: GrammarError) -> Self {
        ResolveFault::Other(error.to_string())
    }
}

fn meant(suggestion: Option<String>) -> String {
    suggestion.map(|name| format!("; did you mean '{name}'?")).unwrap_or_default()
}

/// What a nested interpolation gives must be a string.
fn name_kind(found: &Value) -> ResolveFault {
    let found = found.kind();
    ResolveFault::Other(format!(
        "a nested interpolation must resolve to a string here, but resolves to {found}"
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    Asked,
    /// The whole config, with its `hydra` node, for `${hydra:…}`.
    Whole,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum PathSegment {
    Key(Key),
    Index(usize),
    Made(usize),
}

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

    pub(crate) fn text(&self) -> String {
        let steps = self.steps.iter().map(|step| match step {
            PathSegment::Key(key) => python_str(&key.to_value()),
            PathSegment::Index(index) => index.to_string(),
            PathSegment::Made(_) => "*".to_owned(),
        });
        steps.collect::<Vec<_>>().join(".")
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Found {
    At(Address),
    /// A value that is in no config: a text that was put together, a resolver's answer.
    Raw(Value),
}

pub(crate) fn walk<'n>(node: &'n Node, steps: &[PathSegment]) -> Option<&'n Node> {
    steps.iter().try_fold(node, |node, step| match (step, &node.value) {
        (PathSegment::Key(key), Value::Map(map)) => map.get(key),
        (PathSegment::Index(index), Value::List(items)) => items.get(*index),
        _ => None,
    })
}

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
