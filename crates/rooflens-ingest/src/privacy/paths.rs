//! Folders tell who worked where. Of a path stays what stands in an installed package, which is the same
//! on every machine, or the file's name.

use super::{begins, replace, run};

/// Behind these folders a path is that of an installed package.
const PACKAGES: [&str; 2] = ["site-packages", "dist-packages"];
/// In these, the next folder is a person's.
const HOMES: [&str; 2] = ["home", "Users"];

/// First folders of paths on machines; names of nodes seldom begin so.
const ROOTS: [&str; 12] =
    ["root", "mnt", "media", "tmp", "var", "usr", "opt", "srv", "etc", "private", "workspace", "scratch"];

/// Whether a text holds a path that begins as those of machines do, and not only as names of nodes do.
pub(crate) fn is_of_machine(text: &str) -> bool {
    let folders = || text.split(['/', '\\']);
    let first = |at: usize| text[at + 1..].split('/').next().is_some_and(|folder| ROOTS.contains(&folder));
    let is_root = |(at, _): (usize, &str)| begins(text, at, "/\\.~-)") && first(at);
    text.contains('\\')
        || text.contains("~/")
        || folders().any(|folder| HOMES.contains(&folder))
        || text.match_indices('/').any(is_root)
}

/// The text with its paths shortened.
pub(crate) fn folders(text: &str) -> Option<String> {
    if !text.contains(['/', '\\']) {
        return None;
    }
    // `path(line): function`, as frames are written: here a path may hold spaces.
    if let Some(end) = text.find(".py(").map(|dot| dot + 3)
        && is_rooted(text)
    {
        let rest = folders(&text[end..]);
        return shortened(&text[..end]).map(|path| path + rest.as_deref().unwrap_or(&text[end..]));
    }
    replace(text, |text, at| {
        if !begins(text, at, "/\\.~-)") {
            return None;
        }
        let path = &text[at..at + run(&text[at..], is_of_path)];
        let has_home = || path.split(['/', '\\']).any(|folder| HOMES.contains(&folder));
        if !is_rooted(path) && !has_home() {
            return None;
        }
        // A full stop or colon at the end is the sentence's.
        let path = path.trim_end_matches(['.', ':']);
        Some((path.len(), shortened(path)?))
    })
}

fn is_of_path(letter: char) -> bool {
    letter.is_alphanumeric() || "/\\._-+~@%:#$".contains(letter)
}

/// Whether it is a path from a root: `/a/b`, `~/a`, `C:\a`.
fn is_rooted(path: &str) -> bool {
    let bytes = path.as_bytes();
    match bytes {
        [b'/', second, ..] => *second != b'/' && path[1..].contains('/'),
        [b'~', ..] => path.contains('/'),
        [drive, b':', b'\\' | b'/', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

/// What stays of a path; `None` where all of it does.
fn shortened(path: &str) -> Option<String> {
    let folders: Vec<&str> = path.split(['/', '\\']).collect();
    let behind = folders.iter().rposition(|folder| PACKAGES.contains(folder)).or_else(|| standard(&folders));
    let kept = match behind {
        Some(at) => folders[at + 1..].join("/"),
        // A person's folder itself has no name that may stay.
        None if folders
            .iter()
            .rposition(|folder| HOMES.contains(folder))
            .is_some_and(|at| at + 2 >= folders.len()) =>
        {
            "<home>".to_owned()
        }
        None => folders
            .last()
            .map(|&name| name.to_owned())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "<folder>".to_owned()),
    };
    (kept != path).then_some(kept)
}

/// The folder of Python's own modules: `lib/python3.11`.
fn standard(folders: &[&str]) -> Option<usize> {
    let version = |folder: &str| {
        folder
            .strip_prefix("python")
            .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()))
    };
    (1..folders.len().saturating_sub(1))
        .rev()
        .find(|&i| folders[i - 1].starts_with("lib") && version(folders[i]))
}
