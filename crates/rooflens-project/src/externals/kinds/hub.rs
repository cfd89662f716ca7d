//! Source files of a Hugging Face repository, copied from the local cache. Nothing is downloaded.
//!
//! The copies are plain files that the project may commit; their git tree is pinned. A note beside
//! the folder lists what was copied, so that an edit is told from an older snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Inspected, Keeper, Task};
use crate::externals::identifiers::{ObjectId, Revision};
use crate::externals::listing::Listing;
use crate::externals::lock::{LockedSource, Pin};
use crate::externals::observed::{Observed, Stands};
use crate::externals::project::Externals;
use crate::externals::source_files::{self, Snapshot};
use crate::externals::url::{HubRepository, SourceUrl};
use crate::externals::{ExternalsError, SyncStep, licences};
use crate::git::Git;

pub(super) struct HubSnapshot;

impl Keeper for HubSnapshot {
    fn url(&self, url: &str) -> Result<SourceUrl, ExternalsError> {
        SourceUrl::hub(url)
    }

    fn resolve(
        &self,
        project: &Externals,
        url: &SourceUrl,
        revision: &Revision,
    ) -> Result<ObjectId, ExternalsError> {
        let (caches, repository) = caches_of(project, url)?;
        // The hub calls its only branch `main`; `HEAD` is what git users ask for when they say nothing.
        let main = Revision::parse("main")?;
        source_files::resolve(caches, repository, if revision.as_str() == "HEAD" { &main } else { revision })
    }

    fn inspect(&self, project: &Externals, pin: Pin) -> Result<Inspected, ExternalsError> {
        let snapshot = snapshot_of(project, &pin)?;
        for path in &pin.paths {
            if !snapshot.files.iter().any(|(file, _)| path.covers(file)) {
                return Err(ExternalsError::NothingAtPath {
                    url: pin.url.as_str().to_owned(),
                    path: path.as_str().to_owned(),
                    commit: pin.commit.as_str().to_owned(),
                });
            }
        }
        let git = Git::at(&project.root);
        let files: Vec<(String, &Path)> =
            snapshot.files.iter().map(|(path, real)| (path.clone(), real.as_path())).collect();
        let tree = Listing::of_files(&git, &files)?.tree(&git)?;
        let licences = licences::of(snapshot.files.iter().map(|(path, _)| path.as_str()), &pin.paths);
        let source = LockedSource { pin, tree, licences, previous: None };
        Ok(Inspected { source, submodules: Vec::new(), left_out: snapshot.left_out })
    }

    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError> {
        let place = source.pin.place();
        let mut observed = Observed { stands: project.stands(&place)?, ..Observed::default() };
        if observed.stands != Stands::Folder {
            return Ok(observed);
        }
        let git = Git::at(&project.root);
        let found = Listing::of_folder(&git, &project.path(&place))?;
        let tree = found.tree(&git)?;
        observed.agrees = tree == source.tree;
        if observed.agrees {
            observed.commit = Some(source.pin.commit.clone());
            return Ok(observed);
        }
        match copied(project, &source.pin) {
            Some((commit, listing)) => {
                observed.edits = listing.differences(&found);
                observed.commit = Some(commit);
            }
            // Nothing tells which files were changed: the folder is named.
            None => observed.edits = vec![".".to_owned()],
        }
        observed.at_risk = !observed.edits.is_empty() && !is_committed(project, &place, &tree)?;
        Ok(observed)
    }

    fn prepare(&self, project: &Externals, source: &LockedSource) -> Result<Snapshot, ExternalsError> {
        snapshot_of(project, &source.pin)
    }

    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep> {
        let (source, pin) = (task.source, &task.source.pin);
        let (built, place) = (pin.staging(), pin.place());
        let mut steps =
            vec![SyncStep::Remove { path: built.clone() }, SyncStep::MakeFolder { path: built.clone() }];
        steps.extend(
            task.snapshot
                .files
                .iter()
                .map(|(path, from)| SyncStep::CopyFile { from: from.clone(), to: format!("{built}/{path}") }),
        );
        steps.extend([
            SyncStep::CheckFiles {
                folder: built.clone(),
                tree: source.tree.clone(),
                note: pin.copied(),
                commit: pin.commit.clone(),
            },
            SyncStep::MarkReadOnly { path: built.clone() },
            SyncStep::Replace { built, place },
        ]);
        steps
    }
}

fn caches_of<'a>(
    project: &'a Externals,
    url: &'a SourceUrl,
) -> Result<(&'a [PathBuf], &'a HubRepository), ExternalsError> {
    let problem = "it is not a Hugging Face hub repository";
    let repository =
        url.hub_repository().ok_or(ExternalsError::BadUrl { url: url.as_str().to_owned(), problem })?;
    if project.hub_caches.is_empty() {
        return Err(ExternalsError::HubCacheUnset { repository: repository.id.clone() });
    }
    Ok((&project.hub_caches, repository))
}

fn snapshot_of(project: &Externals, pin: &Pin) -> Result<Snapshot, ExternalsError> {
    let (caches, repository) = caches_of(project, &pin.url)?;
    source_files::snapshot(caches, repository, pin, project.hub_limits)
}

/// What was last copied: the commit in the first line, then the files.
fn copied(project: &Externals, pin: &Pin) -> Option<(ObjectId, Listing)> {
    let text = fs::read_to_string(project.path(&pin.copied())).ok()?;
    let (commit, files) = text.split_once('\n')?;
    Some((ObjectId::parse(commit).ok()?, Listing::from_text(files)?))
}

/// Whether the project's last commit has just these files, so that they cannot be lost.
fn is_committed(project: &Externals, place: &str, tree: &ObjectId) -> Result<bool, ExternalsError> {
    let Some(repository) = &project.repository else { return Ok(false) };
    let committed = format!("HEAD:{}", repository.path(place));
    let found = repository.git(&project.root).ask(&["rev-parse", "--verify", "--quiet", &committed])?;
    Ok(found.as_deref() == Some(tree.as_str()))
}
