//! Progress of reading traces: bytes of so many, and what is done to which rank.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget};
use rooflens_collect::project::assets::AssetObserver;
use rooflens_core::environment;
use rooflens_core::observer::Activity;

use super::bars::{BAR_AFTER, LINE_AFTER, LINE_EVERY, TICK, style};
use crate::console::{Console, Verbosity};
use crate::interrupt::Presses;

/// Where the end is known.
const BAR: &str = "{wide_msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes} {elapsed}";
/// Where it is not.
const SPINNER: &str = "{spinner} {wide_msg} {decimal_bytes} {elapsed}";

/// Follows bytes.
pub(crate) struct Reading {
    console: Console,
    is_wanted: bool,
    /// What is done with bytes.
    done: &'static str,
    bytes: AtomicU64,
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    start: Instant,
    shown: bool,
    next_line: Instant,
    total_bytes: Option<u64>,
    step: Option<(String, Instant)>,
}

impl Reading {
    /// Of bytes that are read.
    pub(crate) fn new(console: &Console) -> Self {
        Self::of(console, "read")
    }

    /// Of bytes that are `done`.
    pub(crate) fn of(console: &Console, done: &'static str) -> Self {
        let start = Instant::now();
        let state =
            State { start, shown: false, next_line: start + LINE_AFTER, total_bytes: None, step: None };
        Reading {
            console: *console,
            is_wanted: environment::wants_progress() && console.verbosity > Verbosity::Quiet,
            done,
            bytes: AtomicU64::new(0),
            bar: ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
            state: Mutex::new(state),
        }
    }

    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub(crate) fn begin(&self, total_bytes: Option<u64>) {
        let now = Instant::now();
        let mut state = self.lock();
        *state = State { start: now, shown: false, next_line: now + LINE_AFTER, total_bytes, step: None };
        self.bytes.store(0, Ordering::Relaxed);
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
        self.bar.reset();
        if let Some(total) = total_bytes {
            self.bar.set_length(total);
        }
    }

    pub(crate) fn step(&self, activity: Activity, source: &str) {
        let verb = match activity {
            Activity::Reading => "reading",
            Activity::Deriving => "deriving columns of",
            Activity::Analyzing => "analysing",
            Activity::Writing => "writing tables of",
        };
        self.name(format!("{verb} {source}"));
    }

    pub(crate) fn name(&self, step: String) {
        let mut state = self.lock();
        self.end_step(&mut state);
        self.bar.set_message(step.clone());
        state.step = Some((step, Instant::now()));
        self.show(&mut state);
    }

    /// More bytes are done.
    pub(crate) fn add(&self, count: u64) {
        self.bytes.fetch_add(count, Ordering::Relaxed);
        self.show(&mut self.lock());
    }

    /// So many bytes are done, of so many.
    pub(crate) fn set(&self, bytes: u64, total_bytes: Option<u64>) {
        self.bytes.store(bytes, Ordering::Relaxed);
        let mut state = self.lock();
        state.total_bytes = total_bytes;
        if let Some(total) = total_bytes {
            self.bar.set_length(total);
        }
        self.show(&mut state);
    }

    /// The work is done: takes the bar away and tells how long the last step took.
    pub(crate) fn finish(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        self.end_step(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_step(&self, state: &mut State) {
        if let Some((step, since)) = state.step.take() {
            let line = format!("{step}: {:.2?}", since.elapsed());
            self.bar.suspend(|| self.console.detail(&line));
        }
    }

    fn show(&self, state: &mut State) {
        let now = Instant::now();
        if !self.is_wanted || now < state.start + BAR_AFTER {
            return;
        }
        if std::io::stderr().is_terminal() {
            if !state.shown {
                state.shown = true;
                self.bar.set_style(style(if state.total_bytes.is_some() { BAR } else { SPINNER }));
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.enable_steady_tick(TICK);
            }
            self.bar.set_position(self.bytes.load(Ordering::Relaxed));
        } else if now >= state.next_line {
            state.next_line = now + LINE_EVERY;
            self.console.say(&self.line(state));
        }
    }

    fn line(&self, state: &State) -> String {
        let what = state.step.as_ref().map_or("working", |(step, _)| step);
        let bytes = DecimalBytes(self.bytes.load(Ordering::Relaxed));
        let of = state.total_bytes.map(|total| format!(" of {}", DecimalBytes(total))).unwrap_or_default();
        format!("{what} ({bytes}{of} {})", self.done)
    }
}

/// Progress of work with assets: each step counts its bytes from zero.
struct Assets {
    reading: Reading,
    presses: Presses,
}

/// Does `work` with assets and shows its progress. Ctrl-C ends it early and undoes what is half done.
pub(crate) fn follow_assets<T>(
    console: &Console,
    done: &'static str,
    work: impl FnOnce(&mut dyn AssetObserver) -> T,
) -> T {
    let presses = Presses::watch(console, "undoing what is half done");
    let mut assets = Assets { reading: Reading::of(console, done), presses };
    let outcome = work(&mut assets);
    assets.reading.finish();
    outcome
}

impl AssetObserver for Assets {
    fn unpacks(&mut self, archive: &Path) {
        self.reading.name(format!("unpacking {}", archive.display()));
    }

    fn goes_on(&mut self, bytes: u64, total: Option<u64>) {
        self.reading.set(bytes, total);
    }

    fn should_stop(&self) -> bool {
        self.presses.count() > 0
    }
}
