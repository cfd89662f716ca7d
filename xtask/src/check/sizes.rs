//! A file that nobody can hold in their head is cut.

use std::path::Path;

use anyhow::Result;

use crate::workspace;

const LINES: usize = 600;
const KINDS: &[&str] = &["rs", "py", "sh", "js", "css"];

/// Files that may be longer, each with its reason.
const LONGER: &[(&str, &str)] = &[];

/// Whether a file is a program, or part of one.
pub fn is_code(file: &Path) -> bool {
    let kind = file.extension().and_then(|kind| kind.to_str()).unwrap_or_default();
    KINDS.contains(&kind)
}

pub fn broken() -> Result<Vec<String>> {
    let mut broken = Vec::new();
    for file in workspace::files()? {
        let name = file.to_string_lossy();
        if !is_code(&file) || LONGER.iter().any(|(longer, _)| *longer == name) {
            continue;
        }
        let lines = workspace::read(&file)?.lines().count();
        if lines > LINES {
            broken
                .push(format!("{name} has {lines} lines, {LINES} at most: cut it, or list it with a reason"));
        }
    }
    let absent = LONGER.iter().filter(|(longer, _)| !workspace::root().join(longer).is_file());
    broken
        .extend(absent.map(|(longer, _)| format!("xtask/src/check/sizes.rs lists {longer}, which is gone")));
    Ok(broken)
}
