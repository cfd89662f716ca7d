//! What `rooflens externals` prints as JSON.

use std::borrow::Cow;
use std::path::PathBuf;

use rooflens_project::externals::{
    Added, Condition, ExternalsError, ExternalsFaultClass, GuardReport, HookAction, LeftOutFile,
    LockedSource, ObjectId, Revision, SourceKind, SourceName, SourceStatus, StagedEdit, StagedReport,
    StatusReport, SyncOutcome, SyncReport, SyncStep, Synced, UpdateRow, UpdateState,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;

/// A reference source that was pinned, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsAddDocument<'a> {
    /// `rooflens.externals-add`.
    pub schema: SchemaTag,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The entry of the lock.
    pub source: Cow<'a, LockedSource>,
    /// The entry that it replaces.
    pub previous: Option<Cow<'a, LockedSource>>,
    /// Whether the same revision is another commit than it was: a branch advanced, or a tag was moved.
    pub revision_moved: bool,
    /// Submodules of the source, which are not fetched.
    pub submodules: Cow<'a, [String]>,
    /// Files of a hub snapshot that are not copied.
    pub left_out: Cow<'a, [LeftOutFile]>,
    /// What was done with its folder.
    pub synced: SyncedSource,
    /// Files of the project that were written beside it, from its root.
    pub files: Cow<'a, [String]>,
}

impl<'a> From<&'a Added> for ExternalsAddDocument<'a> {
    fn from(added: &'a Added) -> Self {
        ExternalsAddDocument {
            schema: SchemaTag::new("externals-add"),
            dry_run: added.dry_run,
            source: Cow::Borrowed(&added.source),
            previous: added.previous.as_ref().map(Cow::Borrowed),
            revision_moved: added.revision_moved,
            submodules: (&added.submodules).into(),
            left_out: (&added.left_out).into(),
            synced: SyncedSource::from(&added.synced),
            files: (&added.files).into(),
        }
    }
}

/// What making the reference sources equal to the lock did, or would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsSyncDocument<'a> {
    /// `rooflens.externals-sync`.
    pub schema: SchemaTag,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// Whether every source is now as the lock says, or would be.
    pub succeeded: bool,
    /// The sources, by name.
    pub sources: Vec<SyncedSource>,
    /// Files of the project that were written beside them, from its root.
    pub files: Cow<'a, [String]>,
}

impl<'a> From<&'a SyncReport> for ExternalsSyncDocument<'a> {
    fn from(report: &'a SyncReport) -> Self {
        ExternalsSyncDocument {
            schema: SchemaTag::new("externals-sync"),
            dry_run: report.dry_run,
            succeeded: report.succeeded,
            sources: report.sources.iter().map(SyncedSource::from).collect(),
            files: (&report.files).into(),
        }
    }
}

/// Staged changes of reference sources that the lock does not explain.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsStagedDocument<'a> {
    /// `rooflens.externals-staged`.
    pub schema: SchemaTag,
    /// The changes, by path; a commit is refused where there are any.
    pub edits: Cow<'a, [StagedEdit]>,
}

impl<'a> From<&'a StagedReport> for ExternalsStagedDocument<'a> {
    fn from(report: &'a StagedReport) -> Self {
        ExternalsStagedDocument { schema: SchemaTag::new("externals-staged"), edits: (&report.edits).into() }
    }
}

/// The pre-commit hook that guards reference sources.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsGuardDocument {
    /// `rooflens.externals-guard`.
    pub schema: SchemaTag,
    /// The hook's file.
    pub hook: PathBuf,
    /// What was done with it.
    pub action: HookAction,
}

impl From<&GuardReport> for ExternalsGuardDocument {
    fn from(report: &GuardReport) -> Self {
        ExternalsGuardDocument {
            schema: SchemaTag::new("externals-guard"),
            hook: report.hook.clone(),
            action: report.action,
        }
    }
}

/// Status of each reference source against the lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsStatusDocument<'a> {
    /// `rooflens.externals-status`.
    pub schema: SchemaTag,
    /// Whether every source is as the lock says.
    pub in_sync: bool,
    /// The sources, by name.
    pub sources: Cow<'a, [SourceStatus]>,
    /// Folders beside them that the lock does not know.
    pub unlisted: Cow<'a, [String]>,
}

impl<'a> From<&'a StatusReport> for ExternalsStatusDocument<'a> {
    fn from(report: &'a StatusReport) -> Self {
        ExternalsStatusDocument {
            schema: SchemaTag::new("externals-status"),
            in_sync: report.in_sync,
            sources: (&report.sources).into(),
            unlisted: (&report.unlisted).into(),
        }
    }
}

/// Which reference sources have something newer, or were moved to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsUpdateDocument {
    /// `rooflens.externals-update`.
    pub schema: SchemaTag,
    /// Whether nothing was done.
    pub dry_run: bool,
    /// How many sources were moved, or would be.
    pub changes: usize,
    /// The sources, by name.
    pub sources: Vec<UpdatedSource>,
}

impl ExternalsUpdateDocument {
    /// Of these sources.
    pub fn new(dry_run: bool, changes: usize, sources: &[UpdateRow]) -> Self {
        ExternalsUpdateDocument {
            schema: SchemaTag::new("externals-update"),
            dry_run,
            changes,
            sources: sources.iter().map(UpdatedSource::from).collect(),
        }
    }
}

/// What was done with a reference source, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SyncedSource {
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
    pub error: Option<SourceFailure>,
}

impl From<&Synced> for SyncedSource {
    fn from(synced: &Synced) -> Self {
        SyncedSource {
            name: synced.name.clone(),
            kind: synced.kind,
            place: synced.place.clone(),
            before: synced.before,
            outcome: synced.outcome,
            steps: synced.steps.clone(),
            error: synced.error.as_ref().map(SourceFailure::from),
        }
    }
}

/// A reference source, and whether there is something newer.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UpdatedSource {
    /// Its name.
    pub name: SourceName,
    /// How it is kept.
    pub kind: SourceKind,
    /// Its folder, from the project's root.
    pub place: String,
    /// What it follows.
    pub revision: Revision,
    /// The commit it is pinned at.
    pub from: ObjectId,
    /// The commit that its revision is now; null if it could not be determined.
    pub to: Option<ObjectId>,
    /// What is to be done, or was.
    pub state: UpdateState,
    /// What went wrong.
    pub error: Option<SourceFailure>,
}

impl From<&UpdateRow> for UpdatedSource {
    fn from(row: &UpdateRow) -> Self {
        UpdatedSource {
            name: row.name.clone(),
            kind: row.kind,
            place: row.place.clone(),
            revision: row.revision.clone(),
            from: row.from.clone(),
            to: row.to.clone(),
            state: row.state,
            error: row.error.as_ref().map(SourceFailure::from),
        }
    }
}

/// A failure with a reference source.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SourceFailure {
    /// Whose move it is.
    pub class: ExternalsFaultClass,
    /// The fact.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl From<&ExternalsError> for SourceFailure {
    fn from(error: &ExternalsError) -> Self {
        SourceFailure { class: error.class(), message: error.to_string(), hint: error.hint() }
    }
}
