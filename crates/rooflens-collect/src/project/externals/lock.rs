//! `third_party/externals.lock`: which sources a project has, and which content each has.
//!
//! A stranger can write this file. Everything in it is checked when it is read: nothing can be mistaken for an option
//! of git, leave its folder, name git's own files, start a program or hold a password.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::write_whole;
use crate::project::error::{ProjectError, Result};
use crate::project::git::NO_PROTOCOL;
use crate::project::hub;
use crate::project::yaml_data::{from_yaml, to_yaml};

pub(super) const LOCK_FILE: &str = "third_party/externals.lock";
const MAX_LOCK_BYTES: u64 = 4 << 20;
const MAX_NAME_BYTES: usize = 200;
const VERSION: u32 = 1;
const HEAD: &str = "\
# Reference sources, pinned. `rooflens externals add` writes this file, `rooflens externals sync` makes
# third_party equal to it. `commit` is what is fetched, `tree` the git tree of the content.
";

/// How a reference source is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A git submodule.
    Submodule,
    /// Its files as part of the project's own repository.
    Subtree,
    /// A separate clone with some paths checked out.
    Sparse,
    /// Source files copied from the Hugging Face cache.
    Hub,
    /// A symbolic link to a checkout of this machine.
    Link,
}

impl SourceKind {
    /// Every kind, in the order of the help.
    pub const ALL: &'static [SourceKind] =
        &[SourceKind::Submodule, SourceKind::Subtree, SourceKind::Sparse, SourceKind::Hub, SourceKind::Link];

    /// Its name in the lock and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Submodule => "submodule",
            SourceKind::Subtree => "subtree",
            SourceKind::Sparse => "sparse",
            SourceKind::Hub => "hub",
            SourceKind::Link => "link",
        }
    }

    /// The default kind for an address: a hub repository is copied, single paths are a sparse checkout, everything
    /// else is a submodule.
    pub fn default_for(url: &str, paths: &[String]) -> Self {
        if hub_url(url).is_some() {
            SourceKind::Hub
        } else if paths.is_empty() {
            SourceKind::Submodule
        } else {
            SourceKind::Sparse
        }
    }

    pub(super) fn shelf(self) -> &'static str {
        if self == SourceKind::Hub { "third_party/hf" } else { "third_party/github" }
    }

    pub(super) fn needs_repository(self) -> bool {
        matches!(self, SourceKind::Submodule | SourceKind::Subtree)
    }
}

/// An entry of the lock: a source at a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockedSource {
    /// Its name and the name of its folder.
    // In the file, the name is the key of the entry.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its address.
    pub url: String,
    /// The requested branch, tag or commit. Only `add` and `update` look at it.
    pub revision: String,
    /// The commit of the revision when the source was pinned. Only this commit is ever fetched.
    pub commit: String,
    /// The git tree of the content: of the whole commit, or of the files that were copied from the hub.
    pub tree: String,
    /// The paths to take; all if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) paths: Vec<String>,
    /// Its license files.
    #[serde(default)]
    pub licences: Vec<String>,
    /// The commit it was pinned at before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) previous: Option<String>,
}

impl LockedSource {
    /// Its folder, from the project's root.
    pub fn place(&self) -> String {
        format!("{}/{}", self.kind.shelf(), self.name)
    }

    /// Where it is built before it takes its place. Anything there is rubbish of an interrupted command.
    pub(super) fn staging(&self) -> String {
        format!("{}/.{}.partial", self.kind.shelf(), self.name)
    }

    pub(super) fn protocols(&self) -> &'static str {
        protocols(&self.url)
    }

    fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        if check_url(self.kind, &self.url)? != self.url {
            return Err(bad_url(&self.url, "it is not a Hugging Face hub repository as hf://…"));
        }
        check_revision(&self.revision)?;
        [&self.commit, &self.tree].into_iter().chain(&self.previous).try_for_each(|id| check_id(id))?;
        check_paths(self.kind, &self.paths)?;
        self.licences.iter().try_for_each(|path| check_path(path).map(drop))
    }
}

/// All reference sources, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    version: u32,
    #[serde(default)]
    pub(crate) sources: BTreeMap<String, LockedSource>,
}

impl Default for Lock {
    fn default() -> Self {
        Self { version: VERSION, sources: BTreeMap::new() }
    }
}

