//! License files: which they are, and that they accompany every part of a source.

use std::collections::BTreeSet;

use crate::project::git::literal;

const STEMS: &[&str] = &["license", "licence", "copying", "notice", "unlicense"];
const PROGRAM_ENDINGS: &[&str] =
    &["py", "rs", "c", "h", "cc", "cpp", "cu", "js", "ts", "go", "java", "sh", "toml"];

pub(super) fn is_license(name: &str) -> bool {
    let name = name.to_lowercase();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    STEMS.iter().any(|stem| name.starts_with(stem)) && !PROGRAM_ENDINGS.contains(&ending)
}

/// The license files among a source's files that apply to the paths taken: at the root, on the way to each path and in
/// it, and in a folder `LICENSES` there. The licenses of vendored code deeper down come along, but are not listed.
pub(super) fn of(files: &[String], paths: &[String]) -> Vec<String> {
    let folders = folders(paths);
    let applies = |file: &&String| {
        let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
        let (above, last) = folder.rsplit_once('/').unwrap_or(("", folder));
        let is_license_folder = matches!(last.to_lowercase().as_str(), "licenses" | "licences");
        (folders.contains(folder) && is_license(name)) || (is_license_folder && folders.contains(above))
    };
    let mut found: Vec<String> = files.iter().filter(applies).cloned().collect();
    found.sort();
    found
}

fn folders(paths: &[String]) -> BTreeSet<&str> {
    let mut folders = BTreeSet::from([""]);
    for path in paths {
        folders.insert(path);
        folders.extend(path.match_indices('/').map(|(at, _)| &path[..at]));
    }
    folders
}

pub(super) fn sparse_patterns(paths: &[String]) -> Vec<String> {
    // Patterns distinguish upper from lower case, authors do not.
    let any_case = |stem: &str| {
        stem.chars().map(|letter| format!("[{}{letter}]", letter.to_ascii_uppercase())).collect::<String>()
    };
    let taken = paths.iter().map(|path| format!("/{}", literal(path)));
    let licenses = folders(paths).into_iter().flat_map(|folder| {
        let folder = if folder.is_empty() { String::new() } else { format!("/{}", literal(folder)) };
        STEMS.iter().map(move |stem| format!("{folder}/{}*", any_case(stem)))
    });
    taken.chain(licenses).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn license_files_on_the_way_are_listed_and_programs_and_vendored_code_are_not() {
        let files = ["LICENSE", "a/License.txt", "a/b/COPYING", "a/b/license_check.py", "LICENSES/MIT.txt"];
        let others = ["a/vendor/LICENSE", "z/NOTICE", "noticeable.rs", "licensing"];
        let all: Vec<String> = files.iter().chain(&others).map(|file| (*file).to_owned()).collect();
        let found = of(&all, &["a/b".to_owned()]);
        assert_eq!(found, ["LICENSE", "LICENSES/MIT.txt", "a/License.txt", "a/b/COPYING"]);
    }

    #[test]
    fn patterns_are_literal() {
        let patterns = sparse_patterns(&["a b/[x]*".to_owned()]);
        assert_eq!(patterns[..2], [r"/a b/\[x\]\*", "/[Ll][Ii][Cc][Ee][Nn][Ss][Ee]*"]);
    }
}
