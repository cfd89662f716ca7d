//! Progress on standard error: a bar on a terminal once work takes over a second, a few plain lines elsewhere,
//! nothing for quick work, for quiet users or where `ROOFLENS_PROGRESS=never`. One observer follows all kinds of
//! work: reading traces, steps of a run, launches under a profiler.

mod bars;
mod reading;
mod steps;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rooflens_core::observer::{Event, Observer, SharedObserver, Stop};

pub(crate) use self::bars::wait;
use self::bars::{LaunchProgress, LoadBar, Spinner};
use self::reading::Reading;
pub(crate) use self::reading::follow_assets;
use self::steps::Steps;
use crate::console::Console;
use crate::interrupt::Presses;

/// What Ctrl-C means while traces are read.
pub(crate) const READING: &str = "reporting what was read so far";
/// What Ctrl-C means while something is run.
pub(crate) const MEASURING: &str = "saving what was measured so far";

/// Follows work for the person at the terminal; `then` says what Ctrl-C means.
pub(crate) fn observer(console: &Console, then: &'static str) -> SharedObserver {
    let presses = Presses::watch(console, then);
    Arc::new(Follower {
        console: *console,
        presses,
        reading: Reading::new(console),
        state: Mutex::new(State { steps: Steps::new(console), launches: None, load: None, working: None }),
    })
}

struct Follower {
    console: Console,
    presses: Presses,
    reading: Reading,
    state: Mutex<State>,
}

struct State {
    steps: Steps,
    launches: Option<LaunchProgress>,
    load: Option<LoadBar>,
    working: Option<Spinner>,
}

impl Follower {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something without drawing over a bar.
    fn say(&self, say: impl FnOnce()) {
        let state = self.lock();
        let bar = state.launches.as_ref().map_or(state.steps.bar(), LaunchProgress::bar);
        let bar = state.load.as_ref().map_or(bar, LoadBar::bar);
        self.reading.bar().suspend(|| bar.suspend(say));
    }
}

impl Observer for Follower {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Found { bytes } => self.reading.begin(*bytes),
            Event::Began { activity, source } => self.reading.step(*activity, source),
            Event::Read { bytes } => self.reading.add(*bytes),
            Event::Working { what } => self.lock().working = Some(Spinner::start(&self.console, what)),
            Event::Finished => {
                self.lock().working = None;
                self.reading.finish();
            }
            Event::JobBegan { of: 1, .. } => {}
            Event::JobBegan { position, of, number, overrides } => {
                let job = number.map_or_else(String::new, |number| format!(" (job {number})"));
                self.console.say(&format!("running {position} of {of}{job}: {}", overrides.join(" ")));
            }
            Event::Loading { what, of, progress } => {
                let load = &mut self.lock().load;
                load.get_or_insert_with(|| LoadBar::new(&self.console, what, *of)).show(progress);
            }
            Event::Loaded => self.lock().load = None,
            Event::StepBegan(step) => {
                self.presses.guard(true);
                self.lock().steps.begin(step);
            }
            Event::Workload { step, event } => self.lock().steps.event(step, event),
            Event::StepEnded(outcome) => {
                self.presses.guard(false);
                let mut state = self.lock();
                state.launches = None;
                state.steps.end(Some(outcome));
            }
            Event::StepAbandoned(_) => {
                self.presses.guard(false);
                let mut state = self.lock();
                state.launches = None;
                state.steps.end(None);
            }
            Event::Profiled { done, of, kernel, passes } => {
                let mut state = self.lock();
                state.steps.hide();
                let launches = state.launches.get_or_insert_with(|| LaunchProgress::new(&self.console, *of));
                launches.profiled(*done, kernel, *passes);
            }
            Event::Info(line) => self.say(|| self.console.say(line)),
            Event::Detail(line) => self.say(|| self.console.detail(line)),
            Event::Warning(line) => self.say(|| self.console.warn(line)),
            Event::Notes(notes) => self.say(|| self.console.warn_of_loss(notes)),
            Event::Failed { fact, hint } => {
                let hint = hint.map(ToString::to_string);
                self.say(|| self.console.failure(fact, hint.as_deref()));
            }
        }
    }

    fn stop(&self) -> Stop {
        match self.presses.count() {
            0 => Stop::No,
            1 => Stop::Save,
            _ => Stop::Kill,
        }
    }
}
