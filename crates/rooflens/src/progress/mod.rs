//! Progress on standard error: a bar on a terminal once work takes over a second, a few plain lines elsewhere,
//! nothing for quick work, for quiet users or where `ROOFLENS_PROGRESS=never`. One observer follows all kinds of
//! work: reading traces, steps of a run, launches under a profiler.

mod assets;
mod launches;
mod load;
mod reading;
mod spinner;
mod steps;

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rooflens_core::environment;
use rooflens_core::observer::{Event, Observer, SharedObserver, Stop};

pub(crate) use self::assets::follow_assets;
use self::launches::LaunchProgress;
use self::load::LoadBar;
use self::reading::Reading;
use self::spinner::Spinner;
pub(crate) use self::spinner::wait;
use self::steps::Steps;
use crate::console::{Console, Verbosity};
use crate::interrupt::Presses;

/// Work that takes no longer shows no bar.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Work that takes no longer says no line.
const LINE_AFTER: Duration = Duration::from_secs(2);
/// How often a line is said where there is no bar.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often a bar moves by itself.
const TICK: Duration = Duration::from_millis(120);

/// Looks of work whose end is known.
const BAR: &str = "{wide_msg} [{bar:24}] {pos}/{len} {elapsed}";
/// Looks of work whose end is not known.
const SPINNER: &str = "{spinner} {wide_msg} {elapsed}";

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

/// Whether bars may be drawn.
fn has_bars(console: &Console) -> bool {
    environment::wants_progress() && console.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal()
}

/// A bar that is drawn where bars may be.
fn bar(console: &Console, length: Option<u64>) -> ProgressBar {
    let target = if has_bars(console) { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(length, target)
}

/// A bar's looks.
fn style(template: &str) -> ProgressStyle {
    // The templates are constant and right; a wrong one would only lose its looks.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
