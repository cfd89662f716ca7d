//! A clone of its own, of one commit, with some paths checked out. The project ignores its folder.
//!
//! It is always built anew beside its place and then put there: what is checked out is small, and an
//! interruption leaves the old one whole.

use super::{Keeper, Task, changed_files, is_own_commit};
use crate::externals::identifiers::ObjectId;
use crate::externals::lock::LockedSource;
use crate::externals::observed::{Observed, Stands};
use crate::externals::project::Externals;
use crate::externals::{ExternalsError, SyncStep, licences};

pub(super) struct Sparse;

impl Keeper for Sparse {
    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError> {
        let place = source.pin.place();
        let mut observed = Observed { stands: project.stands(&place)?, ..Observed::default() };
        if observed.stands != Stands::Folder {
            return Ok(observed);
        }
        if project.stands(&format!("{place}/.git"))? != Stands::Folder {
            observed.foreign = Some("a folder without its own repository");
            return Ok(observed);
        }
        let git = project.git_in(&place);
        let Some(head) = git.ask(&["rev-parse", "--verify", "--quiet", "HEAD"])? else {
            observed.foreign = Some("a repository without a commit");
            return Ok(observed);
        };
        let Some(edits) = changed_files(project, &place)? else {
            observed.foreign = Some("a repository that git cannot read");
            return Ok(observed);
        };
        observed.edits = edits;
        let patterns = git.ask(&["sparse-checkout", "list"])?.unwrap_or_default();
        let is_ours = patterns.lines().eq(licences::sparse_patterns(&source.pin.paths));
        observed.agrees = head == source.pin.commit.as_str() && is_ours;
        let own_commit = head != source.pin.commit.as_str() && is_own_commit(project, &place, &head)?;
        observed.at_risk = !observed.edits.is_empty() || own_commit;
        observed.commit = ObjectId::parse(&head).ok();
        Ok(observed)
    }

    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep> {
        let pin = &task.source.pin;
        let (built, place) = (pin.staging(), pin.place());
        let commit = pin.commit.as_str();
        let patterns = licences::sparse_patterns(&pin.paths);
        let mut set = vec!["sparse-checkout", "set", "--no-cone"];
        set.extend(patterns.iter().map(String::as_str));
        // Files are fetched by the checkout too, where the server sends them only when asked.
        let remote = |arguments: &[&str]| SyncStep::git_remote(&built, pin.url.protocols(), arguments);
        vec![
            SyncStep::Remove { path: built.clone() },
            SyncStep::MakeFolder { path: built.clone() },
            SyncStep::git(&built, &["init", "--quiet"]),
            SyncStep::git(&built, &["remote", "add", "--", "origin", pin.url.as_str()]),
            remote(&["fetch", "--quiet", "--depth=1", "--no-tags", "--filter=blob:none", "origin", commit]),
            SyncStep::CheckCommit {
                folder: built.clone(),
                commit: pin.commit.clone(),
                tree: task.source.tree.clone(),
            },
            SyncStep::git(&built, &set),
            remote(&["checkout", "--quiet", "--detach", commit]),
            SyncStep::MarkReadOnly { path: built.clone() },
            SyncStep::Replace { built, place },
        ]
    }
}
