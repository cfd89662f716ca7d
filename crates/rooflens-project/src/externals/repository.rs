//! The git repository around a project, if there is one.

use std::fs;
use std::path::{Path, PathBuf};

use super::ExternalsError;
use crate::git::{Git, GitError};

/// The repository that tracks the project. The project may be a folder in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Repository {
    /// From the top of the repository to the project: empty, or with a slash at its end.
    pub prefix: String,
}

impl Repository {
    /// Looks for the repository of a folder.
    pub fn find(root: &Path) -> Result<Option<Self>, ExternalsError> {
        match Git::at(root).line(&["rev-parse", "--show-prefix"]) {
            Ok(prefix) => Ok(Some(Self { prefix })),
            Err(GitError::Refused { said, .. }) if said.contains("not a git repository") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The top of the repository, from the project's root.
    pub fn top(&self) -> String {
        match self.prefix.matches('/').count() {
            0 => ".".to_owned(),
            depth => vec![".."; depth].join("/"),
        }
    }

    /// A path of the project, from the top of the repository.
    pub fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Git at the top of the repository.
    pub fn git(&self, root: &Path) -> Git {
        Git::at(&self.top_folder(root))
    }

    /// The tree that an index has at a path (from the top); nothing where it has none there. Git
    /// locks an index to answer this, so that a copy is asked: others may be using the real one.
    pub fn index_tree(
        &self,
        root: &Path,
        path: &str,
        index: Option<&Path>,
    ) -> Result<Option<String>, ExternalsError> {
        let git = self.git(root);
        let index = match index {
            Some(index) => index.to_owned(),
            None => {
                PathBuf::from(git.line(&["rev-parse", "--path-format=absolute", "--git-path", "index"])?)
            }
        };
        if !index.exists() {
            return Ok(None);
        }
        let folder = tempfile::tempdir().map_err(ExternalsError::io(&std::env::temp_dir()))?;
        let copy = folder.path().join("index");
        fs::copy(&index, &copy).map_err(ExternalsError::io(&index))?;
        let git = git.with_index(Some(copy));
        if git.run(&["ls-files", "-z", "--", path])?.is_empty() {
            return Ok(None);
        }
        Ok(Some(git.line(&["write-tree", &format!("--prefix={path}/")])?))
    }

    /// The top of the repository.
    pub fn top_folder(&self, root: &Path) -> PathBuf {
        root.ancestors().nth(self.prefix.matches('/').count()).unwrap_or(root).to_owned()
    }
}
