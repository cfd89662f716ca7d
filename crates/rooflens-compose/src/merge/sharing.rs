//! Configs that are merged more than once.
//!
//! Hydra reads each config once and, where it is mounted at the top, merges the very objects it
//! read. What later configs change in a list or mapping of it is therefore changed in the config
//! too. When the config is merged again (two configs naming one base is enough), its plain values
//! come again as they were written, its lists and mappings as they became. A project may depend on
//! that, so it is so here.

use std::collections::{BTreeMap, HashMap};

use super::at;
use crate::value::{Key, Node, Value};

/// Keeps track of which lists and mappings of the whole are objects of configs merged again.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    repeated: BTreeMap<String, usize>,
    /// The config that is being merged, if it is mounted at the top and one of them.
    current: Option<usize>,
    owner: HashMap<Vec<Key>, usize>,
    /// Objects of a config that are no longer part of the whole, as they were last.
    left: HashMap<(usize, Vec<Key>), Node>,
}

impl Sharing {
    pub(crate) fn new<'a>(configs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut times: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for (path, package) in configs {
            let (count, at_top) = times.entry(path).or_default();
            *count += 1;
            *at_top |= package.is_empty();
        }
        let repeated = times.into_iter().filter(|(_, (count, at_top))| *count > 1 && *at_top);
        let repeated = repeated.enumerate().map(|(number, (path, _))| (path.to_owned(), number));
        Self { repeated: repeated.collect(), ..Self::default() }
    }

    pub(super) fn begin(&mut self, path: &str, package: &str) {
        self.current = self.repeated.get(path).copied().filter(|_| package.is_empty());
    }

    pub(crate) fn as_it_became(&self, path: &str, config: &Node, whole: &Node) -> Option<Node> {
        let owner = *self.repeated.get(path)?;
        let mut config = config.clone();
        self.renew(owner, &mut Vec::new(), &mut config, whole);
        Some(config)
    }

    fn renew(&self, owner: usize, path: &mut Vec<Key>, node: &mut Node, whole: &Node) {
        if let Some(left) = self.left.get(&(owner, path.clone())) {
            node.value = left.value.clone();
            return;
        }
        if self.owner.get(path) == Some(&owner) {
            if let Some(now) = at(whole, path) {
                node.value = now.value.clone();
            }
            return;
        }
        if let Value::Map(map) = &mut node.value {
            for (key, child) in map.iter_mut().filter(|(_, child)| child.is_container()) {
                path.push(key.clone());
                self.renew(owner, path, child, whole);
                path.pop();
            }
        }
    }

    /// Whether the list or mapping at a path is the very object that is being merged into it.
    pub(super) fn is_same(&self, path: &[Key]) -> bool {
        self.current.is_some() && self.owner.get(path).copied() == self.current
    }

    pub(super) fn adopted(&mut self, path: &[Key], node: &Node, whole: &Node) {
        self.replaced(path, whole);
        if let Some(owner) = self.current {
            self.own(&mut path.to_vec(), node, owner);
        }
    }

    pub(super) fn replaced(&mut self, path: &[Key], whole: &Node) {
        if self.owner.is_empty() {
            return;
        }
        let gone: Vec<Vec<Key>> =
            self.owner.keys().filter(|other| other.starts_with(path)).cloned().collect();
        for path in gone {
            if let (Some(owner), Some(node)) = (self.owner.remove(&path), at(whole, &path)) {
                self.left.insert((owner, path), node.clone());
            }
        }
    }

    fn own(&mut self, path: &mut Vec<Key>, node: &Node, owner: usize) {
        if node.is_container() {
            self.left.remove(&(owner, path.clone()));
            self.owner.insert(path.clone(), owner);
        }
        if let Value::Map(map) = &node.value {
            for (key, child) in map {
                path.push(key.clone());
                self.own(path, child, owner);
                path.pop();
            }
        }
    }
}
