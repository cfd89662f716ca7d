//! CONTRIBUTING.md shows how to add a format. This does exactly that in a copy of the workspace, so
//! that what it shows stays true.
//!
//! A block opened by ` ```rust file=PATH ` is written to PATH. In one opened by ` ```diff file=PATH `
//! the lines that begin with a blank or `-` must stand in PATH once; they become those that begin with
//! a blank or `+`. Blocks opened by ` ```sh try ` are then run, one after another.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{markdown, workspace};

const DOCUMENT: &str = "CONTRIBUTING.md";

/// Copies the workspace, follows the document there and runs its commands.
pub fn run() -> Result<()> {
    let text = workspace::read(DOCUMENT)?;
    let mut tree = Tree::of_workspace()?;
    let mut commands = String::new();
    for block in markdown::split(&text).0 {
        match (block.attribute("file"), block.language.as_str()) {
            (Some(file), "diff") => tree.change(file, &block.text)?,
            (Some(file), _) => tree.add(file, &block.text),
            (None, "sh") if block.attributes.iter().any(|word| word == "try") => {
                commands.push_str(&block.text)
            }
            _ => {}
        }
    }
    ensure!(!commands.is_empty(), "{DOCUMENT} has no block opened by ```sh try");
    tree.set_apart()?;
    let target = workspace::target_dir()?;
    let folder = target.join("contributing");
    let copy = folder.join("workspace");
    tree.write(&copy)?;
    println!("{}", commands.trim_end());
    let script = format!("set -euo pipefail\n{commands}");
    workspace::run(
        Command::new("bash")
            .args(["-c", &script])
            .current_dir(&copy)
            // Dependencies are shared with the workspace, finished programs are not.
            .env("CARGO_BUILD_BUILD_DIR", &target)
            .env("CARGO_TARGET_DIR", folder.join("target"))
            .env("CARGO_NET_OFFLINE", "true"),
    )
}

/// Files by their path in the repository.
#[derive(Default)]
struct Tree {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Links to folders, and where they lead.
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Tree {
    fn of_workspace() -> Result<Self> {
        let files = workspace::files()?.into_iter();
        let read = |file: PathBuf| -> Result<_> {
            let bytes = std::fs::read(workspace::root().join(&file))
                .with_context(|| format!("cannot read {}", file.display()))?;
            Ok((file, bytes))
        };
        let link = |link: PathBuf| Ok((link.clone(), std::fs::read_link(workspace::root().join(link))?));
        let links = workspace::folder_links()?.into_iter().map(link).collect::<Result<_>>()?;
        Ok(Tree { files: files.map(read).collect::<Result<_>>()?, links })
    }

    fn add(&mut self, file: &str, text: &str) {
        self.files.insert(file.into(), text.into());
    }

    fn change(&mut self, file: &str, diff: &str) -> Result<()> {
        let side = |sign: char| -> String {
            let kept = diff.lines().filter(|line| line.starts_with([' ', sign]));
            kept.map(|line| format!("{}\n", &line[1..])).collect()
        };
        let bytes = self.files.get_mut(Path::new(file)).with_context(|| format!("{file} does not exist"))?;
        let text = String::from_utf8(std::mem::take(bytes))?;
        let (old, new) = (side('-'), side('+'));
        let count = text.matches(&old).count();
        ensure!(count == 1, "{DOCUMENT} changes lines that stand {count} times in {file}:\n{old}");
        *bytes = text.replace(&old, &new).into();
        Ok(())
    }

    /// Gives the copy's crates a version of their own: cargo tells the crates of two copies of a workspace apart
    /// by nothing else, and both are built in one folder.
    fn set_apart(&mut self) -> Result<()> {
        let own = format!("version = \"{}\"\n", env!("CARGO_PKG_VERSION"));
        let apart = own.replace("\"\n", "+contributing\"\n");
        self.change("Cargo.toml", &format!("-{own}+{apart}"))
    }

    /// Makes `folder` hold these files and no others. What is the same is left alone, so that cargo
    /// does not build it again.
    fn write(&self, folder: &Path) -> Result<()> {
        let mut there = Vec::new();
        if folder.exists() {
            list(folder, &mut there)?;
        }
        for path in there {
            let is_wanted = |file: &Path| self.files.contains_key(file) || self.links.contains_key(file);
            let kept = path.strip_prefix(folder).is_ok_and(is_wanted);
            if !kept {
                std::fs::remove_file(&path)?;
            }
        }
        for (file, bytes) in &self.files {
            let path = folder.join(file);
            if std::fs::read(&path).is_ok_and(|old| old == *bytes) {
                continue;
            }
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        }
        for (link, to) in &self.links {
            let path = folder.join(link);
            if !path.is_symlink() {
                std::os::unix::fs::symlink(to, &path)
                    .with_context(|| format!("cannot link {}", path.display()))?;
            }
        }
        Ok(())
    }
}

fn list(folder: &Path, into: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            list(&path, into)?;
        } else {
            into.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_replaces_the_lines_it_shows() {
        let files = BTreeMap::from([("a".into(), b"mod x;\nmod z;\nend\n".to_vec())]);
        let mut tree = Tree { files, ..Tree::default() };
        tree.change("a", " mod x;\n+mod y;\n mod z;\n").unwrap();
        assert_eq!(tree.files[Path::new("a")], b"mod x;\nmod y;\nmod z;\nend\n");
        assert!(tree.change("a", "-mod q;\n").is_err());
    }

    #[test]
    fn a_tree_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("old"), "x").unwrap();
        let files = BTreeMap::from([("new/a".into(), b"y".to_vec())]);
        let links = BTreeMap::from([("link".into(), "new".into())]);
        let tree = Tree { files, links };
        tree.write(folder.path()).unwrap();
        tree.write(folder.path()).unwrap();
        assert!(!folder.path().join("old").exists());
        assert_eq!(std::fs::read(folder.path().join("link/a")).unwrap(), b"y");
        assert_eq!(std::fs::read(folder.path().join("new/a")).unwrap(), b"y");
    }
}
