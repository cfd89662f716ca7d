//! Names in archives, which may be anything.

use std::path::PathBuf;

use super::Record;
use super::problem::ArchiveProblem;

/// The most folders around an entry.
const MAX_DEPTH: usize = 64;

/// The path of an entry below the folder it is unpacked into; empty for that folder itself (`./`).
///
/// Nothing is mended: a name that would have to be is refused, since two readers could mend it
/// differently. Only `.` and empty parts are dropped, which tar and zip write by habit.
pub(super) fn entry_path(name: &str) -> Result<PathBuf, ArchiveProblem> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(ArchiveProblem::OddName);
    }
    if name.starts_with('/') {
        return Err(ArchiveProblem::AbsolutePath);
    }
    let has_drive = matches!(name.as_bytes(), [drive, b':', ..] if drive.is_ascii_alphabetic());
    if has_drive || name.contains('\\') {
        return Err(ArchiveProblem::WindowsPath);
    }
    let mut path = PathBuf::new();
    let mut depth = 0;
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => return Err(ArchiveProblem::ParentPath),
            part => {
                path.push(part);
                depth += 1;
            }
        }
    }
    if depth > MAX_DEPTH {
        return Err(ArchiveProblem::TooDeep { limit: MAX_DEPTH });
    }
    // Some file systems take both cases for one name.
    if path.to_str().is_some_and(|path| path.eq_ignore_ascii_case(Record::FILE)) {
        return Err(ArchiveProblem::ReservedName);
    }
    Ok(path)
}

/// Whether a link in a folder so deep stays inside.
///
/// It may climb first and then go down. `..` after a name is refused: the name could be another
/// link, and then `..` is not what it looks like.
pub(super) fn stays_inside(target: &str, depth: usize) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains('\\') {
        return false;
    }
    let mut climbed = 0;
    let mut has_gone_down = false;
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." if has_gone_down => return false,
            ".." => climbed += 1,
            _ => has_gone_down = true,
        }
    }
    climbed <= depth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_kept_and_others_refused() {
        assert_eq!(entry_path("a/b c/ü.txt"), Ok(PathBuf::from("a/b c/ü.txt")));
        assert_eq!(entry_path("./a//b/"), Ok(PathBuf::from("a/b")));
        assert_eq!(entry_path("./"), Ok(PathBuf::new()));
        assert_eq!(entry_path("a..b/..c"), Ok(PathBuf::from("a..b/..c")));
        for (name, problem) in [
            ("", ArchiveProblem::OddName),
            ("a\0b", ArchiveProblem::OddName),
            ("a\nb", ArchiveProblem::OddName),
            ("/etc/passwd", ArchiveProblem::AbsolutePath),
            ("..", ArchiveProblem::ParentPath),
            ("a/../../b", ArchiveProblem::ParentPath),
            ("a/..", ArchiveProblem::ParentPath),
            ("C:/x", ArchiveProblem::WindowsPath),
            ("c:x", ArchiveProblem::WindowsPath),
            ("..\\x", ArchiveProblem::WindowsPath),
            ("\\\\host\\share", ArchiveProblem::WindowsPath),
            (".Rooflens-extracted.json", ArchiveProblem::ReservedName),
        ] {
            assert_eq!(entry_path(name), Err(problem), "{name:?}");
        }
        let deep = "a/".repeat(65);
        assert_eq!(entry_path(&deep), Err(ArchiveProblem::TooDeep { limit: 64 }));
    }

    #[test]
    fn links_may_climb_as_high_as_they_lie_deep() {
        for (target, depth, is_inside) in [
            ("b", 0, true),
            ("./b/c", 0, true),
            ("../b", 0, false),
            ("../b", 1, true),
            ("../../b", 1, false),
            ("b/../c", 1, false),
            ("/etc", 3, false),
            ("..\\b", 3, false),
            ("", 3, false),
        ] {
            assert_eq!(stays_inside(target, depth), is_inside, "{target:?} at {depth}");
        }
    }
}
