//! Takes the steps of a plan. Dumb: it starts what the plan says, watches, stops, and notes what came
//! of it. What a tool wrote is never edited.

mod event;
mod files;
mod group;
mod manifest;
mod mock;
mod outcome;
mod process;
mod program;
mod transform;

pub use self::event::{EventSummary, WorkloadEvent};
pub use self::files::digest;
pub(crate) use self::files::{digest_while, tail as log_lines};
pub(crate) use self::group::Group;
pub use self::manifest::{MANIFEST, Manifest};
pub use self::mock::Scripted;
pub use self::outcome::{StepEnd, StepFault, StepOutcome};
pub use self::process::Processes;
pub use self::program::{find_program, named_program};
pub use self::transform::transform;
use crate::error::ExecuteError;
use crate::plan::{PlannedStep, ProcessCommand, RunFolders};

/// Follows a step, and may end it.
pub trait StepObserver {
    /// The process of a step was started; it leads a group of its own.
    fn started(&self, _process: u32) {}
    /// The workload told something.
    fn event(&self, step: &PlannedStep, event: &WorkloadEvent);
    /// What the user wants now.
    fn stop_request(&self) -> StopRequest;
    /// Something is waited for; told every few hundredths of a second.
    fn tick(&self) {}
}

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// Nothing: go on.
    GoOn,
    /// The workload shall stop, and save what it has.
    Stop,
    /// The workload shall be gone.
    Kill,
}

/// Takes a step that starts a process.
pub trait Executor {
    /// Takes it, and waits for its end.
    fn run(
        &self,
        step: &PlannedStep,
        command: &ProcessCommand,
        places: &RunFolders,
        watch: &dyn StepObserver,
    ) -> Result<StepOutcome, ExecuteError>;
}

/// Removes what only the steps themselves needed: weights that one pass left for the next.
pub fn clean_up(places: &RunFolders) {
    // Nothing depends on it, and there may be none.
    let _ = std::fs::remove_dir_all(places.run.join(crate::plan::WEIGHTS));
}
