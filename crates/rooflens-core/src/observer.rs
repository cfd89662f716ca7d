//! Who follows long work: told what happens, asked whether to go on. The library itself prints nothing.

use std::sync::Arc;

use rooflens_collect::execute::{StepObserver, StepOutcome, StopRequest, WorkloadEvent};
use rooflens_collect::plan::PlannedStep;
use rooflens_load::engine::LoadProgress;
use rooflens_schema::Note;

use crate::error::Hint;

/// What is being done to the trace of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    /// Turning bytes into rows.
    Reading,
    /// Deriving columns from the rows.
    Deriving,
    /// Answering questions.
    Analyzing,
    /// Writing tables.
    Writing,
}

/// What happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// An input was found; so many stored bytes will be read, where that is known.
    Found {
        /// Bytes as they are stored.
        bytes: Option<u64>,
    },
    /// Something begins, on the rank of that source.
    Began {
        /// What.
        activity: Activity,
        /// The trace, or the rank.
        source: &'a str,
    },
    /// Stored bytes were read.
    Read {
        /// How many more.
        bytes: u64,
    },
    /// Something that may take long and tells nothing until it ends.
    Working {
        /// What, in words.
        what: &'a str,
    },
    /// All that was to be read is read.
    Finished,
    /// A job of a sweep begins.
    JobBegan {
        /// Its position, from 1.
        position: usize,
        /// How many there are.
        of: usize,
        /// Its number in the sweep, from 0, as Hydra counts jobs; it names the job's folder.
        number: Option<usize>,
        /// What it changes.
        overrides: &'a [String],
    },
    /// A step of a run begins.
    StepBegan(&'a PlannedStep),
    /// The workload of a step reports something.
    Workload {
        /// The step.
        step: &'a PlannedStep,
        /// What it reports.
        event: &'a WorkloadEvent,
    },
    /// A step of a run has ended.
    StepEnded(&'a StepOutcome),
    /// A step could not be taken to its end; nothing of it runs any more.
    StepAbandoned(&'a PlannedStep),
    /// Nsight Compute profiled a launch.
    Profiled {
        /// Launches until now.
        done: u64,
        /// Launches that were chosen.
        of: u64,
        /// The kernel's name; empty before the first.
        kernel: &'a str,
        /// Passes of this launch, where that is known.
        passes: Option<u64>,
    },
    /// A level of a load test goes on; told some times a second.
    Loading {
        /// What is offered, in words.
        what: &'a str,
        /// Requests that will be sent, where that is known.
        of: Option<u64>,
        /// How far it is.
        progress: &'a LoadProgress,
    },
    /// A level of a load test has ended.
    Loaded,
    /// Worth a line.
    Info(&'a str),
    /// Worth a line only to who wants every detail.
    Detail(&'a str),
    /// May be a mistake.
    Warning(&'a str),
    /// What the input lacks, among its other notes.
    Notes(&'a [Note]),
    /// One part failed; the rest goes on.
    Failed {
        /// What failed.
        fact: &'a str,
        /// What helps.
        hint: Option<&'a Hint>,
    },
}

/// What the observer wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Go on.
    No,
    /// Stop, and keep what there is.
    Save,
    /// End processes at once.
    Kill,
}

/// Follows work that takes long, and may end it early. Calls come from several threads.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);

    /// Whether to stop; asked often.
    fn stop(&self) -> Stop {
        Stop::No
    }
}

/// An observer that readers on other threads may call, too.
pub type SharedObserver = Arc<dyn Observer>;

/// Follows nothing and stops nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn event(&self, _: &Event<'_>) {}
}

impl Unobserved {
    /// For what takes a shared one.
    pub fn shared() -> SharedObserver {
        Arc::new(Unobserved)
    }
}

impl dyn Observer + '_ {
    pub(crate) fn info(&self, line: &str) {
        self.event(&Event::Info(line));
    }

    pub(crate) fn detail(&self, line: &str) {
        self.event(&Event::Detail(line));
    }

    pub(crate) fn warn(&self, line: &str) {
        self.event(&Event::Warning(line));
    }

    /// Whether anything but going on is wanted.
    pub fn is_stopped(&self) -> bool {
        self.stop() > Stop::No
    }
}

/// An observer, as whoever takes the steps of a run asks for one.
pub(crate) struct StepWatch<'a>(pub &'a SharedObserver);

impl StepObserver for StepWatch<'_> {
    fn event(&self, step: &PlannedStep, event: &WorkloadEvent) {
        self.0.event(&Event::Workload { step, event });
    }

    fn stop_request(&self) -> StopRequest {
        match self.0.stop() {
            Stop::No => StopRequest::GoOn,
            Stop::Save => StopRequest::Stop,
            Stop::Kill => StopRequest::Kill,
        }
    }
}
