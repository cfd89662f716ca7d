//! Where configs come from: an ordered search path of folders, and Hydra's own configs around them.

mod repository;
mod source;

use std::fmt;

pub use source::{ConfigSource, GroupContent};

pub(crate) use repository::{Repository, Texts};

#[derive(Debug, Clone)]
pub(crate) struct SearchEntry {
    /// Who named it: `hydra`, `main`, `command-line`, `schema`, or the place of `hydra.searchpath`.
    pub(crate) provider: String,
    pub(crate) source: ConfigSource,
}

impl fmt::Display for SearchEntry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "provider={}, path={}", self.provider, self.source)
    }
}

/// The places configs are looked for in, in order: the first that has a config wins. Hydra's own
/// files always come first and its classes last.
#[derive(Debug, Clone)]
pub struct SearchPath {
    entries: Vec<SearchEntry>,
}

impl SearchPath {
    /// The search path of a project whose configs are in `main`.
    pub fn new(main: ConfigSource) -> Self {
        let entry = |provider: &str, source| SearchEntry { provider: provider.to_owned(), source };
        Self {
            entries: vec![
                entry("hydra", ConfigSource::hydra_files()),
                entry("main", main),
                entry("schema", ConfigSource::hydra_classes()),
            ],
        }
    }

    pub(crate) fn with(mut self, provider: &str, source: ConfigSource) -> Self {
        let before_classes = self.entries.len().saturating_sub(1);
        self.entries.insert(before_classes, SearchEntry { provider: provider.to_owned(), source });
        self
    }

    pub(crate) fn entries(&self) -> &[SearchEntry] {
        &self.entries
    }

    pub(crate) fn group_exists(&self, group: &str) -> bool {
        self.entries.iter().any(|entry| entry.source.is_group(group))
    }

    /// Whether a config of this path exists; `.yaml` may be left out.
    pub(crate) fn config_exists(&self, path: &str) -> bool {
        self.entries.iter().any(|entry| entry.source.is_config(path))
    }

    /// The options of a group, or the groups in it, sorted. The empty path is the top.
    pub fn list(&self, group: &str, listing: GroupContent) -> Vec<String> {
        let holders = self.entries.iter().filter(|entry| entry.source.is_group(group));
        let mut names: Vec<String> = holders.flat_map(|entry| entry.source.list(group, listing)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// All groups that have options, and the options of each, sorted.
    pub fn groups(&self) -> Vec<(String, Vec<String>)> {
        let mut found = Vec::new();
        self.collect_groups("", 0, &mut found);
        found.sort();
        found
    }

    fn collect_groups(&self, parent: &str, depth: usize, found: &mut Vec<(String, Vec<String>)>) {
        // A folder can contain itself by a link.
        if depth > MAX_GROUP_DEPTH {
            return;
        }
        for name in self.list(parent, GroupContent::Groups) {
            let group = if parent.is_empty() { name } else { format!("{parent}/{name}") };
            let options = self.list(&group, GroupContent::Options);
            if !options.is_empty() {
                found.push((group.clone(), options));
            }
            self.collect_groups(&group, depth + 1, found);
        }
    }
}

const MAX_GROUP_DEPTH: usize = 32;
