//! From the graph to the tree, first half: merge keys, duplicate keys, values.
//!
//! `PyYAML` builds breadth first and folds merged pairs into the nodes it passes, and a mapping
//! folded before its own turn is checked for duplicate keys with the merged pairs in it. The order
//! here is the same, so that the same documents are refused.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use crate::value::{Node, Value};

use super::error::{YamlError, YamlProblem, excerpt};
use super::graph::{Content, Graph, NodeId};
use super::tag::Tag;
use super::{MAX_DEPTH, MAX_NODES, origin, scalar};

/// Builds the tree of a document.
pub(super) fn build(graph: Graph, text: &str, file: &Arc<str>) -> Result<Node, YamlError> {
    let Some(root) = graph.root else {
        return Ok(Node::at(Value::Null, origin(file, 1, 1)));
    };
    let count = graph.nodes.len();
    let mut building = Building {
        graph,
        scalars: vec![None; count],
        seen: vec![false; count],
        queue: VecDeque::new(),
        merged_pairs: 0,
        open: vec![false; count],
        built: vec![false; count],
        nodes: 0,
        aliased_bytes: 0,
    };
    let result = building.check(root).and_then(|()| building.tree(root, file));
    result.map_err(|fault| {
        let place = &building.graph.nodes[fault.node];
        YamlError::new(fault.problem, file, text, place.line, place.column)
    })
}

/// A problem and the node it stands at.
pub(super) struct Fault {
    pub(super) problem: YamlProblem,
    pub(super) node: NodeId,
}

pub(super) fn fault<T>(problem: YamlProblem, node: NodeId) -> Result<T, Fault> {
    Err(Fault { problem, node })
}

/// A document on its way from graph to tree.
pub(super) struct Building {
    pub(super) graph: Graph,
    pub(super) scalars: Vec<Option<Value>>,
    pub(super) seen: Vec<bool>,
    pub(super) queue: VecDeque<NodeId>,
    pub(super) merged_pairs: usize,
    /// Nodes between the root and the one being built.
    pub(super) open: Vec<bool>,
    pub(super) built: Vec<bool>,
    pub(super) nodes: usize,
    pub(super) aliased_bytes: usize,
}

impl Building {
    /// Reads every scalar and folds every merge, breadth first.
    fn check(&mut self, root: NodeId) -> Result<(), Fault> {
        self.visit(root)?;
        while let Some(node) = self.queue.pop_front() {
            let tag = self.graph.nodes[node].tag.clone();
            match (&tag, &self.graph.nodes[node].content) {
                (Tag::Seq, Content::Sequence(items)) => {
                    for item in items.clone() {
                        self.visit(item)?;
                    }
                }
                (Tag::Map, Content::Mapping(_)) => self.check_mapping(node)?,
                (Tag::Omap | Tag::Pairs, Content::Sequence(items)) => {
                    for item in items.clone() {
                        let (key, value) = self.single_pair(item, &tag)?;
                        self.visit(key)?;
                        self.visit(value)?;
                    }
                }
                (_, content) => {
                    let found = content.shape();
                    return fault(YamlProblem::TagShape { tag: tag.to_string(), found }, node);
                }
            }
        }
        Ok(())
    }

    fn visit(&mut self, node: NodeId) -> Result<(), Fault> {
        if std::mem::replace(&mut self.seen[node], true) {
            return Ok(());
        }
        match &self.graph.nodes[node].tag {
            Tag::Seq | Tag::Map | Tag::Omap | Tag::Pairs => self.queue.push_back(node),
            tag @ (Tag::Merge | Tag::Value | Tag::Other(_)) => {
                return fault(YamlProblem::UnknownTag { tag: tag.to_string() }, node);
            }
            tag => {
                let text = self.scalar_text(node)?;
                let value = scalar::construct(tag, text).or_else(|problem| fault(problem, node))?;
                self.scalars[node] = Some(value);
            }
        }
        Ok(())
    }

