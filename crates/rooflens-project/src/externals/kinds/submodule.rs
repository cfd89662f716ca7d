//! A git submodule: the project's repository holds a link to a commit, and `.gitmodules` its address.

use std::path::PathBuf;

use super::{Keeper, Task, changed_files, is_own_commit};
use crate::externals::identifiers::ObjectId;
use crate::externals::lock::LockedSource;
use crate::externals::observed::{Observed, Stands};
use crate::externals::project::Externals;
use crate::externals::{ExternalsError, SyncStep};
use crate::git::Git;

pub(super) struct Submodule;

/// What `.gitmodules` says of a source that is only read: local edits do not show in `git status` (the
/// guard and `rooflens externals status` tell them), `git submodule update` leaves it to
/// `rooflens externals sync`, and one commit is fetched. What the user has set stays.
const SETTINGS: &[(&str, &str)] = &[("ignore", "dirty"), ("update", "none"), ("shallow", "true")];

impl Keeper for Submodule {
    fn observe(&self, project: &Externals, source: &LockedSource) -> Result<Observed, ExternalsError> {
        let place = source.pin.place();
        let mut observed = Observed { stands: project.stands(&place)?, ..Observed::default() };
        let Some(repository) = &project.repository else {
            observed.foreign = Some("a folder of a project without a repository");
            return Ok(observed);
        };
        observed.unfinished = project.stands(&source.pin.unfinished())? != Stands::Absent;
        let path = repository.path(&place);
        let git = repository.git(&project.root);
        let store =
            git.line(&["rev-parse", "--path-format=absolute", "--git-path", &format!("modules/{path}")])?;
        for (key, _) in SETTINGS {
            let key_of_it = format!("submodule.{path}.{key}");
            if git.ask(&["config", "--file", ".gitmodules", "--get", &key_of_it])?.is_some() {
                observed.settings.push(key);
            }
        }
        observed.store = Some(PathBuf::from(store)).filter(|store| store.exists());
        if observed.stands != Stands::Folder {
            return Ok(observed);
        }
        if !project.path(&format!("{place}/.git")).exists() {
            observed.foreign = Some("a folder without its own repository");
            return Ok(observed);
        }
        let Some(head) = project.git_in(&place).ask(&["rev-parse", "--verify", "--quiet", "HEAD"])? else {
            observed.foreign = Some("a repository without a commit");
            return Ok(observed);
        };
        let wanted = format!("{}^{{commit}}", source.pin.commit);
        observed.has_commit = project.git_in(&place).ask(&["cat-file", "-e", &wanted])?.is_some();
        let link = link(&git, &path)?;
        let url = git.ask(&["config", "--file", ".gitmodules", "--get", &format!("submodule.{path}.url")])?;
        observed.detached = link.is_none() || url.as_deref() != Some(source.pin.url.as_str());
        let commit = source.pin.commit.as_str();
        observed.agrees = head == commit && link.as_deref() == Some(commit);
        let Some(edits) = changed_files(project, &place)? else {
            observed.foreign = Some("a repository that git cannot read");
            return Ok(observed);
        };
        observed.edits = edits;
        let committed = git.ask(&["rev-parse", "--verify", "--quiet", &format!("HEAD:{path}")])?;
        let known = [Some(commit), link.as_deref(), committed.as_deref()].contains(&Some(head.as_str()));
        let own_commit = !known && is_own_commit(project, &place, &head)?;
        observed.at_risk = !observed.edits.is_empty() || own_commit;
        observed.commit =
            ObjectId::parse(if head == commit { link.as_deref().unwrap_or(&head) } else { &head }).ok();
        Ok(observed)
    }

    fn plan(&self, task: &Task<'_>) -> Vec<SyncStep> {
        let (pin, observed) = (&task.source.pin, task.observed);
        let (place, unfinished, top) = (pin.place(), pin.unfinished(), task.repository.top());
        let path = task.repository.path(&place);
        let set = |key: &str, value: &str| {
            SyncStep::git(
                &top,
                &["config", "--file", ".gitmodules", &format!("submodule.{path}.{key}"), value],
            )
        };
        let begins_anew = observed.unfinished || observed.foreign.is_some();
        let mut steps = vec![SyncStep::MakeFolder { path: pin.kind.shelf().to_owned() }];
        if observed.stands == Stands::Folder && !begins_anew && !observed.has_commit {
            // Before anything is changed: a remote out of reach then leaves the clone as it was.
            let fetch =
                ["fetch", "--quiet", "--depth=1", "--no-tags", "--", pin.url.as_str(), pin.commit.as_str()];
            steps.push(SyncStep::git_remote(&place, pin.url.protocols(), &fetch));
        }
        steps.push(SyncStep::MarkUnfinished { path: unfinished.clone() });
        if begins_anew {
            steps.push(SyncStep::Remove { path: place.clone() });
            steps.extend(observed.store.iter().map(|path| SyncStep::RemoveStore { path: path.clone() }));
        } else if !observed.edits.is_empty() {
            steps.push(SyncStep::git(&place, &["reset", "--hard", "--quiet"]));
            steps.push(SyncStep::git(&place, &["clean", "-ffdq"]));
        }
        steps.extend([set("path", &path), set("url", pin.url.as_str())]);
        let unset = SETTINGS.iter().filter(|(key, _)| !observed.settings.contains(key));
        steps.extend(unset.map(|(key, value)| set(key, value)));
        steps.extend([
            SyncStep::git(&top, &["add", "--", ".gitmodules"]),
            SyncStep::git(
                &top,
                &["update-index", "--add", "--cacheinfo", &format!("160000,{},{path}", pin.commit)],
            ),
            SyncStep::git(&top, &["submodule", "--quiet", "init", "--", &path]),
            // An address changed in the lock must reach the clone too.
            SyncStep::git(&top, &["submodule", "--quiet", "sync", "--", &path]),
            SyncStep::git_remote(
                &top,
                pin.url.protocols(),
                &["submodule", "--quiet", "update", "--checkout", "--force", "--depth", "1", "--", &path],
            ),
            SyncStep::CheckCommit {
                folder: place.clone(),
                commit: pin.commit.clone(),
                tree: task.source.tree.clone(),
            },
            SyncStep::MarkReadOnly { path: place },
            SyncStep::Remove { path: unfinished },
        ]);
        steps
    }
}

/// The commit that the index links to.
fn link(git: &Git, path: &str) -> Result<Option<String>, ExternalsError> {
    let answer = git.line(&["ls-files", "--stage", "--", path])?;
    let mut words = answer.split_whitespace();
    Ok(words.next().filter(|mode| *mode == "160000").and_then(|_| words.next()).map(str::to_owned))
}
