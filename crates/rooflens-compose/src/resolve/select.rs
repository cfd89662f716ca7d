//! Walks a path of keys, following interpolations on the way; and resolves a whole config, in place and in order, as
//! `OmegaConf.resolve` does. The order can be seen: a text that contains a mapping shows what of it is resolved by then.

use super::evaluator::{Budget, Evaluator, Trail};
use super::{Address, Found, PathSegment, Root};
use super::{ResolveError, ResolveFault};
use crate::interpolation::{parse, split_key};
use crate::value::{Int, Key, Node, Value};

impl Evaluator<'_> {
    /// Where a path starts, and what is left of it: without a leading dot at the root, with one in
    /// the container `parent`, with each more one level above.
    pub(super) fn start<'k>(parent: &Address, path: &'k str) -> Result<(Address, &'k str), ResolveFault> {
        let Some(mut key) = path.strip_prefix('.') else {
            return Ok((Address::root(parent.root), path));
        };
        let mut from = parent.clone();
        while let Some(rest) = key.strip_prefix('.') {
            key = rest;
            from = from.parent().ok_or_else(|| {
                ResolveFault::Other(format!("the interpolation '{path}' goes above the top of the config"))
            })?;
        }
        Ok((from, key))
    }

    /// Walks a path down from a container. `strict` makes `???` an error. Nothing is found where
    /// the path leads nowhere.
    pub(super) fn select(
        &self,
        from: &Address,
        path: &str,
        strict: bool,
        trail: Option<&mut Trail>,
    ) -> Result<Option<Found>, ResolveFault> {
        if path.is_empty() {
            return Ok(Some(Found::At(from.clone())));
        }
        let watched = trail.is_some();
        let mut own = Vec::new();
        let trail = trail.unwrap_or(&mut own);
        let keys = split_key(path);
        let Some((last, above)) = keys.split_last() else {
            return Ok(None);
        };
        let mut here = from.clone();
        for (index, key) in above.iter().enumerate() {
            let Some(next) = self.child(&here, key)? else {
                return Ok(None);
            };
            self.check_given(&next, strict)?;
            match self.follow(&next, trail)? {
                Found::At(place) if self.with(&place, |it| it.is_some_and(Node::is_container)) => {
                    here = place;
                }
                _ => {
                    let path = keys[..=index].join(".");
                    return Err(ResolveFault::NotContainer { path, key: keys[index + 1].clone() });
                }
            }
        }
        let Some(target) = self.child(&here, last)? else {
            return Ok(None);
        };
        self.check_given(&target, strict)?;
        if !watched {
            return self.follow(&target, trail).map(Some);
        }
        if trail.contains(&target) {
            let target = target.text();
            return Err(ResolveFault::Other(format!(
                "the interpolation refers to itself by way of '{target}'"
            )));
        }
        trail.push(target.clone());
        let found = self.follow(&target, trail);
        trail.pop();
        found.map(Some)
    }

    fn check_given(&self, address: &Address, strict: bool) -> Result<(), ResolveFault> {
        if strict && self.with(address, |it| it.is_some_and(Node::is_missing)) {
            return Err(ResolveFault::Missing(address.text()));
        }
        Ok(())
    }

    fn child(&self, container: &Address, key: &str) -> Result<Option<Address>, ResolveFault> {
        let step = self.with(container, |node| match node.map(|node| &node.value) {
            Some(Value::Map(map)) => {
                let key = Key::from(key);
                Ok(map.contains_key(&key).then_some(PathSegment::Key(key)))
            }
            Some(Value::List(items)) => match python_int(key) {
                Some(index) => Ok(index.filter(|at| *at < items.len()).map(PathSegment::Index)),
                None => {
                    let path = container.text();
                    Err(ResolveFault::Other(format!("'{path}' is a list and has no key '{key}'")))
                }
            },
            _ => Ok(None),
        })?;
        Ok(step.map(|step| container.below(step)))
    }

    /// What a path from the top of the config leads to, as `OmegaConf.select` finds it: nothing for
    /// what is not there, left open, or below something without keys.
    pub(crate) fn look_up(&self, path: &str) -> Result<Option<Found>, ResolveError> {
        let root = Address::root(Root::Asked);
        match self.select(&root, path, false, None) {
            Err(ResolveFault::NotContainer { .. }) => Ok(None),
            Err(fault) => Err(ResolveError { key: path.to_owned(), fault }),
            Ok(Some(found)) => {
                let missing = match &found {
                    Found::At(address) => self.with(address, |it| it.is_none_or(Node::is_missing)),
                    Found::Raw(_) => false,
                };
                Ok((!missing).then_some(found))
            }
            Ok(None) => Ok(None),
        }
    }

    /// The value at a path; nothing where it is null, too.
    pub(crate) fn value_at(&self, path: &str) -> Result<Option<Value>, ResolveError> {
        let found = self.look_up(path)?;
        Ok(found.map(|found| self.value_of(&found)).filter(|value| *value != Value::Null))
    }

    pub(crate) fn follow_keys(&self, path: &[Key]) -> Result<Found, ResolveFault> {
        let steps = path.iter().cloned().map(PathSegment::Key).collect();
        self.follow(&Address { root: Root::Asked, steps }, &mut Vec::new())
    }

    pub(crate) fn node_of(&self, found: &Found) -> Option<Node> {
        match found {
            Found::Raw(value) => Some(Node::new(value.clone())),
            Found::At(address) => self.with(address, |node| node.cloned()),
        }
    }

    pub(crate) fn raw_at(&self, path: &str) -> Result<Node, ResolveError> {
        let found = self.look_up(path)?;
        Ok(found.and_then(|found| self.node_of(&found)).unwrap_or(Node::new(Value::Null)))
    }
}

/// The index that a text is for Python: none where it is no number, and none inside where no list has such an item.
pub(crate) fn python_int(text: &str) -> Option<Option<usize>> {
    Int::from_python(text).map(|int| match int {
        Int::Small(small) => usize::try_from(small).ok(),
        Int::Big(_) => None,
    })
}

impl Evaluator<'_> {
    /// The config with every interpolation replaced by what it comes to. What refers to something
    /// left open is left open.
    pub(crate) fn resolve_all(&self) -> Result<Node, ResolveError> {
        let worker = self.working_copy();
        worker.settle(&Address::root(Root::Asked))?;
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
        Ok(worker.node_of(&Found::At(address)))
    }

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
                    let fault = "it is part of the hydra node and cannot be resolved from elsewhere; refer to the value and \
                                 not to the mapping around it";
                    return Err(self.error(address, ResolveFault::Other(fault.to_owned())));
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
            Err(ResolveFault::Missing(_)) => return Ok(None),
            other => other.map_err(wrong)?,
        };
        let is_container = |node: Option<&Node>| node.is_some_and(Node::is_container);
        let value = match &found {
            Found::At(target) if self.with(target, is_container) => {
                self.settle(target)?;
                return Ok(Some(self.value_of(&found)));
            }
            Found::Raw(value @ (Value::List(_) | Value::Map(_))) => {
                let found = value.kind();
                return Err(wrong(ResolveFault::Other(format!(
                    "the interpolation resolves to {found}, which is not a config; oc.create converts it"
                ))));
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
