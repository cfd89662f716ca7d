//! Progress on standard error: a bar on a terminal once work takes over a second, a few plain lines
//! elsewhere, nothing for quick work, for quiet users or where `ROOFLENS_PROGRESS=never`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use rooflens_project::assets;

use crate::console::{Console, Verbosity};
use crate::environment;
use crate::interrupt::{self, Stop};
use crate::job::{Step, Watch};

/// Work that takes no longer shows no bar.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Work that takes no longer says no line.
const LINE_AFTER: Duration = Duration::from_secs(2);
/// How often a bar moves.
const TICK: Duration = Duration::from_millis(120);
/// Where the end is known.
const BAR: &str = "{wide_msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes} {elapsed}";
/// Where it is not.
const SPINNER: &str = "{spinner} {wide_msg} {decimal_bytes} {elapsed}";
/// How often a line is said.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows a job for the person at the terminal.
struct Follower {
    console: Console,
    stop: Stop,
    is_wanted: bool,
    start: Instant,
    /// What is done with bytes.
    done: &'static str,
    bytes: AtomicU64,
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    shown: bool,
    next_line: Instant,
    total_bytes: Option<u64>,
    step: Option<(String, Instant)>,
}

/// Does `work`, which reads `total_bytes` if that is known, and shows its progress. Ctrl-C ends it early.
pub fn follow<T>(console: &Console, total_bytes: Option<u64>, work: impl FnOnce(&Arc<dyn Watch>) -> T) -> T {
    let stop = interrupt::watch(console, "what was read until now is reported next");
    follow_until(console, stop, total_bytes, work)
}

/// The same, ended by somebody who watches for Ctrl-C already.
pub fn follow_until<T>(
    console: &Console,
    stop: Stop,
    total_bytes: Option<u64>,
    work: impl FnOnce(&Arc<dyn Watch>) -> T,
) -> T {
    let follower = Arc::new(Follower::new(console, stop, "read", total_bytes));
    let watch: Arc<dyn Watch> = Arc::clone(&follower) as Arc<dyn Watch>;
    let outcome = work(&watch);
    follower.finish();
    outcome
}

/// Does `work` with assets and shows its progress. Ctrl-C ends it early and undoes what is half done.
pub fn follow_assets<T>(
    console: &Console,
    done: &'static str,
    work: impl FnOnce(&mut dyn assets::Watch) -> T,
) -> T {
    let stop = interrupt::watch(console, "what is half done is undone");
    let mut follower = AssetFollower(Follower::new(console, stop, done, None));
    let outcome = work(&mut follower);
    follower.0.finish();
    outcome
}

/// Does `work`, of which nothing is known but that it may take long.
pub fn wait<T>(console: &Console, what: &str, work: impl FnOnce() -> T) -> T {
    if !environment::wants_progress() {
        return work();
    }
    let (done, is_done) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if is_done.recv_timeout(BAR_AFTER) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            if console.verbosity == Verbosity::Quiet || !std::io::stderr().is_terminal() {
                return console.say(what);
            }
            let bar = ProgressBar::new_spinner().with_style(style("{spinner} {wide_msg} {elapsed}"));
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(TICK);
            // Both an end and a panic of the work drop the other half.
            let _ = is_done.recv();
            bar.finish_and_clear();
        });
        let outcome = work();
        drop(done);
        outcome
    })
}

impl Follower {
    fn new(console: &Console, stop: Stop, done: &'static str, total_bytes: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::hidden());
        let start = Instant::now();
        let state = State { shown: false, next_line: start + LINE_AFTER, total_bytes, step: None };
        Follower {
            console: *console,
            stop,
            is_wanted: environment::wants_progress(),
            start,
            done,
            bytes: AtomicU64::new(0),
            bar,
            state: Mutex::new(state),
        }
    }

    /// The work is done: takes the bar away and tells how long the last step took.
    fn finish(&self) {
        self.bar.finish_and_clear();
        let mut state = self.lock();
        self.end_step(&mut state);
        let bytes = self.bytes.load(Ordering::Relaxed);
        if bytes > 0 {
            let (bytes, done) = (DecimalBytes(bytes), self.done);
            self.console.detail(&format!("{bytes} {done}, {:.2?} in total", self.start.elapsed()));
        }
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
        let is_unwanted = self.console.verbosity == Verbosity::Quiet || !self.is_wanted;
        if is_unwanted || now < self.start + BAR_AFTER {
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

    fn begin(&self, step: String) {
        let mut state = self.lock();
        self.end_step(&mut state);
        self.bar.set_message(step.clone());
        state.step = Some((step, Instant::now()));
        self.show(&mut state);
    }
}

impl Watch for Follower {
    fn step(&self, step: Step, source: &str) {
        self.begin(format!("{} {source}", verb(step)));
    }

    fn bytes(&self, count: u64) {
        self.bytes.fetch_add(count, Ordering::Relaxed);
        self.show(&mut self.lock());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

/// Follows work with assets, whose steps count their bytes anew.
struct AssetFollower(Follower);

impl assets::Watch for AssetFollower {
    fn begins(&mut self, step: &assets::Step) {
        if let assets::Action::Extract { archive, .. } = &step.action {
            self.0.begin(format!("unpacking {}", archive.display()));
        }
    }

    fn goes_on(&mut self, progress: assets::Progress) {
        self.0.bytes.store(progress.bytes, Ordering::Relaxed);
        let mut state = self.0.lock();
        state.total_bytes = progress.total_bytes;
        if let Some(total) = progress.total_bytes {
            self.0.bar.set_length(total);
        }
        self.0.show(&mut state);
    }

    fn should_stop(&self) -> bool {
        self.0.stop.load(Ordering::SeqCst)
    }
}

fn verb(step: Step) -> &'static str {
    match step {
        Step::Read => "reading",
        Step::Derive => "deriving facts of",
        Step::Analyze => "analysing",
        Step::Write => "writing tables of",
    }
}

/// A bar's looks.
pub fn style(template: &str) -> ProgressStyle {
    // The templates are constant and right; a wrong one would only lose its looks.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
