//! Bars and spinners: how they look, and those that follow one kind of work.

use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rooflens_core::bench::LoadProgress;
use rooflens_core::environment;

use crate::console::{Console, Verbosity};

/// Work that takes no longer shows no bar.
pub(super) const BAR_AFTER: Duration = Duration::from_secs(1);
/// Work that takes no longer says no line.
pub(super) const LINE_AFTER: Duration = Duration::from_secs(2);
/// How often a line is said where there is no bar.
pub(super) const LINE_EVERY: Duration = Duration::from_secs(10);
/// How often a bar moves by itself.
pub(super) const TICK: Duration = Duration::from_millis(120);

/// Looks of work whose end is known.
pub(super) const BAR: &str = "{wide_msg} [{bar:24}] {pos}/{len} {elapsed}";
/// Looks of work whose end is not known.
pub(super) const SPINNER: &str = "{spinner} {wide_msg} {elapsed}";

pub(super) fn has_bars(console: &Console) -> bool {
    environment::wants_progress() && console.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal()
}

/// A bar that is drawn where bars may be.
pub(super) fn bar(console: &Console, length: Option<u64>) -> ProgressBar {
    let target = if has_bars(console) { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    ProgressBar::with_draw_target(length, target)
}

pub(super) fn style(template: &str) -> ProgressStyle {
    // The templates are constant and right; a wrong one would only lose its looks.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Progress of launches under Nsight Compute.
pub(crate) struct LaunchProgress {
    console: Console,
    bar: ProgressBar,
    of: u64,
}

impl LaunchProgress {
    pub(crate) fn new(console: &Console, of: u64) -> Self {
        let bar = bar(console, Some(of)).with_style(style(BAR));
        bar.set_message("waiting for the first selected launch");
        bar.enable_steady_tick(TICK);
        LaunchProgress { console: *console, bar, of }
    }

    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub(crate) fn profiled(&self, done: u64, kernel: &str, passes: Option<u64>) {
        let Some(at) = done.checked_sub(1) else { return };
        self.bar.set_position(done);
        self.bar.set_message(kernel.to_owned());
        let every = (self.of / LAUNCH_LINES).max(1);
        if self.bar.is_hidden() && at.is_multiple_of(every) {
            let passes = passes.map_or(String::new(), |passes| format!(", {passes} passes"));
            self.console.say(&format!("profiled {done} of {}: {kernel}{passes}", self.of));
        }
    }
}

impl Drop for LaunchProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Where there is no bar, at most so many lines are said.
const LAUNCH_LINES: u64 = 20;

/// Progress of a level of a load test.
pub(crate) struct LoadBar {
    console: Console,
    bar: ProgressBar,
    what: String,
    of: Option<u64>,
    said: Duration,
}

impl LoadBar {
    pub(crate) fn new(console: &Console, what: &str, of: Option<u64>) -> Self {
        let bar = bar(console, of).with_style(style(if of.is_some() { BAR } else { SPINNER }));
        bar.enable_steady_tick(TICK);
        LoadBar { console: *console, bar, what: what.to_owned(), of, said: Duration::ZERO }
    }

    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub(crate) fn show(&mut self, progress: &LoadProgress) {
        let done = progress.completed + progress.failed;
        let failed = match progress.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let line = format!("{}: {} in progress{failed}", self.what, progress.in_flight);
        self.bar.set_position(done);
        self.bar.set_message(line.clone());
        if self.bar.is_hidden() && progress.elapsed >= self.said + LINE_EVERY {
            self.said = progress.elapsed;
            let of = self.of.map_or(String::new(), |of| format!(" of {of}"));
            self.console.say(&format!("{line}, {done}{of} done"));
        }
    }
}

impl Drop for LoadBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows that something goes on, from a second after its start to its end.
pub(crate) struct Spinner {
    done: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Spinner {
    pub(crate) fn start(console: &Console, what: &str) -> Self {
        let (done, is_done) = mpsc::channel();
        let (console, what) = (*console, what.to_owned());
        let shown = environment::wants_progress()
            .then(|| std::thread::spawn(move || spin(&console, &what, &is_done)));
        Spinner { done: Some(done), shown }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.done.take());
        if let Some(shown) = self.shown.take() {
            // A spinner that failed has no more to show.
            let _ = shown.join();
        }
    }
}

fn spin(console: &Console, what: &str, is_done: &Receiver<()>) {
    if is_done.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    if !has_bars(console) {
        return console.say(what);
    }
    let bar = ProgressBar::new_spinner().with_style(style(SPINNER));
    bar.set_message(what.to_owned());
    bar.enable_steady_tick(TICK);
    // Both an end and a panic of the work drop the other half.
    let _ = is_done.recv();
    bar.finish_and_clear();
}

/// Does `work`, of which nothing is known but that it may take long.
pub(crate) fn wait<T>(console: &Console, what: &str, work: impl FnOnce() -> T) -> T {
    let _spinner = Spinner::start(console, what);
    work()
}
