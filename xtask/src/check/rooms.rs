//! A room is a top folder or a crate; its README.md begins with its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::sizes;
use crate::workspace;

pub fn broken() -> Result<Vec<String>> {
    let files = workspace::files()?;
    let rooms: BTreeSet<PathBuf> = files.iter().filter_map(|file| room(file)).collect();
    Ok(rooms.iter().filter_map(|room| no_rule(room)).collect())
}

/// A room with more than this share of all lines is two rooms.
const LARGEST: f64 = 0.2;

pub fn crowded() -> Result<Vec<String>> {
    let mut lines: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for file in workspace::files()?.iter().filter(|file| sizes::is_code(file)) {
        if let Some(room) = room(file) {
            *lines.entry(room).or_default() += workspace::read(file)?.lines().count();
        }
    }
    let all: usize = lines.values().sum();
    let crowded = lines.iter().filter(|(_, count)| **count as f64 > all as f64 * LARGEST);
    Ok(crowded
        .map(|(room, count)| {
            let share = *count as f64 * 100.0 / all as f64;
            format!("{} has {count} of {all} lines, {share:.1} %: make two of it", room.display())
        })
        .collect())
}

/// The room that a file is in; the root is none, and neither is what begins with a dot.
fn room(file: &Path) -> Option<PathBuf> {
    let mut parts = file.parent()?.iter();
    let top = parts.next().filter(|top| !top.to_string_lossy().starts_with('.'))?;
    let folder = PathBuf::from(top);
    match parts.next() {
        Some(inner) if top == "crates" => Some(folder.join(inner)),
        _ => Some(folder),
    }
}

fn no_rule(room: &Path) -> Option<String> {
    let readme = room.join("README.md");
    let Ok(text) = workspace::read(&readme) else {
        return Some(format!("{} is missing", readme.display()));
    };
    let rule: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    // Where readers of a book would wonder, it is a comment.
    let ends = |line: &&str| line.trim_end_matches("-->").trim_end().ends_with('.');
    let is_sentence = rule.last().is_some_and(ends) && !rule[0].starts_with('#');
    (!is_sentence).then(|| format!("{} does not begin with the rule of the room", readme.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_rooms_of_their_own() {
        assert_eq!(room(Path::new("crates/rooflens/src/main.rs")), Some(PathBuf::from("crates/rooflens")));
        assert_eq!(room(Path::new("docs/decisions/0001-x.md")), Some(PathBuf::from("docs")));
        assert_eq!(room(Path::new(".ci/run")), None);
        assert_eq!(room(Path::new("Cargo.toml")), None);
    }
}
