//! A symbolic link to a checkout of this machine. The project ignores it; nothing is ever changed in the
//! checkout, which is its owner's.
//!
//! The lock records the commit that was checked out. A checkout that moved on is told, and `update`
//! records where it is now.

use std::fs;
use std::path::Path;

use super::{Inspected, Keeper, Task, changed_files_in};
use crate::externals::identifiers::{ObjectId, Revision};
use crate::externals::lock::{LockedSource, Pin};
use crate::externals::observed::{Observed, Stands};
use crate::externals::project::Externals;
use crate::externals::source_files::Snapshot;
use crate::externals::url::SourceUrl;
use crate::externals::{ExternalsError, SyncStep, licences};
use crate::git::{Git, records};

pub(super) struct Link;

impl Keeper for Link {
    fn url(&self, url: &str) -> Result<SourceUrl, ExternalsError> {
        if !url.starts_with('/') {
            let problem = "a link must point to a folder on this machine, by its absolute path";
            return Err(ExternalsError::BadUrl { url: url.to_owned(), problem });
        }
        SourceUrl::git(url)
    }

    fn resolve(
        &self,
        _: &Externals,
        url: &SourceUrl,
        revision: &Revision,
    ) -> Result<ObjectId, ExternalsError> {
        if revision.as_str() != "HEAD" {
            let problem = "a link uses what is checked out";
            return Err(ExternalsError::BadRevision { revision: revision.as_str().to_owned(), problem });
        }
        head(url)?.ok_or_else(|| ExternalsError::NoCheckout { path: url.as_str().to_owned() })
    }

    fn inspect(&self, _: &Externals, pin: Pin) -> Result<Inspected, ExternalsError> {
        let git = checkout(&pin.url);
        let tree = git.line(&["rev-parse", "--verify", &format!("{}^{{tree}}", pin.commit)])?;
        let files = git.run(&["ls-tree", "-r", "-z", "--name-only", tree.as_str()])?;
        let files: Vec<String> = records(&files).collect();
        let licences = licences::of(files.iter().map(String::as_str), &pin.paths);
        let source = LockedSource { tree: ObjectId::parse(&tree)?, pin, licences, previous: None };
        Ok(Inspected { source, submodules: Vec::new(), left_out: Vec::new() })
    }

    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError> {
        let place = source.pin.place();
        let mut observed = Observed { stands: project.stands(&place)?, ..Observed::default() };
        if !matches!(observed.stands, Stands::Other(_)) {
            observed.foreign = (observed.stands != Stands::Absent).then_some("a folder");
            return Ok(observed);
        }
        if fs::read_link(project.path(&place)).ok().as_deref() != Some(Path::new(source.pin.url.as_str())) {
            observed.stands = Stands::Other("a file or a link to somewhere else");
            return Ok(observed);
        }
        let Some(commit) = head(&source.pin.url)? else {
            // The link is right, and leads to nothing that could be read.
            observed.stands = Stands::Absent;
            return Ok(observed);
        };
        observed.stands = Stands::Folder;
        observed.agrees = commit == source.pin.commit;
        observed.commit = Some(commit);
        observed.edits = changed_files_in(&checkout(&source.pin.url))?.unwrap_or_default();
        Ok(observed)
    }

    /// The checkout must be as the lock says: it is not ours to change.
    fn prepare(&self, _: &Externals, source: &LockedSource) -> Result<Snapshot, ExternalsError> {
        let path = source.pin.url.as_str().to_owned();
        match head(&source.pin.url)? {
            None => Err(ExternalsError::NoCheckout { path }),
            Some(found) if found != source.pin.commit => Err(ExternalsError::CheckoutMoved {
                name: source.pin.name.as_str().to_owned(),
                path,
                commit: source.pin.commit.as_str().to_owned(),
                found: found.as_str().to_owned(),
            }),
            Some(_) => Ok(Snapshot::default()),
        }
    }

    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep> {
        let pin = &task.source.pin;
        let mut steps = vec![SyncStep::MakeFolder { path: pin.kind.shelf().to_owned() }];
        if task.observed.stands != Stands::Absent {
            steps.push(SyncStep::Remove { path: pin.place() });
        }
        steps.push(SyncStep::Link { place: pin.place(), to: pin.url.as_str().into() });
        steps
    }
}

/// Git in the checkout, whose repository may not be one around it.
fn checkout(url: &SourceUrl) -> Git {
    Git::at(Path::new(url.as_str())).own_repository()
}

/// The commit that is checked out; nothing where there is no checkout.
fn head(url: &SourceUrl) -> Result<Option<ObjectId>, ExternalsError> {
    if !Path::new(url.as_str()).is_dir() {
        return Ok(None);
    }
    let head = checkout(url).ask(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    head.map(|head| ObjectId::parse(&head)).transpose()
}
