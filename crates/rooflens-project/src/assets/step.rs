//! The steps of a plan, as data.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::Limits;
use super::bootstrap::AssetKind;
use super::error::ErrorReport;
use super::files::FileKind;
use super::source::Absence;

/// What would have to be done.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AssetPlan {
    /// The version of this document.
    pub schema_version: u32,
    /// The steps, in order.
    pub steps: Vec<AssetStep>,
}

/// One action, or something that is left unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetStep {
    /// The asset it is for.
    pub asset: String,
    /// Its kind.
    pub kind: AssetKind,
    /// What to do.
    #[serde(flatten)]
    pub action: Action,
    /// What the user must agree to first.
    pub consent: Vec<Consent>,
    /// What would help, where nothing can be done or git would track what is made.
    pub hint: Option<String>,
}

/// What a user must agree to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// A link that points elsewhere is replaced.
    ReplacesLink,
    /// An archive is unpacked.
    Extracts,
    /// Git would track what is made.
    GitWouldTrack,
}

/// What to do. Paths in the project are relative to its folder, others are absolute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "action")]
pub enum Action {
    /// Make a link.
    Link {
        /// The link.
        link: PathBuf,
        /// What it points to.
        to: PathBuf,
    },
    /// The link is right.
    KeepLink {
        /// The link.
        link: PathBuf,
        /// What it points to.
        to: PathBuf,
    },
    /// Replace a link that points elsewhere.
    Relink {
        /// The link.
        link: PathBuf,
        /// What it says now.
        from: PathBuf,
        /// What it shall point to.
        to: PathBuf,
    },
    /// Unpack an archive.
    Extract {
        /// The archive.
        archive: PathBuf,
        /// Its size.
        archive_bytes: u64,
        /// The folder it becomes.
        into: PathBuf,
        /// How much it may hold.
        limits: Limits,
    },
    /// The archive is unpacked.
    KeepExtracted {
        /// The folder it became.
        into: PathBuf,
    },
    /// The asset is not where it should be stored.
    MissingSource {
        /// What needs it: the link or the folder of an archive.
        path: PathBuf,
        /// Why it is not found.
        absence: Absence,
        /// Where it was looked for.
        looked_at: Vec<PathBuf>,
    },
    /// Something else is in the way; it is left unchanged.
    Conflict {
        /// Where.
        path: PathBuf,
        /// What is at the path.
        found: FileKind,
        /// What is wrong with it.
        conflict: Conflict,
    },
    /// It must not be done.
    Refused {
        /// Where.
        path: PathBuf,
        /// Why.
        error: ErrorReport,
    },
}

/// What is wrong with what is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Conflict {
    /// It is real, and real things are not replaced.
    #[error("it is not a link, and only links are replaced")]
    Real,
    /// The folder was not made from an archive.
    #[error("it was not created by extracting an archive")]
    NotExtracted,
    /// The folder was made from another version of the archive.
    #[error("it was created from another version of the archive")]
    OtherArchive,
    /// The source and the target lie in one another.
    #[error("its source is inside it, or it is inside its source")]
    Nested,
}

impl Action {
    /// Whether there is something to do.
    #[must_use]
    pub fn is_change(&self) -> bool {
        matches!(self, Action::Link { .. } | Action::Relink { .. } | Action::Extract { .. })
    }

    /// Whether something is wrong that no run will mend.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        matches!(self, Action::MissingSource { .. } | Action::Conflict { .. } | Action::Refused { .. })
    }
}
