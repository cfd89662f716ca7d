//! The ways to keep a reference source. Each observes what stands, and plans what makes it equal to
//! the lock; neither changes anything.
//!
//! | kind | where it lives | good for |
//! | --- | --- | --- |
//! | submodule | a link in the project's repository | whole repositories, with history at hand |
//! | subtree | files tracked by the project | small repositories that must come with a clone |
//! | sparse | a clone of its own, ignored by the project | some folders of a large repository |
//! | hub | files copied from the Hugging Face cache | a model's code and configs, without weights |
//! | link | a symbolic link, ignored by the project | a checkout that is on this machine already |

mod hub;
mod link;
mod sparse;
mod submodule;
mod subtree;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identifiers::{InnerPath, ObjectId, Revision};
use super::lock::{LockedSource, Pin};
use super::observed::Observed;
use super::project::Externals;
use super::source_files::{LeftOutFile, Snapshot};
use super::url::SourceUrl;
use super::{ExternalsError, SyncStep, licences, remote};
use crate::git::{Git, GitError, records};

/// How a reference source is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A git submodule.
    Submodule,
    /// Its files as part of the project's own repository.
    Subtree,
    /// A clone of its own with some paths checked out.
    Sparse,
    /// Source files copied from the Hugging Face cache.
    Hub,
    /// A symbolic link to a checkout of this machine.
    Link,
}

impl SourceKind {
    /// Every kind, in the order they are listed to the user.
    pub const ALL: &'static [SourceKind] =
        &[SourceKind::Submodule, SourceKind::Subtree, SourceKind::Sparse, SourceKind::Hub, SourceKind::Link];

    /// Its name in the lock and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SourceKind::Submodule => "submodule",
            SourceKind::Subtree => "subtree",
            SourceKind::Sparse => "sparse",
            SourceKind::Hub => "hub",
            SourceKind::Link => "link",
        }
    }

    /// The kind of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The kind that suits an address where nobody says: a repository of the hub is copied, some paths
    /// are checked out sparsely, all else is a submodule.
    #[must_use]
    pub fn suiting(url: &str, paths: &[String]) -> Self {
        if SourceUrl::hub(url).is_ok() {
            SourceKind::Hub
        } else if paths.is_empty() {
            SourceKind::Submodule
        } else {
            SourceKind::Sparse
        }
    }

    /// The names, in order.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        Self::ALL.iter().map(|kind| kind.name()).collect()
    }

    /// The folder its sources stand in.
    #[must_use]
    pub fn shelf(self) -> &'static str {
        match self {
            SourceKind::Submodule | SourceKind::Subtree | SourceKind::Sparse | SourceKind::Link => {
                "third_party/github"
            }
            SourceKind::Hub => "third_party/hf",
        }
    }

    /// Refuses paths where all is taken, and their lack where they are the point.
    pub(super) fn check_paths(self, paths: &[InnerPath]) -> Result<(), ExternalsError> {
        let problem = match self {
            SourceKind::Sparse if paths.is_empty() => "a sparse checkout needs paths",
            SourceKind::Submodule | SourceKind::Subtree | SourceKind::Link if !paths.is_empty() => {
                "only a sparse checkout or hub snapshot takes paths"
            }
            _ => return Ok(()),
        };
        Err(ExternalsError::BadPaths { kind: self, problem })
    }

    /// What it does.
    pub(super) fn keeper(self) -> &'static dyn Keeper {
        match self {
            SourceKind::Submodule => &submodule::Submodule,
            SourceKind::Subtree => &subtree::Subtree,
            SourceKind::Sparse => &sparse::Sparse,
            SourceKind::Hub => &hub::HubSnapshot,
            SourceKind::Link => &link::Link,
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A source as it will be pinned, and what to tell about it.
#[derive(Debug, Clone)]
pub(super) struct Inspected {
    pub source: LockedSource,
    /// Submodules of the source, which are not fetched.
    pub submodules: Vec<String>,
    /// Files that are not copied.
    pub left_out: Vec<LeftOutFile>,
}

/// What a kind of source knows how to do.
pub(super) trait Keeper: Sync {
    /// Checks an address.
    fn url(&self, url: &str) -> Result<SourceUrl, ExternalsError> {
        SourceUrl::git(url)
    }

    /// The commit that a revision is now.
    fn resolve(
        &self,
        project: &Externals,
        url: &SourceUrl,
        revision: &Revision,
    ) -> Result<ObjectId, ExternalsError> {
        remote::resolve(&Git::at(&project.root), url, revision)
    }

    /// Looks at a commit before anything of the project is touched.
    fn inspect(&self, _: &Externals, pin: Pin) -> Result<Inspected, ExternalsError> {
        let found = remote::inspect(&pin)?;
        let licences = licences::of(found.files.iter().map(String::as_str), &pin.paths);
        let source = LockedSource { pin, tree: found.tree, licences, previous: None };
        Ok(Inspected { source, submodules: found.submodules, left_out: Vec::new() })
    }

    /// What stands of a source.
    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError>;

    /// Whatever else a plan needs to know.
    fn prepare(&self, _: &Externals, _: &LockedSource) -> Result<Snapshot, ExternalsError> {
        Ok(Snapshot::default())
    }

    /// What makes a source equal to the lock. Pure: the facts stand in `task`.
    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep>;
}

/// The facts a plan is made from.
pub(super) struct Task<'a> {
    pub source: &'a LockedSource,
    pub observed: &'a Observed,
    pub snapshot: &'a Snapshot,
    /// The project's repository: where a kind that lives in it was let through, it is there.
    pub repository: &'a super::repository::Repository,
}

/// The files that `git status` finds changed: tracked ones and new ones that are not ignored. Nothing
/// where git cannot read the repository.
fn changed_files(project: &Externals, place: &str) -> Result<Option<Vec<String>>, ExternalsError> {
    changed_files_in(&project.git_in(place))
}

fn changed_files_in(git: &Git) -> Result<Option<Vec<String>>, ExternalsError> {
    let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all"];
    match git.run(&status) {
        Ok(answer) => {
            Ok(Some(records(&answer).filter_map(|record| record.get(3..).map(str::to_owned)).collect()))
        }
        Err(GitError::Refused { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the commit a clone is at was made here: it is none that was fetched.
fn is_own_commit(project: &Externals, place: &str, head: &str) -> Result<bool, ExternalsError> {
    let git = project.git_in(place);
    if git.ask(&["rev-parse", "--verify", "--quiet", "FETCH_HEAD"])?.as_deref() == Some(head) {
        return Ok(false);
    }
    let holders = git.ask(&["for-each-ref", "--contains", head, "--count=1", "refs/remotes", "refs/tags"])?;
    Ok(holders.is_none_or(|holders| holders.is_empty()))
}
