//! `rooflens externals`, from what was asked to what is shown: one file a question.

pub mod add;
pub mod guard;
pub mod staged;
pub mod status;
pub mod sync;
pub mod update;

use std::path::{Path, PathBuf};

use rooflens_project::externals::{Externals, ObjectId, Revision, SyncStep};
use rooflens_project::hub_cache;

use crate::assets::environment;
use crate::error::CliError;

/// The lock, from the project's root.
const LOCK: &str = "third_party/externals.lock";

/// The reference sources of a project, with the hub caches of this machine.
pub fn open(root: &Path) -> Result<Externals, CliError> {
    let project = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let caches: Vec<PathBuf> = hub_cache::folders(&environment(), &project, None);
    let externals = Externals::open(root).map_err(CliError::Externals)?;
    Ok(externals.with_hub_caches(caches))
}

/// What was asked for, and which commit that is.
fn pinned(revision: &Revision, commit: &ObjectId) -> String {
    let short = &commit.as_str()[..12.min(commit.as_str().len())];
    if revision.as_str() == commit.as_str() { short.to_owned() } else { format!("{revision} ({short})") }
}

/// A line for each step.
fn steps(steps: &[SyncStep]) -> String {
    steps.iter().map(|step| format!("  {step}\n")).collect()
}
