//! Where the content of each file goes: by its header, its folder, or the defaults list that mounts it elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rooflens_compose::value::{Node, Value, python_str};
use rooflens_compose::yaml;

use super::ConfigTree;
use super::rename::{PICTURES, SWEEP};
use crate::project::names;

#[derive(Debug, Default)]
pub(crate) struct Packages {
    mounted: BTreeMap<String, String>,
    set: BTreeSet<String>,
    old: BTreeSet<String>,
}

impl Packages {
    pub(crate) fn of<'a>(tree: &'a ConfigTree) -> Self {
        let mut mounted = BTreeMap::new();
        let read = |(path, text): (&'a String, &'a String)| {
            Some((path, text, yaml::load(text, Arc::from("")).ok()?))
        };
        let files: Vec<(&String, &String, Node)> = tree.iter().filter_map(read).collect();
        for (path, _, node) in &files {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            for key in listed(node) {
                if let Some((group, package)) = key.rsplit_once('@') {
                    let group = group.trim_start_matches("override ").trim();
                    let absolute = match group.strip_prefix('/') {
                        Some(group) => group.to_owned(),
                        None if folder.is_empty() => group.to_owned(),
                        None => format!("{folder}/{group}"),
                    };
                    mounted.insert(absolute, package.to_owned());
                }
            }
        }
        let mut packages = Self { mounted, ..Self::default() };
        for (path, text, node) in &files {
            let package = packages.package(path, text);
            if note(node, &package, &mut packages.set) {
                packages.old.insert((*path).clone());
            }
        }
        packages
    }

    pub(crate) fn is_old(&self, path: &str) -> bool {
        self.old.contains(path)
    }

    /// Every path that a file sets, by its old name or by its new one.
    pub fn set(&self) -> &BTreeSet<String> {
        &self.set
    }

    pub(crate) fn is_mounted(&self, path: &str) -> bool {
        self.mounted.contains_key(path.rsplit_once('/').map_or("", |(folder, _)| folder))
    }

    /// The path that the keys of a file stand under; empty for the root.
    pub(crate) fn package(&self, path: &str, text: &str) -> String {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let group = folder.replace('/', ".");
        let header = yaml::header(text).ok().flatten();
        // One file may be mounted by its own name, or all of its group.
        let alone = self.mounted.get(path.trim_end_matches(".yaml"));
        let named = alone.or_else(|| self.mounted.get(folder)).or(header.as_ref());
        match named.map(String::as_str) {
            None => group,
            Some("_global_") => String::new(),
            Some(package) => package
                .replace("_global_.", "")
                .replace("_group_", &group)
                .replace("_here_", &group)
                .trim_matches('.')
                .to_owned(),
        }
    }
}

/// Notes the paths below a mapping, in today's words where a mapping is called otherwise. Whether one may be old.
fn note(node: &Node, path: &str, set: &mut BTreeSet<String>) -> bool {
    let mut is_old = false;
    for (key, node) in node.as_map().into_iter().flatten() {
        let key = python_str(&key.to_value());
        let path = if path.is_empty() { key } else { format!("{path}.{key}") };
        let found = names::table().find(&path);
        is_old |= found.is_some() || path == SWEEP || path == PICTURES;
        let moved = found.filter(|found| found.row.test.is_none());
        let path = moved.and_then(|found| found.new).unwrap_or(path);
        is_old |= note(node, &path, set);
        set.insert(path);
    }
    is_old
}

/// The keys of a defaults list, as they are written: `override /model@x`, `hydra`, `_self_`.
pub fn defaults(text: &str) -> Vec<String> {
    yaml::load(text, Arc::from("")).map(|node| listed(&node)).unwrap_or_default()
}

fn listed(node: &Node) -> Vec<String> {
    match node.get(&["defaults"]).map(|node| &node.value) {
        Some(Value::List(items)) => items.iter().filter_map(key).collect(),
        _ => Vec::new(),
    }
}

fn key(item: &Node) -> Option<String> {
    match &item.value {
        Value::Str(text) => Some(text.clone()),
        Value::Map(map) => map.keys().next().map(|key| python_str(&key.to_value())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_stands_where_its_header_folder_or_mount_says() {
        let tree = ConfigTree::from([(
            "config.yaml".to_owned(),
            "defaults:\n  - profiling/torch@pipeline.torch_profiler: small\n  - model/x/arch@model: d\n"
                .to_owned(),
        )]);
        let packages = Packages::of(&tree);
        assert_eq!(packages.package("config.yaml", ""), "");
        assert_eq!(packages.package("runtime/pytorch.yaml", "a: 1"), "runtime");
        assert_eq!(packages.package("profiling/torch/small.yaml", ""), "pipeline.torch_profiler");
        assert_eq!(packages.package("model/x/arch/d.yaml", ""), "model");
        assert_eq!(packages.package("a/b.yaml", "# @package _global_\nx: 1\n"), "");
        assert_eq!(packages.package("a/b.yaml", "# @package _group_.c\nx: 1\n"), "a.c");
    }
}