impl Lock {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let path = root.join(LOCK_FILE);
        let size = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(ProjectError::io(&path)(error)),
        };
        if size > MAX_LOCK_BYTES {
            return Err(ProjectError::usage(format!(
                "{LOCK_FILE} has {size} bytes, more than {MAX_LOCK_BYTES}"
            )));
        }
        Self::parse(&fs::read_to_string(&path).map_err(ProjectError::io(&path))?)
    }

    /// Reads the text of a lock.
    pub fn parse(text: &str) -> Result<Self> {
        let fix = format!("fix that line, or restore the file from git: `git checkout -- {LOCK_FILE}`");
        let unfit =
            |message: String| ProjectError::usage(format!("{LOCK_FILE}: {message}")).hint(fix.as_str());
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let mut lock: Self = from_yaml(text, LOCK_FILE).map_err(|error| error.hint(fix.as_str()))?;
        if lock.version != VERSION {
            return Err(unfit(format!("version {} is not supported, only {VERSION}", lock.version)));
        }
        let names: Vec<String> = lock.sources.keys().cloned().collect();
        for (name, source) in &mut lock.sources {
            if !source.name.is_empty() {
                return Err(unfit(format!("{name:?} has the unknown key 'name'")));
            }
            source.name.clone_from(name);
            source.check().map_err(|error| unfit(format!("{name:?}: {error}")))?;
            if let Some(other) = names.iter().find(|other| clashes(other, name)) {
                return Err(unfit(format!("{other:?} and {name:?} differ only in case")));
            }
        }
        Ok(lock)
    }

    /// The text: sorted by name, so that a change is a small diff.
    fn to_text(&self) -> String {
        let mut nameless = self.clone();
        nameless.sources.values_mut().for_each(|source| source.name.clear());
        format!("{HEAD}{}", to_yaml(&nameless))
    }

    pub(super) fn write(&self, root: &Path) -> Result<()> {
        write_whole(&root.join(LOCK_FILE), &self.to_text())
    }

    pub(super) fn owner(&self, path: &str) -> Option<&LockedSource> {
        self.sources.values().find(|source| covers(&source.place(), path))
    }
}

pub(super) fn covers(path: &str, file: &str) -> bool {
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether two names are one folder on a file system that ignores case.
pub(super) fn clashes(one: &str, other: &str) -> bool {
    one != other && one.to_lowercase() == other.to_lowercase()
}

pub(super) fn check_name(name: &str) -> Result<()> {
    let problem = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it is longer than 200 bytes"
    } else if name.starts_with(['-', '.']) {
        "it starts with a dash or a dot"
    } else if name.ends_with('.') || name.trim() != name {
        "it starts or ends with a space, or ends with a dot"
    } else if name.contains(['/', '\\', ':', '*', '?', '"', '<', '>', '|']) || name.contains(char::is_control)
    {
        "it has a slash or a character that some file systems refuse"
    } else if name.eq_ignore_ascii_case("git~1") {
        "it is an alias of .git"
    } else {
        return Ok(());
    };
    Err(ProjectError::usage(format!("{name:?} cannot name a reference source: {problem}"))
        .hint("give another with --name"))
}

pub(super) fn check_id(id: &str) -> Result<()> {
    let is_hex = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if is_hex && matches!(id.len(), 40 | 64) {
        return Ok(());
    }
    Err(bad_revision(id, "an id has 40 (or 64) digits of 0-9 and a-f"))
}

/// Checks a branch, tag, ref or commit, by the rules of `git check-ref-format`.
pub(super) fn check_revision(revision: &str) -> Result<()> {
    let forbidden = |letter: char| letter.is_control() || " ~^:?*[\\".contains(letter);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    let is_bad = revision.starts_with('-')
        || revision.contains(forbidden)
        || revision.contains("..")
        || revision.contains("@{")
        || revision.ends_with('.')
        || revision.split('/').any(bad_part);
    if is_bad { Err(bad_revision(revision, "git allows no branch or tag of that name")) } else { Ok(()) }
}

pub(super) fn bad_revision(revision: &str, problem: &str) -> ProjectError {
    ProjectError::usage(format!("{revision:?} is not a valid revision: {problem}"))
        .hint("give a branch, a tag or a full commit id with --revision")
}

pub(super) fn check_paths(kind: SourceKind, paths: &[String]) -> Result<Vec<String>> {
    let mut checked: Vec<String> = paths.iter().map(|path| check_path(path)).collect::<Result<_>>()?;
    checked.sort();
    checked.dedup();
    let problem = match kind {
        SourceKind::Sparse if checked.is_empty() => "a sparse checkout needs paths",
        SourceKind::Submodule | SourceKind::Subtree | SourceKind::Link if !checked.is_empty() => {
            "only a sparse checkout or hub snapshot takes paths"
        }
        _ => {
            let all = checked.clone();
            checked.retain(|path| !all.iter().any(|other| other != path && covers(other, path)));
            return Ok(checked);
        }
    };
    Err(ProjectError::usage(problem).hint("name paths with --path and --kind sparse"))
}

