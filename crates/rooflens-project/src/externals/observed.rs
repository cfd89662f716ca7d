//! What was found of a source on disk: the facts that status and plans are made from.

use std::path::PathBuf;

use super::identifiers::ObjectId;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stands {
    /// Nothing.
    #[default]
    Absent,
    /// An empty folder, as git leaves for a submodule that was not fetched.
    Empty,
    /// A folder with something in it.
    Folder,
    /// Something that is no folder.
    Other(&'static str),
}

/// The facts about a source.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    /// What its place holds.
    pub stands: Stands,
    /// What its place holds is not of this kind.
    pub foreign: Option<&'static str>,
    /// A change of its place was interrupted.
    pub unfinished: bool,
    /// The commit it is at, where that can be told.
    pub commit: Option<ObjectId>,
    /// Whether commit, paths and content are those of the lock.
    pub agrees: bool,
    /// Whether the project's repository lacks what it should know of it.
    pub detached: bool,
    /// Files that differ from the commit it is at (paths within the source).
    pub edits: Vec<String>,
    /// Whether replacing it would lose work that is nowhere else.
    pub at_risk: bool,
    /// Whether a clone of it has the pinned commit already.
    pub has_commit: bool,
    /// Keys of `.gitmodules` that have a value for it.
    pub settings: Vec<&'static str>,
    /// Where git keeps its objects apart from its place.
    pub store: Option<PathBuf>,
}
