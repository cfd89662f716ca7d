//! Addresses of values: which config, and the way down.

use crate::value::{Key, Node, Value, python_str};

/// Which config an address is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Root {
    /// The config that is asked.
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

    /// The address of a value below it.
    pub(crate) fn below(&self, step: PathSegment) -> Self {
        let mut steps = Vec::with_capacity(self.steps.len() + 1);
        steps.extend_from_slice(&self.steps);
        steps.push(step);
        Self { root: self.root, steps }
    }

    /// The address of the container it is in.
    pub(crate) fn parent(&self) -> Option<Self> {
        let (_, above) = self.steps.split_last()?;
        Some(Self { root: self.root, steps: above.to_vec() })
    }

    /// Whether it is `other`, or contains it.
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
