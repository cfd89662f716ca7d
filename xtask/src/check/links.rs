//! A link or a path that a document names leads somewhere.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use anyhow::Result;

use crate::{markdown, workspace};

pub fn broken() -> Result<Vec<String>> {
    let files = workspace::files()?;
    let tops: BTreeSet<&str> = files
        .iter()
        .filter(|file| file.iter().count() > 1)
        .filter_map(|file| file.iter().next()?.to_str())
        .collect();
    let mut broken = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "md")) {
        let text = workspace::read(file)?;
        let (blocks, prose) = markdown::split(&text);
        // What the document itself tells the reader to make need not be there yet.
        let made: Vec<&str> = blocks.iter().filter_map(|block| block.attribute("file")).collect();
        let folder = file.parent().unwrap_or(Path::new(""));
        for (number, line) in prose {
            let links = markdown::links(line)
                .into_iter()
                .filter_map(|link| local(link))
                .map(|link| folder.join(link));
            let paths = markdown::spans(line).into_iter().filter_map(|span| named(span, &tops));
            for path in links.chain(paths).map(|path| plain(&path)) {
                let will_be = made.iter().any(|made| Path::new(made).starts_with(&path));
                if !will_be && !workspace::root().join(&path).exists() {
                    broken.push(format!("{}:{number}: {} does not exist", file.display(), path.display()));
                }
            }
        }
    }
    Ok(broken)
}

/// The file that a link leads to, if it is one of ours.
fn local(link: &str) -> Option<&str> {
    let target = link.split('#').next()?;
    (!target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")).then_some(target)
}

/// The path that a span in backticks names, up to its first pattern.
fn named(span: &str, tops: &BTreeSet<&str>) -> Option<PathBuf> {
    let (top, _) = span.split_once('/')?;
    let is_path = tops.contains(top) && !span.contains(char::is_whitespace);
    is_path.then(|| span.split('/').take_while(|part| !part.contains(['*', '<', '{', '…'])).collect())
}

/// Without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths() {
        assert_eq!(local("docs/a.md#part"), Some("docs/a.md"));
        assert_eq!((local("https://example.com"), local("#part")), (None, None));
        let tops = BTreeSet::from(["crates"]);
        assert_eq!(named("crates/x/src/*.rs", &tops), Some(PathBuf::from("crates/x/src")));
        assert_eq!((named("a/b", &tops), named("crates/x and y", &tops)), (None, None));
        assert_eq!(plain(Path::new("docs/../crates/./x")), PathBuf::from("crates/x"));
    }
}
