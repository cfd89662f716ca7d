//! Licence files: which they are, and that they come along with every part of a source.

use std::collections::BTreeSet;

use super::identifiers::InnerPath;
use crate::git::literal;

/// How their names start, in lower case.
const STEMS: &[&str] = &["license", "licence", "copying", "notice", "unlicense"];
/// Endings of programs that deal with licences, such as `license_check.py`.
const PROGRAM_ENDINGS: &[&str] =
    &["py", "rs", "c", "h", "cc", "cpp", "cu", "js", "ts", "go", "java", "sh", "toml"];

/// Whether a file of that name holds a licence.
pub(super) fn is_licence(name: &str) -> bool {
    let name = name.to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    STEMS.iter().any(|stem| name.starts_with(stem)) && !PROGRAM_ENDINGS.contains(&ending)
}

/// The licence files among a source's files that hold for the paths taken: those at the root, on the
/// way to each path and in it, and in a folder `LICENSES` there. Those of vendored code deeper down
/// come along with it, but are not listed.
pub(super) fn of<'a>(files: impl Iterator<Item = &'a str>, paths: &[InnerPath]) -> Vec<String> {
    let folders = folders(paths);
    let holds = |file: &str| {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
        (folders.contains(folder) && is_licence(name)) || (is_licence_folder(last) && folders.contains(above))
    };
    let mut found: Vec<String> = files.filter(|file| holds(file)).map(str::to_owned).collect();
    found.sort();
    found
}

fn is_licence_folder(name: &str) -> bool {
    matches!(name.to_lowercase().as_str(), "licenses" | "licences")
}

/// The root, and every folder on the way to a path, the path included.
fn folders(paths: &[InnerPath]) -> BTreeSet<String> {
    let mut folders = BTreeSet::from([String::new()]);
    for path in paths {
        let mut folder = String::new();
        for part in path.as_str().split('/') {
            if !folder.is_empty() {
                folder.push('/');
            }
            folder.push_str(part);
            folders.insert(folder.clone());
        }
    }
    folders
}

/// The patterns of a sparse checkout: the paths, and the licence files that hold for them.
pub(super) fn sparse_patterns(paths: &[InnerPath]) -> Vec<String> {
    let taken = paths.iter().map(|path| format!("/{}", literal(path.as_str())));
    let licences = folders(paths).into_iter().flat_map(|folder| {
        let folder = if folder.is_empty() { String::new() } else { format!("/{}", literal(&folder)) };
        STEMS.iter().map(move |stem| format!("{folder}/{}*", any_case(stem)))
    });
    taken.chain(licences).collect()
}

/// Patterns know upper from lower case, authors do not.
fn any_case(stem: &str) -> String {
    stem.chars().map(|char| format!("[{}{char}]", char.to_ascii_uppercase())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_told_from_programs() {
        for name in ["LICENSE", "License.txt", "COPYING.LESSER", "NOTICE.md", "LICENCE-MIT", "UNLICENSE"] {
            assert!(is_licence(name), "{name}");
        }
        for name in ["license_check.py", "licensing", "README", "noticeable.rs", "src"] {
            assert!(!is_licence(name), "{name}");
        }
    }

    #[test]
    fn those_on_the_way_count_and_vendored_ones_do_not() {
        let files =
            ["LICENSE", "a/LICENSE", "a/b/COPYING", "a/vendor/LICENSE", "LICENSES/MIT.txt", "z/NOTICE"];
        let paths = [InnerPath::parse("a/b").unwrap()];
        assert_eq!(
            of(files.into_iter(), &paths),
            ["LICENSE", "LICENSES/MIT.txt", "a/LICENSE", "a/b/COPYING"]
        );
    }

    #[test]
    fn patterns_are_literal() {
        let patterns = sparse_patterns(&[InnerPath::parse("a b/[x]*").unwrap()]);
        assert_eq!(patterns[0], r"/a b/\[x\]\*");
        assert_eq!(patterns[1], "/[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*");
    }
}
