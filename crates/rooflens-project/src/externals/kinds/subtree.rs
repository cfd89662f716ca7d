//! Files tracked by the project's own repository, exactly as the source has them.
//!
//! Made with plumbing, not with `git subtree`, which many installations lack and which commits. The
//! objects go through a repository of their own: fetching a shallow commit into the project's would
//! make the project itself shallow.

use super::{Inspected, Keeper, Task};
use crate::externals::identifiers::ObjectId;
use crate::externals::lock::{LockedSource, Pin};
use crate::externals::observed::{Observed, Stands};
use crate::externals::project::Externals;
use crate::externals::{ExternalsError, SyncStep, licences, remote};
use crate::git::records;

pub(super) struct Subtree;

impl Keeper for Subtree {
    fn inspect(&self, _: &Externals, pin: Pin) -> Result<Inspected, ExternalsError> {
        let found = remote::inspect(&pin)?;
        if !found.submodules.is_empty() {
            // Its links would stand in the project's index without an address, and every
            // `git submodule` command of the project would fail on them.
            return Err(ExternalsError::NestedSubmodules {
                url: pin.url.as_str().to_owned(),
                paths: found.submodules,
            });
        }
        let licences = licences::of(found.files.iter().map(String::as_str), &pin.paths);
        let source = LockedSource { pin, tree: found.tree, licences, previous: None };
        Ok(Inspected { source, submodules: Vec::new(), left_out: Vec::new() })
    }

    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError> {
        let place = source.pin.place();
        let mut observed = Observed { stands: project.stands(&place)?, ..Observed::default() };
        let Some(repository) = &project.repository else {
            observed.foreign = Some("a folder of a project without a repository");
            return Ok(observed);
        };
        observed.unfinished = project.stands(&source.pin.unfinished())? != Stands::Absent;
        if matches!(observed.stands, Stands::Other(_)) {
            return Ok(observed);
        }
        let path = repository.path(&place);
        let git = repository.git(&project.root);
        let Some(tree) = repository.index_tree(&project.root, &path, None)? else {
            observed.foreign =
                (observed.stands == Stands::Folder).then_some("a folder that the project does not track");
            return Ok(observed);
        };
        let status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--", &path];
        let inner = |record: &str| record.get(3..)?.strip_prefix(&format!("{path}/")).map(str::to_owned);
        // The second column tells the work tree from the index; the first is judged by the tree.
        let in_work_tree = |record: &String| record.as_bytes().get(1).is_some_and(|column| *column != b' ');
        observed.edits = records(&git.run(&status)?).filter(in_work_tree).filter_map(|r| inner(&r)).collect();
        observed.at_risk =
            observed.edits.iter().any(|file| project.path(&format!("{place}/{file}")).exists());
        observed.agrees = tree == source.tree.as_str();
        if observed.agrees {
            observed.commit = Some(source.pin.commit.clone());
        } else {
            let committed = git.ask(&["rev-parse", "--verify", "--quiet", &format!("HEAD:{path}")])?;
            // What is committed is not lost by being replaced.
            observed.at_risk |= committed.as_deref() != Some(tree.as_str());
            let compare =
                ["diff-tree", "-r", "-z", "--name-only", "--no-renames", source.tree.as_str(), &tree];
            // Without the pinned tree at hand, only the folder can be named.
            let differing =
                git.run(&compare).map_or_else(|_| vec![".".to_owned()], |out| records(&out).collect());
            observed.edits.extend(differing);
            observed.edits.sort();
            observed.edits.dedup();
        }
        Ok(observed)
    }

    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep> {
        let (source, pin) = (task.source, &task.source.pin);
        let (staging, place, unfinished) = (pin.staging(), pin.place(), pin.unfinished());
        let path = task.repository.path(&place);
        let top = task.repository.top();
        let tree = |tree: &ObjectId| tree.as_str().to_owned();
        vec![
            SyncStep::Remove { path: staging.clone() },
            SyncStep::MakeFolder { path: staging.clone() },
            SyncStep::git(&staging, &["init", "--quiet", "--bare"]),
            SyncStep::git(&staging, &["remote", "add", "--", "origin", pin.url.as_str()]),
            SyncStep::git_remote(
                &staging,
                pin.url.protocols(),
                &["fetch", "--quiet", "--depth=1", "--no-tags", "origin", pin.commit.as_str()],
            ),
            SyncStep::CheckCommit {
                folder: staging.clone(),
                commit: pin.commit.clone(),
                tree: source.tree.clone(),
            },
            SyncStep::CopyTree { from: staging.clone(), into: top.clone(), tree: source.tree.clone() },
            SyncStep::Remove { path: staging },
            SyncStep::MarkUnfinished { path: unfinished.clone() },
            SyncStep::git(&top, &["rm", "-r", "-f", "--quiet", "--cached", "--ignore-unmatch", "--", &path]),
            SyncStep::Remove { path: place.clone() },
            SyncStep::git(&top, &["read-tree", &format!("--prefix={path}/"), "-u", &tree(&source.tree)]),
            SyncStep::MarkReadOnly { path: place },
            SyncStep::Remove { path: unfinished },
        ]
    }
}
