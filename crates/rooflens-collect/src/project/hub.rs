//! Repositories of the Hugging Face Hub in the caches of this machine. Nothing is downloaded.
//!
//! `huggingface_hub` lays a cache out like this:
//!
//! ```text
//! models--org--name/
//!   refs/main                     the commit of a branch or tag when it was downloaded, as text
//!   snapshots/<commit>/config.json -> ../../blobs/<hash>
//!   blobs/<hash>
//! ```

use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use rooflens_compose::EnvironmentLookup;

/// The variable of Rooflens; the other variables are `huggingface_hub`'s.
pub(crate) const SNAPSHOTS_ROOT: &str = "HF_SNAPSHOTS_ROOT";
/// A reference is one commit; a longer file is something else.
const MAX_REFERENCE_BYTES: u64 = 128;

/// The path in an environment variable, if it is set. An empty variable counts as unset.
pub(crate) fn path_of_variable(
    environment: &EnvironmentLookup,
    project: &Path,
    name: &str,
) -> Option<PathBuf> {
    environment(name).filter(|value| !value.is_empty()).map(|value| absolute(environment, project, &value))
}

/// The path from the root: `~` is the home folder, a relative path starts from the project.
pub(crate) fn absolute(environment: &EnvironmentLookup, project: &Path, path: &str) -> PathBuf {
    let below_home = match path.strip_prefix('~') {
        Some("") => Some(""),
        Some(rest) => rest.strip_prefix('/'),
        None => None,
    };
    match (below_home, environment("HOME").filter(|home| !home.is_empty())) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => project.join(path),
    }
}

/// The caches to look in, in this order, each once: `$HF_SNAPSHOTS_ROOT`, `$HF_HUB_CACHE`,
/// `$HUGGINGFACE_HUB_CACHE`, `$HF_HOME/hub`, the path from a file of the project, and the default.
pub fn caches(environment: &EnvironmentLookup, project: &Path, of_file: Option<&str>) -> Vec<PathBuf> {
    let variable = |name: &str| path_of_variable(environment, project, name);
    let default_cache =
        variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(".cache")));
    let candidates = [
        variable(SNAPSHOTS_ROOT),
        variable("HF_HUB_CACHE"),
        variable("HUGGINGFACE_HUB_CACHE"),
        variable("HF_HOME").map(|home| home.join("hub")),
        of_file.map(|path| absolute(environment, project, path)),
        default_cache.map(|cache| cache.join("huggingface/hub")),
    ];
    let mut caches = Vec::new();
    for cache in candidates.into_iter().flatten() {
        if !caches.contains(&cache) {
            caches.push(cache);
        }
    }
    caches
}

pub(crate) fn repository_folder(shelf: &str, id: &str) -> String {
    format!("{shelf}--{}", id.replace('/', "--"))
}

/// Whether the hub allows this id: letters, digits, `-`, `_` and `.` on both sides of one slash, or without a slash
/// for a few old models. The cache writes `/` as `--`, so an id must not contain that.
pub(crate) fn is_repository_id(id: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
            && !part.starts_with(['-', '.'])
            && !part.ends_with(['-', '.'])
    };
    let parts: Vec<&str> = id.split('/').collect();
    let is_unambiguous = !id.contains("--") && !id.contains("..");
    parts.len() <= 2 && parts.into_iter().all(is_part) && is_unambiguous && id.len() <= 96
}

pub(crate) fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) folder: PathBuf,
    pub(crate) commit: String,
}

/// Finds the snapshot of a branch, tag or commit below a repository's folder. An error states the reason and
/// which revisions exist.
pub(crate) fn snapshot(repository: &Path, revision: &str) -> Result<Snapshot, NoSnapshot> {
    let snapshots = repository.join("snapshots");
    let of_commit = |commit: String| {
        let folder = snapshots.join(&commit);
        let why = || NoSnapshot {
            why: format!("the cache has no snapshot of the commit {commit}"),
            known: Vec::new(),
        };
        if folder.is_dir() { Ok(Snapshot { folder, commit }) } else { Err(why()) }
    };
    let reference = repository.join("refs").join(revision);
    if reference.is_file() {
        let mut text = String::new();
        let read =
            fs::File::open(&reference).map(|file| file.take(MAX_REFERENCE_BYTES).read_to_string(&mut text));
        let commit = text.trim();
        // The text becomes part of a path.
        return match read.is_ok() && is_commit(commit) {
            true => of_commit(commit.to_owned()),
            false => Err(NoSnapshot {
                why: format!("'{}' is not a commit", reference.display()),
                known: Vec::new(),
            }),
        };
    }
    if is_commit(revision) {
        return of_commit(revision.to_ascii_lowercase());
    }
    let names = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let known: Vec<String> = names(&repository.join("refs")).into_iter().chain(names(&snapshots)).collect();
    Err(NoSnapshot {
        why: format!("the cache has no revision '{revision}'; it has {}", known.join(", ")),
        known,
    })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoSnapshot {
    pub(crate) why: String,
    /// Branches, tags and commits of the repository; empty if the revision is one of them.
    pub(crate) known: Vec<String>,
}

/// A name on the hub: `Qwen/Qwen3-0.6B`, or `Qwen/Qwen3-0.6B@main` for a branch, tag or commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    /// The repository.
    pub repository: String,
    pub(crate) revision: Option<String>,
}

