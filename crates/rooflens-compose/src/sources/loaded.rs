//! A config as its file has it.

use crate::defaults::Item;
use crate::value::{Node, Value};

/// A config as its file has it.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The package its header names, as written.
    pub(crate) header: Option<String>,
    /// Its values, without the defaults list.
    pub(crate) config: Node,
    /// Its defaults list.
    pub(crate) defaults: Vec<Item>,
    /// Whether Hydra's classes are where it was found.
    pub(crate) from_classes: bool,
}

impl Loaded {
    /// Whether it has a value that is not left open with `???`.
    pub(crate) fn has_content(&self) -> bool {
        match &self.config.value {
            Value::Map(map) => map.values().any(|node| !node.is_missing()),
            _ => false,
        }
    }
}
