//! From the graph to the tree, second half: what is shared is copied, within bounds.

use std::sync::Arc;

use crate::value::{Key, Map, Node, Value};

use super::construct::{Building, Fault, fault};
use super::error::YamlProblem;
use super::graph::{Content, NodeId};
use super::tag::Tag;
use super::{MAX_ALIASED_BYTES, MAX_DEPTH, MAX_NODES, origin};

/// A collection that is being copied.
struct Copying {
    /// Its key in the mapping around it.
    key: Option<Key>,
    node: NodeId,
    value: Value,
    /// What is still to be copied: the key, the node, and whether it is a pair of an ordered map.
    waiting: std::vec::IntoIter<(Option<Key>, NodeId, bool)>,
}

impl Copying {
    fn put(&mut self, key: Option<Key>, node: Node) {
        match (&mut self.value, key) {
            (Value::List(items), _) => items.push(node),
            (Value::Map(map), Some(key)) => {
                map.insert(key, node);
            }
            _ => {}
        }
    }
}

impl Building {
    /// Copies a node and what is below it out of the graph. A stack of its own keeps deep
    /// documents off the thread's.
    pub(super) fn tree(&mut self, root: NodeId, file: &Arc<str>) -> Result<Node, Fault> {
        self.count(root, 0)?;
        if let Some(scalar) = &self.scalars[root] {
            return Ok(self.at(root, scalar.clone(), file));
        }
        let mut stack = vec![self.open(None, root, false)?];
        loop {
            let depth = stack.len();
            let Some(top) = stack.last_mut() else { return fault(YamlProblem::NullKey, root) };
            if let Some((key, child, is_pair)) = top.waiting.next() {
                self.count(child, depth)?;
                match &self.scalars[child] {
                    Some(scalar) if !is_pair => top.put(key, self.at(child, scalar.clone(), file)),
                    _ => stack.push(self.open(key, child, is_pair)?),
                }
            } else if let Some(done) = stack.pop() {
                self.open[done.node] = false;
                let node = self.at(done.node, done.value, file);
                match stack.last_mut() {
                    Some(parent) => parent.put(done.key, node),
                    None => return Ok(node),
                }
            }
        }
    }

    /// Begins the copy of a collection; of a pair of an ordered map, the list of its two.
    fn open(&mut self, key: Option<Key>, node: NodeId, is_pair: bool) -> Result<Copying, Fault> {
        if std::mem::replace(&mut self.open[node], true) {
            return fault(YamlProblem::RecursiveAlias, node);
        }
        let has_pairs = matches!(self.graph.nodes[node].tag, Tag::Omap | Tag::Pairs);
        let mut value = Value::List(Vec::new());
        let waiting = match &self.graph.nodes[node].content {
            Content::Scalar(_) => Vec::new(),
            Content::Sequence(items) => items.iter().map(|item| (None, *item, has_pairs)).collect(),
            Content::Mapping(pairs) if is_pair => {
                pairs.iter().flat_map(|(key, value)| [(None, *key, false), (None, *value, false)]).collect()
            }
            Content::Mapping(pairs) => {
                value = Value::Map(Map::with_capacity(pairs.len()));
                let keyed =
                    |(key, value): &(NodeId, NodeId)| self.key(*key).map(|key| (Some(key), *value, false));
                pairs.iter().map(keyed).collect::<Result<Vec<_>, _>>()?
            }
        };
        Ok(Copying { key, node, value, waiting: waiting.into_iter() })
    }

    fn at(&self, node: NodeId, value: Value, file: &Arc<str>) -> Node {
        let place = &self.graph.nodes[node];
        Node::at(value, origin(file, place.line, place.column))
    }

    fn key(&self, node: NodeId) -> Result<Key, Fault> {
        match &self.scalars[node] {
            Some(Value::Str(text)) => Ok(Key::Str(text.clone())),
            Some(Value::Int(int)) => Ok(Key::Int(int.clone())),
            Some(Value::Float(float)) => Ok(Key::Float(float.to_bits())),
            Some(Value::Bool(flag)) => Ok(Key::Bool(*flag)),
            Some(Value::Bytes(bytes)) => Ok(Key::Bytes(bytes.clone())),
            _ => fault(YamlProblem::NullKey, node),
        }
    }

    /// Keeps the copies of aliases within bounds.
    fn count(&mut self, node: NodeId, depth: usize) -> Result<(), Fault> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return fault(YamlProblem::TooManyNodes { limit: MAX_NODES }, node);
        }
        if depth > MAX_DEPTH {
            return fault(YamlProblem::TooDeep { limit: MAX_DEPTH }, node);
        }
        if std::mem::replace(&mut self.built[node], true)
            && let Content::Scalar(text) = &self.graph.nodes[node].content
        {
            self.aliased_bytes += text.len();
            if self.aliased_bytes > MAX_ALIASED_BYTES {
                return fault(YamlProblem::TooMuchText { limit: MAX_ALIASED_BYTES }, node);
            }
        }
        Ok(())
    }
}
