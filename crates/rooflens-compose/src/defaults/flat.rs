//! The final defaults list.

use std::collections::BTreeSet;

use super::tree::DefaultsTree;
use crate::error::{ComposeError, Fault};
use crate::hydra_tree::EMPTY_CONFIG;
use crate::value::Origin;

/// A config of the final defaults list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultEntry {
    /// Its path.
    pub config_path: String,
    /// Where it is mounted; empty is the top.
    pub package: String,
    /// Whether it stands for itself in its own defaults list.
    pub is_self: bool,
    /// The config whose defaults list names it; `<root>` for the first ones.
    pub parent: String,
    /// Whether it is the config the composition was asked for.
    pub primary: bool,
    /// Where its item was written.
    pub(crate) origin: Origin,
}

/// Writes the tree out, first to last.
pub(super) fn flatten(root: &DefaultsTree) -> Result<Vec<DefaultEntry>, ComposeError> {
    let mut entries = Vec::new();
    let mut keys = BTreeSet::new();
    for child in root.children() {
        walk(child, root, "<root>", &mut entries, &mut keys)?;
    }
    Ok(entries)
}

fn walk(
    tree: &DefaultsTree,
    parent: &DefaultsTree,
    grandparent: &str,
    entries: &mut Vec<DefaultEntry>,
    keys: &mut BTreeSet<String>,
) -> Result<(), ComposeError> {
    let parent_path = path_of(parent);
    if !tree.children().is_empty() {
        for child in tree.children() {
            walk(child, tree, &parent_path, entries, keys)?;
        }
        return Ok(());
    }
    let Some(item) = &tree.item else { return Ok(()) };
    if item.deleted || item.is_missing() || item.name().is_none() {
        return Ok(());
    }
    if item.is_group() && !item.is_self() {
        let key = item.override_key();
        if !keys.insert(key.clone()) {
            return Err(ComposeError::at(Fault::RepeatedChoice { key }, &item.origin));
        }
    }
    let entry = match &parent.item {
        Some(owner) if item.is_self() => DefaultEntry {
            config_path: parent_path,
            package: owner.final_package(),
            is_self: true,
            parent: grandparent.to_owned(),
            primary: owner.primary,
            origin: owner.origin.clone(),
        },
        _ => DefaultEntry {
            config_path: item.config_path(),
            package: item.final_package(),
            is_self: false,
            parent: parent_path,
            primary: item.primary,
            origin: item.origin.clone(),
        },
    };
    if entry.config_path != EMPTY_CONFIG {
        entries.push(entry);
    }
    Ok(())
}

fn path_of(tree: &DefaultsTree) -> String {
    tree.item.as_ref().map_or_else(|| "<root>".to_owned(), super::item::Item::config_path)
}
