//! Doing what a plan says.
//!
//! The disk may have changed since the plan was made, so each step looks again before it writes.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::archive::{self, Extracted, staging_name};
use super::error::{AssetError, AssetFault, ErrorReport};
use super::files::{Disk, FileKind, FileSystem};
use super::project::Project;
use super::step::{Action, AssetPlan, AssetStep};
use super::watch::AssetObserver;

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Applied {
    /// The version of this document.
    pub schema_version: u32,
    /// One for each step, in order.
    pub outcomes: Vec<AssetOutcome>,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AssetOutcome {
    /// The step.
    #[serde(flatten)]
    pub step: AssetStep,
    /// Outcome.
    pub result: StepResult,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum StepResult {
    /// It was done.
    Done {
        /// What came out of an archive.
        extracted: Option<Extracted>,
    },
    /// There was nothing to do.
    Unchanged,
    /// The user did not agree.
    NotAllowed,
    /// The plan says that it cannot be done.
    Impossible,
    /// It went wrong.
    Failed {
        /// How.
        error: ErrorReport,
    },
    /// The user stopped before it began.
    NotReached,
}

impl Applied {
    /// Whether every asset is now as it should be.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_fine = |result: &StepResult| matches!(result, StepResult::Done { .. } | StepResult::Unchanged);
        self.outcomes.iter().all(|outcome| is_fine(&outcome.result))
    }

    /// How many steps changed something.
    #[must_use]
    pub fn changes(&self) -> usize {
        let is_done = |outcome: &&AssetOutcome| matches!(outcome.result, StepResult::Done { .. });
        self.outcomes.iter().filter(is_done).count()
    }
}

/// Does what a plan says. `agrees` is asked about every step that needs consent.
///
/// A step that goes wrong does not keep the others from being done.
pub fn apply(
    project: &Project,
    plan: &AssetPlan,
    agrees: &mut dyn FnMut(&AssetStep) -> bool,
    watch: &mut dyn AssetObserver,
) -> Applied {
    let mut outcomes = Vec::new();
    for step in &plan.steps {
        let result = if step.action.is_problem() {
            StepResult::Impossible
        } else if !step.action.is_change() {
            StepResult::Unchanged
        } else if watch.should_stop() {
            StepResult::NotReached
        } else if !step.consent.is_empty() && !agrees(step) {
            StepResult::NotAllowed
        } else {
            watch.begins(step);
            match perform(project, &step.action, watch) {
                Ok(extracted) => StepResult::Done { extracted },
                Err(error) => StepResult::Failed { error: error.report() },
            }
        };
        outcomes.push(AssetOutcome { step: step.clone(), result });
    }
    Applied { schema_version: super::SCHEMA_VERSION, outcomes }
}

fn perform(
    project: &Project,
    action: &Action,
    watch: &mut dyn AssetObserver,
) -> Result<Option<Extracted>, AssetError> {
    match action {
        Action::Link { link, to } => make_link(project, link, to).map(|()| None),
        Action::Relink { link, from, to } => replace_link(project, link, from, to).map(|()| None),
        Action::Extract { archive, into, limits, .. } => {
            let place = project.inside(into, &Disk)?;
            make_parent(&place)?;
            archive::extract(archive, &place, *limits, watch).map(Some)
        }
        Action::KeepLink { .. }
        | Action::KeepExtracted { .. }
        | Action::MissingSource { .. }
        | Action::Conflict { .. }
        | Action::Refused { .. } => Ok(None),
    }
}

fn make_link(project: &Project, link: &Path, to: &Path) -> Result<(), AssetError> {
    let place = project.inside(link, &Disk)?;
    make_parent(&place)?;
    // Fails where anything stands, so nothing can be replaced by it.
    symlink(to, &place).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => AssetError::new(AssetFault::Changed { path: link.to_owned() }),
        _ => AssetError::unwritable(link, error),
    })
}

fn replace_link(project: &Project, link: &Path, from: &Path, to: &Path) -> Result<(), AssetError> {
    let place = project.inside(link, &Disk)?;
    let is_as_planned = matches!(Disk.kind(&place), Ok(FileKind::Link))
        && Disk.link_text(&place).is_ok_and(|text| text == from);
    if !is_as_planned {
        return Err(AssetError::new(AssetFault::Changed { path: link.to_owned() }));
    }
    // Renamed over the old one, so that there is a link at every moment.
    let new = place.with_file_name(staging_name(&place));
    symlink(to, &new).map_err(|error| AssetError::unwritable(link, error))?;
    fs::rename(&new, &place).map_err(|error| {
        // The link made above; when even that fails there is nothing left to try.
        let _ = fs::remove_file(&new);
        AssetError::unwritable(link, error)
    })
}

fn make_parent(place: &Path) -> Result<(), AssetError> {
    let Some(parent) = place.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| AssetError::unwritable(parent, error))
}
