//! Pins a new source, or an old one at another commit.

use serde::Serialize;

use super::folder_lock::FolderLock;
use super::identifiers::{InnerPath, ObjectId, Revision, SourceName};
use super::lock::{Lock, LockedSource, Pin};
use super::project::Externals;
use super::source_files::LeftOutFile;
use super::sync::{SyncOutcome, Synced};
use super::url::SourceUrl;
use super::{Condition, ExternalsError, SCHEMA_VERSION, SourceKind};

/// What to pin.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// How it is kept.
    pub kind: SourceKind,
    /// Where it comes from.
    pub url: String,
    /// A branch, a tag or a full commit id; the default branch where there is none.
    pub revision: Option<String>,
    /// Its name; the last part of the url where there is none.
    pub name: Option<String>,
    /// The paths to take (sparse and hub).
    pub paths: Vec<String>,
    /// Only say what would be done. The remote is asked all the same.
    pub dry_run: bool,
    /// Discard local edits and whatever stands in the way.
    pub force: bool,
}

impl AddRequest {
    /// All of a source at its default branch.
    #[must_use]
    pub fn new(kind: SourceKind, url: &str) -> Self {
        let (url, paths) = (url.to_owned(), Vec::new());
        Self { kind, url, revision: None, name: None, paths, dry_run: false, force: false }
    }
}

/// What was pinned, or would be.
#[derive(Debug, Serialize)]
pub struct Added {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether nothing was done yet.
    pub dry_run: bool,
    /// The entry of the lock.
    pub source: LockedSource,
    /// The entry it replaces.
    pub previous: Option<LockedSource>,
    /// Whether the same revision is another commit than it was: a branch advanced, or a tag was moved.
    pub revision_moved: bool,
    /// Submodules of the source, which are not fetched.
    pub submodules: Vec<String>,
    /// Files of a hub snapshot that are not copied.
    pub left_out: Vec<LeftOutFile>,
    /// What was done with its folder.
    pub synced: Synced,
    /// Files of the project that were written beside it, from its root.
    pub files: Vec<String>,
}

impl Externals {
    /// Resolves a revision, writes the entry and fetches the source. Nothing is changed before the
    /// commit has been looked at.
    ///
    /// # Errors
    /// When the request is not safe, the source is out of reach or lacks what is asked for, or work
    /// would be lost.
    pub fn add(&self, request: &AddRequest) -> Result<Added, ExternalsError> {
        self.add_at(request, None)
    }

    /// The same at a commit that the revision was resolved to before.
    pub(super) fn add_at(
        &self,
        request: &AddRequest,
        commit: Option<ObjectId>,
    ) -> Result<Added, ExternalsError> {
        let keeper = request.kind.keeper();
        let url = keeper.url(&request.url)?;
        let name = SourceName::parse(request.name.as_deref().unwrap_or(url.default_name()))?;
        let revision = Revision::parse(request.revision.as_deref().unwrap_or("HEAD"))?;
        let paths = inner_paths(&request.paths)?;
        request.kind.check_paths(&paths)?;
        if matches!(request.kind, SourceKind::Submodule | SourceKind::Subtree) {
            self.repository_for(request.kind)?;
        }
        self.refuse_links()?;
        // Asked before the remote is, and once more when no other process can change the answer.
        self.replaced(&self.lock()?, &name, request.kind, &url, request.force)?;

        let commit = match commit {
            Some(commit) => commit,
            None => keeper.resolve(self, &url, &revision)?,
        };
        let pin = Pin { name, kind: request.kind, url, revision, commit, paths };
        let inspected = keeper.inspect(self, pin)?;
        let mut source = inspected.source;

        let _guard = if request.dry_run { None } else { Some(FolderLock::take(&self.path("third_party"))?) };
        let mut lock = self.lock()?;
        let previous =
            self.replaced(&lock, &source.pin.name, request.kind, &source.pin.url, request.force)?;
        source.previous = previous.as_ref().and_then(|old| match old.pin.commit == source.pin.commit {
            true => old.previous.clone(),
            false => Some(old.pin.commit.clone()),
        });
        // What the old entry explains may go.
        let mut synced = self.decide(&source, request.force || previous.is_some())?;
        if previous.is_some() && synced.before == Some(Condition::Edited) && !request.force {
            // Against the new pin it looks edited; against the old one it was not.
            synced.before = Some(Condition::OtherCommit);
            synced.outcome = SyncOutcome::Updated;
        }

        lock.sources.insert(source.pin.name.clone(), source.clone());
        let files = self.write_settings(&lock, request.dry_run)?;
        let synced = if request.dry_run {
            synced
        } else {
            // Written first: whatever interrupts the rest, `sync` can end it.
            lock.write(&self.root)?;
            self.carry_out(&source, synced)?
        };
        let moved = |old: &LockedSource| {
            old.pin.revision == source.pin.revision && old.pin.commit != source.pin.commit
        };
        Ok(Added {
            schema_version: SCHEMA_VERSION,
            dry_run: request.dry_run,
            revision_moved: previous.as_ref().is_some_and(moved),
            previous,
            source,
            submodules: inspected.submodules,
            left_out: inspected.left_out,
            synced,
            files,
        })
    }

    /// The entry that would be replaced, which must be the same source without work of the user's.
    fn replaced(
        &self,
        lock: &Lock,
        name: &SourceName,
        kind: SourceKind,
        url: &SourceUrl,
        force: bool,
    ) -> Result<Option<LockedSource>, ExternalsError> {
        if lock.sources.keys().any(|other| other.clashes_with(name)) {
            let problem = "another source differs from it by case only";
            return Err(ExternalsError::BadName { name: name.as_str().to_owned(), problem });
        }
        let Some(old) = lock.sources.get(name) else { return Ok(None) };
        // A link leads elsewhere on another machine.
        if old.pin.kind != kind || (old.pin.url != *url && kind != SourceKind::Link) {
            return Err(ExternalsError::Taken {
                name: name.as_str().to_owned(),
                kind: old.pin.kind,
                url: old.pin.url.as_str().to_owned(),
            });
        }
        if !force {
            self.refuse_loss_of(old)?;
        }
        Ok(Some(old.clone()))
    }
}

/// Checks paths, and drops those that another covers.
fn inner_paths(paths: &[String]) -> Result<Vec<InnerPath>, ExternalsError> {
    let mut parsed: Vec<InnerPath> =
        paths.iter().map(|path| InnerPath::parse(path)).collect::<Result<_, _>>()?;
    parsed.sort();
    parsed.dedup();
    let covered = |path: &InnerPath| parsed.iter().any(|other| other != path && other.covers(path.as_str()));
    Ok(parsed.iter().filter(|path| !covered(path)).cloned().collect())
}
