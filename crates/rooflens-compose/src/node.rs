//! Questions every part of a composition asks of a value.

use crate::interpolation::is_interpolation;
use crate::value::{Key, Map, Node, Value};

/// How deep a config may be nested: what walks it must not run out of stack. A file may have
/// [`yaml::MAX_DEPTH`](crate::yaml::MAX_DEPTH) levels; packages and interpolations add to that.
pub(crate) const MAX_DEPTH: usize = 600;

impl Node {
    /// How many levels of lists and mappings there are.
    pub(crate) fn depth(&self) -> usize {
        match &self.value {
            Value::List(items) => 1 + items.iter().map(Node::depth).max().unwrap_or(0),
            Value::Map(map) => 1 + map.values().map(Node::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Whether it is left open: `???`.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(&self.value, Value::Str(text) if text == "???")
    }

    /// Whether it is an interpolation, or text with one in it.
    #[must_use]
    pub fn is_interpolation(&self) -> bool {
        matches!(&self.value, Value::Str(text) if is_interpolation(text))
    }

    /// Whether it is a list or a mapping.
    #[must_use]
    pub fn is_container(&self) -> bool {
        matches!(self.value, Value::List(_) | Value::Map(_))
    }

    /// The mapping, where it is one.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The mapping, where it is one, to change it.
    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match &mut self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The text, where it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The value under a path of text keys; nothing is resolved on the way.
    #[must_use]
    pub fn get(&self, keys: &[&str]) -> Option<&Node> {
        keys.iter().try_fold(self, |node, key| node.as_map()?.get(&Key::from(*key)))
    }

    /// As [`get`](Self::get), to change it.
    pub(crate) fn get_mut(&mut self, keys: &[&str]) -> Option<&mut Node> {
        keys.iter().try_fold(self, |node, key| node.as_map_mut()?.get_mut(&Key::from(*key)))
    }
}