/// Where the caches have a model, or why they do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachedModel {
    /// A folder with its files.
    Folder(PathBuf),
    /// No cache has it.
    Absent {
        /// The caches that were searched.
        caches: Vec<PathBuf>,
        /// The branches, tags and commits of it that exist.
        known: Vec<String>,
    },
}

impl HubName {
    /// Parses a name; `None` if the hub does not allow it.
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, revision) = match text.split_once('@') {
            Some((_, "")) => return None,
            Some((repository, revision)) => (repository, Some(revision.to_owned())),
            None => (text, None),
        };
        // It becomes a part of a path.
        let is_plain = |revision: &String| {
            Path::new(revision).components().all(|part| matches!(part, Component::Normal(_)))
        };
        (is_repository_id(repository) && revision.as_ref().is_none_or(is_plain))
            .then(|| HubName { repository: repository.to_owned(), revision })
    }

    /// Looks for it in the caches. Without a revision in the name, it takes a single downloaded commit even if `main`
    /// is unknown.
    pub fn find(&self, environment: &EnvironmentLookup, folder: &Path) -> CachedModel {
        let caches = caches(environment, folder, None);
        let revision = self.revision.as_deref().unwrap_or("main");
        let mut known = Vec::new();
        for cache in &caches {
            let repository = cache.join(repository_folder("models", &self.repository));
            match snapshot(&repository, revision) {
                Ok(found) => return CachedModel::Folder(found.folder),
                Err(NoSnapshot { known: names, .. }) => {
                    if let (None, [only]) = (&self.revision, names.as_slice())
                        && is_commit(only)
                    {
                        return CachedModel::Folder(repository.join("snapshots").join(only));
                    }
                    known.extend(names);
                }
            }
        }
        CachedModel::Absent { caches, known }
    }

    /// The command that downloads it: all of it, or its config alone.
    pub fn download(&self, only_config: bool) -> String {
        let revision = self.revision.as_ref().map(|revision| format!(" --revision {revision}"));
        let file = if only_config { " config.json" } else { "" };
        format!("hf download {}{file}{}", self.repository, revision.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;

    fn parsed(text: &str) -> Option<(String, Option<String>)> {
        HubName::parse(text).map(|name| (name.repository, name.revision))
    }

    #[test]
    fn names_of_the_hub() {
        let name = |repository: &str| Some((repository.to_owned(), None));
        assert_eq!(parsed("Qwen/Qwen3-0.6B"), name("Qwen/Qwen3-0.6B"));
        assert_eq!(parsed("gpt2"), name("gpt2"));
        assert_eq!(parsed("a/b@v1.0"), Some(("a/b".to_owned(), Some("v1.0".to_owned()))));
        for wrong in
            ["", "a/b/c", "../b", "a/..", "/a/b", "a/b@", "a/b@../../x", "a b/c", "a/b--c", "-", "./a"]
        {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_cache_is_looked_into_as_huggingface_hub_does() {
        let cache = tempfile::tempdir().expect("a folder");
        let root = cache.path().to_owned();
        let environment: EnvironmentLookup =
            Arc::new(move |name| (name == "HF_HUB_CACHE").then(|| root.to_string_lossy().into_owned()));
        let find = |text: &str| HubName::parse(text).expect("a name").find(&environment, Path::new("/"));
        let known = |found: CachedModel| match found {
            CachedModel::Absent { known, .. } => known,
            CachedModel::Folder(folder) => vec![folder.display().to_string()],
        };
        assert!(known(find("a/b")).is_empty());
        let (first, second) = ("a".repeat(40), "b".repeat(40));
        let folder = cache.path().join("models--a--b");
        let snapshot = |commit: &str| folder.join("snapshots").join(commit);
        fs::create_dir_all(snapshot(&first)).expect("a folder");
        assert_eq!(find("a/b"), CachedModel::Folder(snapshot(&first)), "the only one, without a branch");
        assert_eq!(find(&format!("a/b@{first}")), CachedModel::Folder(snapshot(&first)));
        assert_eq!(known(find("a/b@v2")), std::slice::from_ref(&first));
        fs::create_dir_all(snapshot(&second)).expect("a folder");
        assert_eq!(known(find("a/b")).len(), 2, "the revision is not given");
        fs::create_dir_all(folder.join("refs")).expect("a folder");
        fs::write(folder.join("refs/main"), &second).expect("a file");
        fs::write(folder.join("refs/v2"), format!("{first}\n")).expect("a file");
        assert_eq!(find("a/b"), CachedModel::Folder(snapshot(&second)));
        assert_eq!(find("a/b@v2"), CachedModel::Folder(snapshot(&first)));
        // A reference that leads out of the cache leads nowhere.
        fs::write(folder.join("refs/evil"), "../../..").expect("a file");
        assert!(matches!(find("a/b@evil"), CachedModel::Absent { .. }));
    }

    #[test]
    fn what_downloads_it() {
        let name = HubName::parse("Qwen/Qwen3-0.6B@v1").expect("a name");
        assert_eq!(name.download(false), "hf download Qwen/Qwen3-0.6B --revision v1");
        assert_eq!(name.download(true), "hf download Qwen/Qwen3-0.6B config.json --revision v1");
    }
}