    /// The text of a scalar; of a mapping, that of its `=` key.
    fn scalar_text(&self, node: NodeId) -> Result<&str, Fault> {
        let mut at = node;
        // The bound stops a mapping whose `=` is itself.
        for _ in 0..MAX_DEPTH {
            let stands = match &self.graph.nodes[at].content {
                Content::Scalar(text) => return Ok(text),
                Content::Sequence(_) => None,
                Content::Mapping(pairs) => {
                    pairs.iter().find(|(key, _)| self.graph.nodes[*key].tag == Tag::Value)
                }
            };
            let Some((_, value)) = stands else { break };
            at = *value;
        }
        let tag = self.graph.nodes[node].tag.to_string();
        fault(YamlProblem::TagShape { tag, found: self.graph.nodes[at].content.shape() }, at)
    }

    fn check_mapping(&mut self, node: NodeId) -> Result<(), Fault> {
        self.refuse_duplicates(node)?;
        self.fold_merges(node, 0)?;
        for (key, value) in self.pairs(node).to_vec() {
            self.visit(key)?;
            if self.scalars[key].is_none() {
                let kind = self.graph.nodes[key].content.shape();
                return fault(YamlProblem::CollectionKey { kind }, key);
            }
            self.visit(value)?;
        }
        Ok(())
    }

    /// Only keys that are text are compared; of others the last one wins, as in Python.
    fn refuse_duplicates(&self, node: NodeId) -> Result<(), Fault> {
        let mut keys = HashSet::new();
        for (key, _) in self.pairs(node) {
            let key_node = &self.graph.nodes[*key];
            if let (Tag::Str, Content::Scalar(text)) = (&key_node.tag, &key_node.content)
                && !keys.insert(text.as_str())
            {
                return fault(YamlProblem::DuplicateKey { key: excerpt(text) }, *key);
            }
        }
        Ok(())
    }

    /// Puts the pairs of `<<` in front, so that the mapping's own win. An `=` key becomes text.
    fn fold_merges(&mut self, node: NodeId, depth: usize) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            return fault(YamlProblem::TooDeep { limit: MAX_DEPTH }, node);
        }
        let mut merged = Vec::new();
        let mut index = 0;
        while let Some((key, value)) = self.pairs(node).get(index).copied() {
            match self.graph.nodes[key].tag {
                Tag::Merge => {
                    // Removed before the recursion: a mapping may merge itself.
                    if let Content::Mapping(pairs) = &mut self.graph.nodes[node].content {
                        pairs.remove(index);
                    }
                    let sources = match &self.graph.nodes[value].content {
                        Content::Mapping(_) => vec![value],
                        Content::Sequence(items) => items.clone(),
                        Content::Scalar(_) => {
                            return fault(YamlProblem::MergeSource { found: "scalar" }, value);
                        }
                    };
                    let mut folded = Vec::with_capacity(sources.len());
                    for source in sources {
                        let content = &self.graph.nodes[source].content;
                        if !matches!(content, Content::Mapping(_)) {
                            let found = content.shape();
                            return fault(YamlProblem::MergeSource { found }, source);
                        }
                        self.fold_merges(source, depth + 1)?;
                        folded.push(self.pairs(source).to_vec());
                        self.merged_pairs += self.pairs(source).len();
                        if self.merged_pairs > MAX_NODES {
                            return fault(YamlProblem::TooManyNodes { limit: MAX_NODES }, value);
                        }
                    }
                    // Of several sources the first wins, so it comes last.
                    merged.extend(folded.into_iter().rev().flatten());
                }
                Tag::Value => {
                    self.graph.nodes[key].tag = Tag::Str;
                    index += 1;
                }
                _ => index += 1,
            }
        }
        if let Content::Mapping(pairs) = &mut self.graph.nodes[node].content {
            pairs.splice(0..0, merged);
        }
        Ok(())
    }

    fn single_pair(&self, node: NodeId, tag: &Tag) -> Result<(NodeId, NodeId), Fault> {
        match &self.graph.nodes[node].content {
            Content::Mapping(pairs) if pairs.len() == 1 => Ok(pairs[0]),
            content => {
                let found = content.shape();
                fault(YamlProblem::TagShape { tag: tag.to_string(), found }, node)
            }
        }
    }

    fn pairs(&self, node: NodeId) -> &[(NodeId, NodeId)] {
        match &self.graph.nodes[node].content {
            Content::Mapping(pairs) => pairs,
            _ => &[],
        }
    }
}
