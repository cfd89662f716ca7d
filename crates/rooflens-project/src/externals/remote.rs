//! Asks a git repository what a revision is, and what a commit holds.

use super::ExternalsError;
use super::identifiers::{ObjectId, Revision};
use super::lock::Pin;
use super::url::SourceUrl;
use crate::git::{Git, GitError, records};

/// What a commit holds, as far as a lock and its warnings need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inspection {
    /// Its tree.
    pub tree: ObjectId,
    /// Every file.
    pub files: Vec<String>,
    /// The places of its own submodules.
    pub submodules: Vec<String>,
}

/// The commit that a revision is now.
pub(super) fn resolve(git: &Git, url: &SourceUrl, revision: &Revision) -> Result<ObjectId, ExternalsError> {
    if let Some(commit) = revision.as_id() {
        return Ok(commit);
    }
    let name = revision.as_str();
    let is_full = name == "HEAD" || name.starts_with("refs/");
    let (branch, tag) = if is_full {
        (None, name.to_owned())
    } else {
        (Some(format!("refs/heads/{name}")), format!("refs/tags/{name}"))
    };
    // An annotated tag is an object of its own; this is the commit it tags.
    let peeled = format!("{tag}^{{}}");
    let mut arguments = vec!["ls-remote", "--", url.as_str(), &tag, &peeled];
    arguments.extend(branch.as_deref());
    let answer =
        git.clone().reaching(url.protocols()).run(&arguments).map_err(|error| unreachable(url, error))?;
    let answer = String::from_utf8_lossy(&answer);
    // A pattern also matches the end of longer names, so that only the exact ones count.
    let found = |wanted: &str| {
        let mut lines = answer.lines().filter_map(|line| line.split_once('\t'));
        lines.find(|(_, name)| *name == wanted).map(|(id, _)| id)
    };
    let (url, revision) = (url.as_str().to_owned(), name.to_owned());
    match (branch.as_deref().and_then(found), found(&peeled).or_else(|| found(&tag))) {
        (Some(_), Some(_)) => Err(ExternalsError::AmbiguousRevision { url, revision }),
        (Some(id), None) | (None, Some(id)) => ObjectId::parse(id),
        (None, None) => Err(ExternalsError::NoSuchRevision { url, revision }),
    }
}

/// Fetches a commit's trees, without its history and where possible without its files, into a folder
/// that goes away, and lists what it holds.
pub(super) fn inspect(pin: &Pin) -> Result<Inspection, ExternalsError> {
    let folder = tempfile::tempdir().map_err(ExternalsError::io(&std::env::temp_dir()))?;
    let git = Git::at(folder.path()).own_repository();
    let commit = pin.commit.as_str();
    git.run(&["init", "--quiet", "--bare"])?;
    git.run(&["remote", "add", "--", "origin", pin.url.as_str()])?;
    let fetch = ["fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", commit];
    git.clone()
        .reaching(pin.url.protocols())
        .run(&fetch)
        .map_err(|error| fetch_failed(&pin.url, commit, error))?;
    let Some(found) = git.ask(&["rev-parse", "--verify", "--quiet", &format!("{commit}^{{commit}}")])? else {
        let (url, revision) = (pin.url.as_str().to_owned(), commit.to_owned());
        return Err(ExternalsError::NoSuchRevision { url, revision });
    };
    if found != commit {
        // The id of an annotated tag: the commit is what is pinned, so that is what must be asked for.
        let problem = "it is the id of a tag, not of a commit";
        return Err(ExternalsError::BadRevision { revision: commit.to_owned(), problem });
    }
    let tree = ObjectId::parse(&git.line(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?)?;
    let (mut files, mut submodules) = (Vec::new(), Vec::new());
    for record in records(&git.run(&["ls-tree", "-r", "-z", tree.as_str()])?) {
        let Some((head, path)) = record.split_once('\t') else { continue };
        let list = if head.starts_with("160000") { &mut submodules } else { &mut files };
        list.push(path.to_owned());
    }
    for path in &pin.paths {
        if !files.iter().chain(&submodules).any(|file| path.covers(file)) {
            return Err(ExternalsError::NothingAtPath {
                url: pin.url.as_str().to_owned(),
                path: path.as_str().to_owned(),
                commit: commit.to_owned(),
            });
        }
    }
    Ok(Inspection { tree, files, submodules })
}

/// A failed question to a remote.
fn unreachable(url: &SourceUrl, error: GitError) -> ExternalsError {
    match error {
        GitError::Refused { said, .. } => ExternalsError::Unreachable { url: url.as_str().to_owned(), said },
        other => other.into(),
    }
}

/// A failed fetch of a commit: the remote is gone, or only the commit.
pub(super) fn fetch_failed(url: &SourceUrl, commit: &str, error: GitError) -> ExternalsError {
    const REFUSALS: &[&str] = &[
        "not our ref",
        "unadvertised object",
        "find remote ref",
        "did not contain",
        "Direct fetching of that commit",
    ];
    match error {
        GitError::Refused { said, .. } if REFUSALS.iter().any(|refusal| said.contains(refusal)) => {
            ExternalsError::CommitGone { url: url.as_str().to_owned(), commit: commit.to_owned(), said }
        }
        other => unreachable(url, other),
    }
}
