//! Makes the sources equal to the lock.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::folder_lock::FolderLock;
use super::identifiers::SourceName;
use super::kinds::Task;
use super::lock::{Lock, LockedSource};
use super::observed::{Observed, Stands};
use super::project::Externals;
use super::{Condition, ExternalsError, SCHEMA_VERSION, SourceKind, SyncStep, read_only};

/// What to sync, and how.
#[derive(Debug, Clone, Default)]
pub struct SyncRequest {
    /// These sources; all where there are none.
    pub names: Vec<String>,
    /// Only say what would be done.
    pub dry_run: bool,
    /// Discard local edits and whatever stands in the way.
    pub force: bool,
}

/// What was done, or would be.
#[derive(Debug, Serialize)]
pub struct SyncReport {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether nothing was done yet.
    pub dry_run: bool,
    /// Whether every source is now as the lock says, or would be.
    pub succeeded: bool,
    /// The sources, by name.
    pub sources: Vec<Synced>,
    /// Files of the project that were written beside them, from its root.
    pub files: Vec<String>,
}

/// What was done with a source, or would be.
#[derive(Debug, Serialize)]
pub struct Synced {
    /// Its name.
    pub name: SourceName,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// How it stood before.
    pub before: Option<Condition>,
    /// What came of it.
    pub outcome: SyncOutcome,
    /// The steps, in order.
    pub steps: Vec<SyncStep>,
    /// What went wrong.
    pub error: Option<ExternalsError>,
}

/// What came of syncing a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncOutcome {
    /// It was as the lock says.
    Unchanged,
    /// It was not there.
    Created,
    /// It was something else.
    Updated,
    /// It was edited, half made or unknown to git.
    Repaired,
    /// It was right, but could be written to.
    MarkedReadOnly,
    /// It could not be had; see `error`.
    Failed,
}

impl Externals {
    /// Makes the sources equal to the lock. A source that fails does not keep the others from it.
    ///
    /// # Errors
    /// When the lock cannot be read, names a source that was asked for and is none, or another
    /// process is at work. What fails for one source stands in its row.
    pub fn sync(&self, request: &SyncRequest) -> Result<SyncReport, ExternalsError> {
        self.refuse_links()?;
        let lock = self.lock()?;
        let chosen = chosen(&lock, &request.names)?;
        let is_quiet = request.dry_run || lock.sources.is_empty();
        let _guard = if is_quiet { None } else { Some(FolderLock::take(&self.path("third_party"))?) };
        let files =
            if lock.sources.is_empty() { Vec::new() } else { self.write_settings(&lock, request.dry_run)? };
        let sources: Vec<Synced> = chosen.into_iter().map(|source| self.sync_row(source, request)).collect();
        let succeeded = sources.iter().all(|source| source.error.is_none());
        Ok(SyncReport { schema_version: SCHEMA_VERSION, dry_run: request.dry_run, succeeded, sources, files })
    }

    fn sync_row(&self, source: &LockedSource, request: &SyncRequest) -> Synced {
        let done = self
            .decide(source, request.force)
            .and_then(|synced| if request.dry_run { Ok(synced) } else { self.carry_out(source, synced) });
        done.unwrap_or_else(|error| Synced {
            name: source.pin.name.clone(),
            kind: source.pin.kind,
            place: source.pin.place(),
            before: None,
            outcome: SyncOutcome::Failed,
            steps: Vec::new(),
            error: Some(error),
        })
    }