/// Checks that a path stays in its source and names none of git's own files.
pub(super) fn check_path(path: &str) -> Result<String> {
    let trimmed = path.strip_suffix('/').unwrap_or(path);
    // `.git` under the names that file systems of other machines take for it.
    let is_git = |part: &str| {
        let part = part.trim_end_matches([' ', '.']);
        part.eq_ignore_ascii_case(".git") || part.eq_ignore_ascii_case("git~1")
    };
    let is_bad = trimmed.starts_with(['/', '-'])
        || trimmed.contains('\\')
        || trimmed.contains(char::is_control)
        || trimmed.split('/').any(|part| matches!(part, "" | "." | "..") || is_git(part));
    if is_bad {
        let message = format!("{path:?} is not a valid path within a source");
        return Err(
            ProjectError::usage(message).hint("give a path from the source's root, such as src/kernels")
        );
    }
    Ok(trimmed.to_owned())
}

pub(super) fn check_url(kind: SourceKind, url: &str) -> Result<String> {
    match kind {
        SourceKind::Hub => {
            hub_url(url).ok_or_else(|| bad_url(url, "it is not a Hugging Face hub repository"))
        }
        SourceKind::Link if !url.starts_with('/') => {
            Err(bad_url(url, "a link must point to a folder on this machine, by its absolute path"))
        }
        _ => match problem_of_git_url(url) {
            Some(problem) => Err(bad_url(url, problem)),
            None => Ok(url.to_owned()),
        },
    }
}

fn bad_url(url: &str, problem: &str) -> ProjectError {
    // An address with a password is refused, and the message must not show it.
    let shown = match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}://…{}", &url[..scheme], &url[at..]),
        _ => url.to_owned(),
    };
    ProjectError::usage(format!("{shown:?} cannot be fetched from: {problem}")).hint(
        "use https://…, ssh://…, git@host:path or an absolute path; credentials belong in git's own settings",
    )
}

fn problem_of_git_url(url: &str) -> Option<&'static str> {
    if url.is_empty() || url.trim() != url || url.contains(char::is_control) {
        return Some("it is empty, or has control characters or spaces around it");
    }
    if url.starts_with('-') {
        return Some("it starts with a dash, as options do");
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        let authority = rest.split('/').next().unwrap_or("");
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        return match scheme {
            "https" | "http" if !user.is_empty() => {
                Some("it holds a user name, which would end up in the lock")
            }
            "ssh" if user.contains(':') => Some("it holds a password, which would end up in the lock"),
            "https" | "http" | "ssh" | "git" if host.is_empty() || host.starts_with('-') => {
                Some("it has no host")
            }
            "https" | "http" | "ssh" | "git" if user.starts_with('-') => Some("its user is an option"),
            "https" | "http" | "ssh" | "git" => None,
            "file" if rest.starts_with('/') => None,
            "file" => Some("file:// needs an absolute path"),
            _ => Some("its scheme is not one of https, http, ssh, git and file"),
        };
    }
    if url.starts_with('/') {
        return None;
    }
    match url.split_once(':') {
        // `ext::sh -c …` would run a program.
        Some((_, path)) if path.starts_with(':') => Some("remote helpers are not started"),
        Some((host, path)) if !host.is_empty() && !host.contains('/') && !path.is_empty() => {
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            host.starts_with('-').then_some("it has no host")
        }
        _ => Some("it is neither an address nor an absolute path"),
    }
}

/// The protocols that git may use for an address, as `GIT_ALLOW_PROTOCOL`. A local repository is read only if the user
/// named one: no redirect or submodule leads to it.
pub(super) fn protocols(url: &str) -> &'static str {
    if url.starts_with("hf://") {
        NO_PROTOCOL
    } else if url.starts_with('/') || url.starts_with("file://") {
        "file"
    } else {
        "https:http:ssh:git"
    }
}

pub(super) fn default_name(url: &str) -> &str {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or("");
    last.strip_suffix(".git").unwrap_or(last)
}

/// The address of a hub repository as `hf://…`: from `org/name`, `hf://datasets/org/name` or its page.
fn hub_url(url: &str) -> Option<String> {
    let (shelf, id) = hub_parts(url)?;
    Some(if shelf == "models" { format!("hf://{id}") } else { format!("hf://{shelf}/{id}") })
}

pub(super) fn hub_parts(url: &str) -> Option<(&'static str, &str)> {
    let path = ["hf://", "https://huggingface.co/", "https://hf.co/"]
        .iter()
        .find_map(|prefix| url.strip_prefix(prefix))
        .unwrap_or(url);
    let shelf = ["datasets", "spaces", "models"]
        .into_iter()
        .find_map(|shelf| Some((shelf, path.strip_prefix(shelf)?.strip_prefix('/')?)));
    let (shelf, id) = shelf.unwrap_or(("models", path));
    hub::is_repository_id(id).then_some((shelf, id))
}
