//! The files of a folder as git would name them: path, mode and id, and the tree they make.
//!
//! A source copied from the hub has no repository of its own, so its content is pinned by the id of
//! the git tree it would be. Git then compares a staged copy with the lock by itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::ExternalsError;
use super::identifiers::ObjectId;
use crate::git::Git;

/// The files of a folder, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Listing(BTreeMap<String, Leaf>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Leaf {
    mode: Mode,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    File,
    Executable,
    Link,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Mode::File => "100644",
            Mode::Executable => "100755",
            Mode::Link => "120000",
        }
    }
}

impl Listing {
    /// Lists a folder as it stands.
    pub fn of_folder(git: &Git, folder: &Path) -> Result<Self, ExternalsError> {
        let mut files = Vec::new();
        let mut leaves = BTreeMap::new();
        let mut open = vec![(folder.to_owned(), String::new())];
        while let Some((folder, prefix)) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(ExternalsError::io(&folder))? {
                let entry = entry.map_err(ExternalsError::io(&folder))?;
                let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
                let metadata = entry.metadata().map_err(ExternalsError::io(&entry.path()))?;
                if metadata.is_dir() {
                    open.push((entry.path(), format!("{path}/")));
                } else if metadata.is_symlink() {
                    let target = fs::read_link(entry.path()).map_err(ExternalsError::io(&entry.path()))?;
                    let id = hash(git, &["hash-object", "--stdin"], target.as_os_str().as_encoded_bytes())?;
                    leaves.insert(path, Leaf { mode: Mode::Link, id });
                } else {
                    let mode = if is_executable(&metadata) { Mode::Executable } else { Mode::File };
                    files.push((path, mode, entry.path()));
                }
            }
        }
        let paths: Vec<&Path> = files.iter().map(|(_, _, path)| path.as_path()).collect();
        let ids = blobs(git, &paths)?;
        for ((path, mode, _), id) in files.into_iter().zip(ids) {
            leaves.insert(path, Leaf { mode, id });
        }
        Ok(Self(leaves))
    }

    /// Lists plain files that will be copied under other names.
    pub fn of_files(git: &Git, files: &[(String, &Path)]) -> Result<Self, ExternalsError> {
        let paths: Vec<&Path> = files.iter().map(|(_, path)| *path).collect();
        let ids = blobs(git, &paths)?;
        let leaf = |id| Leaf { mode: Mode::File, id };
        Ok(Self(files.iter().zip(ids).map(|((name, _), id)| (name.clone(), leaf(id))).collect()))
    }

    /// The id of the git tree with these files.
    pub fn tree(&self, git: &Git) -> Result<ObjectId, ExternalsError> {
        let leaves: Vec<(&str, &Leaf)> = self.0.iter().map(|(path, leaf)| (path.as_str(), leaf)).collect();
        tree(git, &leaves).and_then(|id| ObjectId::parse(&id))
    }

    /// The paths that only one of both has, or that differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let mut paths: Vec<String> = self
            .0
            .iter()
            .filter(|(path, leaf)| other.0.get(*path) != Some(leaf))
            .map(|(path, _)| path.clone())
            .chain(other.0.keys().filter(|path| !self.0.contains_key(*path)).cloned())
            .collect();
        paths.sort();
        paths
    }

    /// One line a file, as `git ls-tree -r` would write it.
    pub fn to_text(&self) -> String {
        let line = |(path, leaf): (&String, &Leaf)| format!("{} {}\t{path}\n", leaf.mode.as_str(), leaf.id);
        self.0.iter().map(line).collect()
    }

    /// Reads what [`Listing::to_text`] wrote; nothing where it is something else.
    pub fn from_text(text: &str) -> Option<Self> {
        text.lines()
            .map(|line| {
                let (head, path) = line.split_once('\t')?;
                let (mode, id) = head.split_once(' ')?;
                let mode =
                    [Mode::File, Mode::Executable, Mode::Link].into_iter().find(|m| m.as_str() == mode)?;
                Some((path.to_owned(), Leaf { mode, id: ObjectId::parse(id).ok()?.as_str().to_owned() }))
            })
            .collect::<Option<_>>()
            .map(Self)
    }
}

fn blobs(git: &Git, paths: &[&Path]) -> Result<Vec<String>, ExternalsError> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    // Git reads one path a line, so a name with a line break is asked for by itself.
    if paths.iter().any(|path| path.as_os_str().as_encoded_bytes().contains(&b'\n')) {
        let alone = |path: &&Path| {
            let words = ["hash-object".as_ref(), "--no-filters".as_ref(), "--".as_ref(), path.as_os_str()];
            git.line(&words)
        };
        return paths.iter().map(|path| Ok(alone(path)?)).collect();
    }
    let mut input = Vec::new();
    for path in paths {
        input.extend_from_slice(path.as_os_str().as_encoded_bytes());
        input.push(b'\n');
    }
    let answer = git.run_with_input(&["hash-object", "--no-filters", "--stdin-paths"], &input)?;
    Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
}

/// The id of a tree from its leaves, in the order of their paths.
fn tree(git: &Git, leaves: &[(&str, &Leaf)]) -> Result<String, ExternalsError> {
    let mut folders: BTreeMap<&str, Vec<(&str, &Leaf)>> = BTreeMap::new();
    let mut entries: Vec<(String, &'static str, &str, String)> = Vec::new();
    for (path, leaf) in leaves {
        match path.split_once('/') {
            Some((folder, rest)) => folders.entry(folder).or_default().push((rest, leaf)),
            None => entries.push(((*path).to_owned(), leaf.mode.as_str(), path, leaf.id.clone())),
        }
    }
    for (name, inner) in folders {
        // Git sorts a folder as if its name ended with a slash.
        entries.push((format!("{name}/"), "40000", name, tree(git, &inner)?));
    }
    entries.sort();
    let mut object = Vec::new();
    for (_, mode, name, id) in &entries {
        object.extend_from_slice(mode.as_bytes());
        object.push(b' ');
        object.extend_from_slice(name.as_bytes());
        object.push(0);
        object.extend(id.as_bytes().chunks(2).filter_map(hex_byte));
    }
    hash(git, &["hash-object", "-t", "tree", "--stdin"], &object)
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
}

fn hash(git: &Git, arguments: &[&str], input: &[u8]) -> Result<String, ExternalsError> {
    let answer = git.run_with_input(arguments, input)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    // As git does, the owner's bit alone counts.
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}