    /// Looks at a source and plans; refuses where work would be lost.
    pub(super) fn decide(&self, source: &LockedSource, force: bool) -> Result<Synced, ExternalsError> {
        let pin = &source.pin;
        let keeper = pin.kind.keeper();
        let repository = match pin.kind {
            SourceKind::Submodule | SourceKind::Subtree => self.repository_for(pin.kind)?.clone(),
            SourceKind::Sparse | SourceKind::Hub | SourceKind::Link => {
                self.repository.clone().unwrap_or_default()
            }
        };
        let observed = keeper.observe(self, source)?;
        let before = Condition::of(source, &observed);
        let mut steps = Vec::new();
        let outcome = match before {
            Condition::InSync => {
                let remnants = [pin.staging(), pin.beside("partial-old")];
                for path in remnants {
                    if self.stands(&path)? != Stands::Absent {
                        steps.push(SyncStep::Remove { path });
                    }
                }
                // The files behind a link are not ours to mark.
                if pin.kind == SourceKind::Link || read_only::is_marked(&self.path(&pin.place()))? {
                    SyncOutcome::Unchanged
                } else {
                    steps.push(SyncStep::MarkReadOnly { path: pin.place() });
                    SyncOutcome::MarkedReadOnly
                }
            }
            _ => {
                if !force {
                    refuse_loss(source, before, &observed)?;
                }
                let snapshot = keeper.prepare(self, source)?;
                let task = Task { source, observed: &observed, snapshot: &snapshot, repository: &repository };
                steps = keeper.plan(&task);
                outcome_of(before)
            }
        };
        let (name, place) = (pin.name.clone(), pin.place());
        Ok(Synced { name, kind: pin.kind, place, before: Some(before), outcome, steps, error: None })
    }

    /// Refuses where replacing a source would lose work.
    pub(super) fn refuse_loss_of(&self, source: &LockedSource) -> Result<(), ExternalsError> {
        let observed = source.pin.kind.keeper().observe(self, source)?;
        refuse_loss(source, Condition::of(source, &observed), &observed)
    }

    /// Applies a decision and makes sure that it came true.
    pub(super) fn carry_out(&self, source: &LockedSource, synced: Synced) -> Result<Synced, ExternalsError> {
        self.apply(&source.pin, &synced.steps)?;
        if synced.outcome == SyncOutcome::Unchanged {
            return Ok(synced);
        }
        let observed = source.pin.kind.keeper().observe(self, source)?;
        match Condition::of(source, &observed) {
            Condition::InSync => Ok(synced),
            other => Err(ExternalsError::NotAsLocked { place: synced.place, condition: other.describe() }),
        }
    }
}

fn outcome_of(before: Condition) -> SyncOutcome {
    match before {
        Condition::InSync => SyncOutcome::Unchanged,
        Condition::Missing => SyncOutcome::Created,
        Condition::OtherCommit | Condition::OtherPaths => SyncOutcome::Updated,
        Condition::Unfinished | Condition::InTheWay | Condition::Edited | Condition::Detached => {
            SyncOutcome::Repaired
        }
    }
}

fn refuse_loss(source: &LockedSource, before: Condition, observed: &Observed) -> Result<(), ExternalsError> {
    let place = source.pin.place();
    if before == Condition::InTheWay {
        let found = match (observed.stands, observed.foreign) {
            (Stands::Other(found), _) | (_, Some(found)) => found,
            _ => "something else",
        };
        return Err(ExternalsError::InTheWay { place, found, kind: source.pin.kind });
    }
    if observed.at_risk && before != Condition::Unfinished {
        let edits = match observed.edits.as_slice() {
            [] => vec!["a commit of its own".to_owned()],
            edits => edits.to_vec(),
        };
        return Err(ExternalsError::LocalEdits { place, edits });
    }
    Ok(())
}

pub(super) fn chosen<'a>(lock: &'a Lock, names: &[String]) -> Result<Vec<&'a LockedSource>, ExternalsError> {
    if names.is_empty() {
        return Ok(lock.sources.values().collect());
    }
    let find = |name: &String| {
        let known = || lock.sources.keys().map(|name| name.as_str().to_owned()).collect();
        lock.sources
            .values()
            .find(|source| source.pin.name.as_str() == name)
            .ok_or_else(|| ExternalsError::UnknownSource { name: name.clone(), known: known() })
    };
    names.iter().map(find).collect()
}
