//! Resolves a whole config, in place and in order, as `OmegaConf.resolve` does.
//!
//! The order can be seen: a text that contains a mapping shows what of it is resolved by then.

use super::budget::Budget;
use super::evaluator::Evaluator;
use super::select::Found;
use super::{Address, PathSegment, Root};
use super::{ResolveError, ResolveFault};
use crate::interpolation::parse;
use crate::value::{Key, Node, Value};

impl Evaluator<'_> {
    /// The config with every interpolation replaced by what it comes to. What refers to something
    /// left open is left open.
    pub(crate) fn resolve_all(&self) -> Result<Node, ResolveError> {
        let worker = self.working_copy();
        worker.settle(&Address::root(Root::Asked))?;
        self.take_warnings(&worker);
        Ok(worker.into_asked())
    }

    /// The value at a path, resolved; nothing where the path leads nowhere.
    pub(crate) fn resolve_at(&self, path: &str) -> Result<Option<Node>, ResolveError> {
        let Some(found) = self.look_up(path)? else { return Ok(None) };
        let node = self.node_of(&found);
        if !node.as_ref().is_some_and(has_interpolation) {
            return Ok(node);
        }
        let worker = self.working_copy();
        let Some(Found::At(address)) = worker.look_up(path)? else { return Ok(node) };
        worker.settle(&address)?;
        self.take_warnings(&worker);
        Ok(worker.node_of(&Found::At(address)))
    }

    /// Replaces the interpolations of a value and of all below it.
    fn settle(&self, address: &Address) -> Result<(), ResolveError> {
        let _level = self.budget.descend().map_err(|fault| self.error(address, fault))?;
        match self.with(address, |node| node.map_or(Shape::Leaf, shape_of)) {
            Shape::Leaf => Ok(()),
            Shape::Interpolation => {
                let node = self.followed(address)?;
                let (size, depth) = node.as_ref().map_or((1, 0), extent_of);
                let fits = self.budget.values(size).and(Budget::nested(address.steps.len() + depth));
                fits.map_err(|fault| self.error(address, fault))?;
                if address.root == Root::Whole {
                    // The hydra node is not the config that is resolved here.
                    return Err(self.error(address, ResolveFault::ReadOnly));
                }
                self.replace(address, node);
                Ok(())
            }
            Shape::List(length) => {
                (0..length).try_for_each(|index| self.settle(&address.below(PathSegment::Index(index))))
            }
            Shape::Map(keys) => {
                keys.into_iter().try_for_each(|key| self.settle(&address.below(PathSegment::Key(key))))
            }
        }
    }

    /// What an interpolation comes to, a list or mapping resolved in its own place first. Nothing
    /// where it is left open.
    fn followed(&self, address: &Address) -> Result<Option<Value>, ResolveError> {
        let wrong = |fault| self.error(address, fault);
        let _level = self.budget.enter().map_err(wrong)?;
        let found = match self.follow(address, &mut Vec::new()) {
            Err(ResolveFault::Missing { .. }) => return Ok(None),
            other => other.map_err(wrong)?,
        };
        let is_container = |node: Option<&Node>| node.is_some_and(Node::is_container);
        let value = match &found {
            Found::At(target) if self.with(target, is_container) => {
                self.settle(target)?;
                return Ok(Some(self.value_of(&found)));
            }
            Found::Raw(value @ (Value::List(_) | Value::Map(_))) => {
                return Err(wrong(ResolveFault::RawContainer { found: value.kind() }));
            }
            found => self.value_of(found),
        };
        // OmegaConf reads the answer once more, and an escaped `${` is one again by now.
        if let Value::Str(text) = &value
            && text.contains("${")
        {
            parse(text).map_err(|error| wrong(error.into()))?;
        }
        Ok(Some(value))
    }
}

/// What has to be done about a value.
enum Shape {
    Leaf,
    Interpolation,
    List(usize),
    Map(Vec<Key>),
}

fn shape_of(node: &Node) -> Shape {
    match &node.value {
        _ if node.is_interpolation() => Shape::Interpolation,
        Value::List(items) => Shape::List(items.len()),
        Value::Map(map) => Shape::Map(map.keys().cloned().collect()),
        _ => Shape::Leaf,
    }
}

fn has_interpolation(node: &Node) -> bool {
    match &node.value {
        Value::List(items) => items.iter().any(has_interpolation),
        Value::Map(map) => map.values().any(has_interpolation),
        _ => node.is_interpolation(),
    }
}

/// How many values there are in a value, and how many levels.
fn extent_of(value: &Value) -> (usize, usize) {
    let sum = |(size, depth): (usize, usize), item: &Node| {
        let (more, below) = extent_of(&item.value);
        (size + more, depth.max(below + 1))
    };
    match value {
        Value::List(items) => items.iter().fold((1, 1), sum),
        Value::Map(map) => map.values().fold((1, 1), sum),
        _ => (1, 0),
    }
}
