//! Models by their name on the Hugging Face Hub, as the caches of this machine have them. Nothing is downloaded.

use std::path::{Component, Path, PathBuf};

use rooflens_compose::EnvironmentLookup;

use super::files::Disk;
use super::snapshot::{self, NoSnapshot};
use crate::hub_cache;

/// A name on the hub: `Qwen/Qwen3-0.6B`, or `Qwen/Qwen3-0.6B@main` for a branch, tag or commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    /// The repository.
    pub repository: String,
    /// The branch, tag or commit.
    pub revision: Option<String>,
}

/// Where the caches have a model, or why they do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CachedModel {
    /// A folder with its files.
    Folder(PathBuf),
    /// No cache has it; these were looked into, and have these revisions of it.
    Absent {
        /// The caches.
        caches: Vec<PathBuf>,
        /// The branches, tags and commits that exist.
        known: Vec<String>,
    },
}

impl HubName {
    /// Reads a name; `None` where it cannot be one. The hub allows letters, digits, `-`, `_` and `.` on both sides of
    /// one slash, or without a slash for a few old models.
    pub fn parse(text: &str) -> Option<Self> {
        let (repository, revision) = match text.split_once('@') {
            Some((repository, revision)) if !revision.is_empty() => (repository, Some(revision.to_owned())),
            Some(_) => return None,
            None => (text, None),
        };
        let is_part = |part: &str| {
            !part.is_empty()
                && part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
                && !part.starts_with(['-', '.'])
                && !part.ends_with(['-', '.'])
                && !part.contains("--")
                && !part.contains("..")
        };
        let parts: Vec<&str> = repository.split('/').collect();
        let is_name = parts.len() <= 2 && parts.iter().all(|part| is_part(part)) && repository.len() <= 96;
        // It becomes a part of a path.
        let is_plain = |revision: &String| {
            Path::new(revision).components().all(|part| matches!(part, Component::Normal(_)))
        };
        (is_name && revision.as_ref().is_none_or(is_plain))
            .then(|| HubName { repository: repository.to_owned(), revision })
    }

    /// Looks for it in the caches. Where nobody said which revision, a single one that is not `main` will do: it was
    /// downloaded by its commit.
    pub fn find(&self, environment: &EnvironmentLookup, folder: &Path) -> CachedModel {
        let caches = hub_cache::folders(environment, folder, None);
        let revision = self.revision.as_deref().unwrap_or("main");
        let mut known = Vec::new();
        for cache in &caches {
            let repository = cache.join(hub_cache::repository_folder("models", &self.repository));
            match snapshot::find(&repository, revision, &Disk) {
                Ok(found) => return CachedModel::Folder(found.folder),
                Err(NoSnapshot::Revision { known: names }) => {
                    let commits: Vec<&String> =
                        names.iter().filter(|name| snapshot::is_commit(name)).collect();
                    if let (None, [only], 1) = (&self.revision, commits.as_slice(), names.len()) {
                        return CachedModel::Folder(hub_cache::snapshots(&repository).join(only));
                    }
                    known.extend(names);
                }
                Err(NoSnapshot::Commit(_) | NoSnapshot::MalformedReference(_)) => {}
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
        assert_eq!(known(find("a/b")).len(), 2, "nobody said which");
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
