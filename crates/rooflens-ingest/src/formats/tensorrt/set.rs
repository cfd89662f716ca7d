//! The files that `trtexec` writes of one engine, told apart by a word at the end of their names, as in
//! `NAME.profile.json`, `NAME.graph.json` and `NAME.timing.json`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::Tensorrt;
use crate::artefact::{Artefact, InputSource, no_progress};
use crate::formats::Format;

/// Words for each kind; the first kind that is there stands for the set.
const KINDS: &[&[&str]] = &[
    &["profile", "layer_profile", "layerprofile"],
    &["graph", "layers", "layer_info", "layerinfo", "engine_info"],
    &["timing", "times", "timings"],
];

/// The set that a name belongs to, and its kind.
fn named(path: &Path) -> Option<(PathBuf, usize)> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".json")?;
    KINDS.iter().enumerate().find_map(|(kind, words)| {
        let before = words.iter().find_map(|word| {
            let rest = stem.strip_suffix(word)?;
            (rest.is_empty() || rest.ends_with(['.', '_', '-'])).then_some(rest)
        })?;
        Some((path.with_file_name(format!("{before}*")), kind))
    })
}

/// The same for a file that is one of them: others may have such a name, too.
fn part(path: &Path) -> Option<(PathBuf, usize)> {
    let found = named(path)?;
    is_one(path).then_some(found)
}

fn is_one(path: &Path) -> bool {
    Artefact::open(&InputSource::File(path.to_owned()), no_progress())
        .is_ok_and(|artefact| Tensorrt.sniff(artefact.probe()))
}

/// The other files of the set, by name.
pub(super) fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some((set, _)) = named(path) else { return vec![] };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return vec![] };
    let names = entries.filter_map(|entry| Some(path.with_file_name(entry.ok()?.file_name())));
    let mut found: Vec<PathBuf> =
        names.filter(|other| other != path && named(other).is_some_and(|(of, _)| of == set)).collect();
    found.retain(|other| is_one(other));
    found.sort();
    found
}

/// Keeps one item of each set: it is read with its siblings.
pub(crate) fn keep_one<T>(items: &mut Vec<T>, path: impl Fn(&T) -> Option<&Path>) {
    let parts: Vec<Option<(PathBuf, usize)>> = items.iter().map(|item| path(item).and_then(part)).collect();
    let mut first: HashMap<&Path, usize> = HashMap::new();
    for (set, kind) in parts.iter().flatten() {
        let best = first.entry(set).or_insert(*kind);
        *best = (*best).min(*kind);
    }
    let mut keep = parts.iter().map(|part| match part {
        Some((set, kind)) => first.get(set.as_path()) == Some(kind),
        None => true,
    });
    items.retain(|_| keep.next().unwrap_or(true));
}
