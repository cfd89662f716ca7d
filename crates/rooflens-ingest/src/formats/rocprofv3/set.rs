//! The files that rocprofv3 writes of one process: `<prefix>_kernel_trace.csv` and its siblings.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What stands behind the prefix; the first that is there stands for the set.
const PARTS: &[&str] = &[
    "_kernel_trace.csv",
    "_memory_copy_trace.csv",
    "_hip_api_trace.csv",
    "_hip_runtime_api_trace.csv",
    "_hip_compiler_api_trace.csv",
    "_hsa_api_trace.csv",
    "_rccl_api_trace.csv",
    "_marker_api_trace.csv",
];

/// What describes the machine's agents, beside a set.
const AGENTS: &str = "_agent_info.csv";

/// A file of a set: folder and prefix, and which part it is. A name without a prefix tells nothing about
/// its neighbours: it is a set of its own.
fn part(path: &Path) -> Option<(PathBuf, usize)> {
    let name = path.file_name()?.to_str()?;
    PARTS.iter().enumerate().find_map(|(index, part)| {
        let prefix = name.strip_suffix(part).filter(|prefix| !prefix.is_empty())?;
        Some((path.with_file_name(prefix), index))
    })
}

/// The other files of the set, as far as they are there.
pub(crate) fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some((prefix, own)) = part(path) else { return vec![] };
    let others = PARTS.iter().enumerate().filter(|(index, _)| *index != own);
    others.map(|(_, part)| with_suffix(&prefix, part)).filter(|path| path.is_file()).collect()
}

/// The description of the agents, if it is there.
pub(crate) fn agents(path: &Path) -> Option<PathBuf> {
    let (prefix, _) = part(path)?;
    Some(with_suffix(&prefix, AGENTS)).filter(|path| path.is_file())
}

/// Whether a file is no trace itself but read beside one.
pub(crate) fn is_beside_a_set(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| name.strip_suffix(AGENTS)).filter(|prefix| !prefix.is_empty());
    let set = prefix.map(|prefix| path.with_file_name(prefix));
    set.is_some_and(|set| PARTS.iter().any(|part| with_suffix(&set, part).is_file()))
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    prefix.with_file_name(name)
}

/// Keeps one item of each set, the one with the kernels where there is one: it is read with its siblings.
pub fn keep_one_a_set<T>(items: &mut Vec<T>, path: impl Fn(&T) -> Option<&Path>) {
    let mut first: HashMap<PathBuf, usize> = HashMap::new();
    for (set, index) in items.iter().filter_map(|item| part(path(item)?)) {
        let best = first.entry(set).or_insert(index);
        *best = index.min(*best);
    }
    items.retain(|item| match path(item).and_then(part) {
        Some((set, index)) => first.get(&set) == Some(&index),
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_stand_for_their_set() {
        let mut paths: Vec<&Path> = [
            "a/7_hip_api_trace.csv",
            "a/7_kernel_trace.csv",
            "b/7_hip_api_trace.csv",
            "kernel_trace.csv",
            "marker_api_trace.csv",
            "trace.json",
        ]
        .map(Path::new)
        .into();
        keep_one_a_set(&mut paths, |path| Some(path));
        let kept: Vec<&str> = paths.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(
            kept,
            [
                "a/7_kernel_trace.csv",
                "b/7_hip_api_trace.csv",
                "kernel_trace.csv",
                "marker_api_trace.csv",
                "trace.json"
            ]
        );
    }
}
