//! Which commit a project stands at. It is only read: nothing is fetched, locked or refreshed.

use std::path::Path;

use crate::project::git::{Git, GitError};

/// Where a project stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRevision {
    /// The commit.
    pub commit: String,
    /// Whether files of the project differ from it, new ones among them.
    pub is_dirty: bool,
}

/// Where the project in a folder stands, or why that is not known.
pub fn revision(folder: &Path) -> Result<ProjectRevision, &'static str> {
    let git = Git::at(folder);
    let told = |error: GitError| match error {
        GitError::NotStarted(_) => "git cannot be started",
        GitError::NoFolder { .. } => "the project's folder is not there",
        GitError::Refused { .. } => "git refused to answer",
    };
    if git.ask(&["rev-parse", "--git-dir"]).map_err(told)?.is_none() {
        return Err("the project is not in a git repository");
    }
    let Some(commit) = git.commit("HEAD^{commit}").map_err(told)? else {
        return Err("the repository has no commit yet");
    };
    let changes = git.run(&["status", "--porcelain", "--", "."]).map_err(told)?;
    Ok(ProjectRevision { commit, is_dirty: !changes.is_empty() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_and_what_differs_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let git = Git::at(folder.path()).own_repository();
        assert_eq!(revision(&folder.path().join("none")), Err("the project's folder is not there"));
        git.run(&["init", "--quiet"]).unwrap();
        assert_eq!(revision(folder.path()), Err("the repository has no commit yet"));
        std::fs::write(folder.path().join("a"), "1").unwrap();
        git.run(&["add", "a"]).unwrap();
        let who =
            ["-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgSign=false"];
        git.run(&[&who[..], &["commit", "--quiet", "-m", "one"]].concat()).unwrap();
        let commit = git.line(&["rev-parse", "HEAD"]).unwrap();
        assert_eq!(revision(folder.path()), Ok(ProjectRevision { commit: commit.clone(), is_dirty: false }));
        std::fs::write(folder.path().join("b"), "2").unwrap();
        assert_eq!(revision(folder.path()), Ok(ProjectRevision { commit, is_dirty: true }));
    }
}
