//! What `rooflens externals` prints as JSON.

use rooflens_collect::project::externals::{
    Added, GuardReport, StagedEdit, StatusReport, SyncReport, UpdateRow,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::SchemaTag;

/// A reference source that was pinned, or would be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsAddDocument {
    /// `rooflens.externals-add`.
    pub schema: SchemaTag,
    /// The source.
    #[serde(flatten)]
    pub added: Added,
}

/// What making the reference sources equal to the lock did, or would do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsSyncDocument {
    /// `rooflens.externals-sync`.
    pub schema: SchemaTag,
    /// The sources.
    #[serde(flatten)]
    pub report: SyncReport,
}

/// Staged changes of reference sources that the lock does not explain.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsStagedDocument {
    /// `rooflens.externals-staged`.
    pub schema: SchemaTag,
    /// The changes, by path; any of them makes a commit fail.
    pub edits: Vec<StagedEdit>,
}

/// The pre-commit hook that guards reference sources.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsGuardDocument {
    /// `rooflens.externals-guard`.
    pub schema: SchemaTag,
    /// The hook.
    #[serde(flatten)]
    pub report: GuardReport,
}

/// Status of each reference source compared with the lock.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsStatusDocument {
    /// `rooflens.externals-status`.
    pub schema: SchemaTag,
    /// The sources.
    #[serde(flatten)]
    pub report: StatusReport,
}

/// Which reference sources have something newer, or were moved to it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ExternalsUpdateDocument {
    /// `rooflens.externals-update`.
    pub schema: SchemaTag,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// How many sources were moved, or would be.
    pub changes: usize,
    /// The sources, by name.
    pub sources: Vec<UpdateRow>,
}
