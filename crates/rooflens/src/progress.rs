//! Progress on standard error: a bar on a terminal once work takes over a second, a few plain lines
//! elsewhere, nothing for quick work or quiet users.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::{Console, Verbosity};
use crate::interrupt::{self, Stop};
use crate::job::{Step, Watch};

/// Work that takes no longer shows no bar.
const BAR_AFTER: Duration = Duration::from_secs(1);
/// Work that takes no longer says no line.
const LINE_AFTER: Duration = Duration::from_secs(2);
/// How often a line is said.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows a job for the person at the terminal.
struct Follower {
    console: Console,
    stop: Stop,
    start: Instant,
    total_bytes: Option<u64>,
    read_bytes: AtomicU64,
    bar: ProgressBar,
    state: Mutex<State>,
}

struct State {
    shown: bool,
    next_line: Instant,
    step: Option<(Step, String, Instant)>,
}

/// Does `work`, which reads `total_bytes` if that is known, and shows its progress. Ctrl-C ends it early.
pub fn follow<T>(console: &Console, total_bytes: Option<u64>, work: impl FnOnce(&Arc<dyn Watch>) -> T) -> T {
    let follower = Arc::new(Follower::new(console, interrupt::watch(console), total_bytes));
    let watch: Arc<dyn Watch> = Arc::clone(&follower) as Arc<dyn Watch>;
    let outcome = work(&watch);
    follower.finish();
    outcome
}

impl Follower {
    fn new(console: &Console, stop: Stop, total_bytes: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(total_bytes, ProgressDrawTarget::hidden());
        let start = Instant::now();
        let state = State { shown: false, next_line: start + LINE_AFTER, step: None };
        Follower {
            console: *console,
            stop,
            start,
            total_bytes,
            read_bytes: AtomicU64::new(0),
            bar,
            state: Mutex::new(state),
        }
    }

    /// The work is done: takes the bar away and tells how long the last step took.
    fn finish(&self) {
        self.bar.finish_and_clear();
        let mut state = self.lock();
        self.end_step(&mut state);
        let bytes = self.read_bytes.load(Ordering::Relaxed);
        if bytes > 0 {
            self.console.detail(&format!(
                "{} read, {:.2?} in all",
                DecimalBytes(bytes),
                self.start.elapsed()
            ));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_step(&self, state: &mut State) {
        if let Some((step, source, since)) = state.step.take() {
            let line = format!("{} {source}: {:.2?}", verb(step), since.elapsed());
            self.bar.suspend(|| self.console.detail(&line));
        }
    }

    fn show(&self, state: &mut State) {
        let now = Instant::now();
        if self.console.verbosity == Verbosity::Quiet || now < self.start + BAR_AFTER {
            return;
        }
        if std::io::stderr().is_terminal() {
            if !state.shown {
                state.shown = true;
                self.bar.set_style(style(self.total_bytes.is_some()));
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
                self.bar.enable_steady_tick(Duration::from_millis(120));
            }
            self.bar.set_position(self.read_bytes.load(Ordering::Relaxed));
        } else if now >= state.next_line {
            state.next_line = now + LINE_EVERY;
            self.console.say(&self.line(state));
        }
    }

    fn line(&self, state: &State) -> String {
        let what = state.step.as_ref().map(|(step, source, _)| format!("{} {source}", verb(*step)));
        let read = DecimalBytes(self.read_bytes.load(Ordering::Relaxed));
        let of = self.total_bytes.map(|total| format!(" of {}", DecimalBytes(total))).unwrap_or_default();
        format!("{} ({read}{of} read)", what.unwrap_or_else(|| "working".to_owned()))
    }
}

impl Watch for Follower {
    fn step(&self, step: Step, source: &str) {
        let mut state = self.lock();
        self.end_step(&mut state);
        self.bar.set_message(format!("{} {source}", verb(step)));
        state.step = Some((step, source.to_owned(), Instant::now()));
        self.show(&mut state);
    }

    fn bytes(&self, count: u64) {
        self.read_bytes.fetch_add(count, Ordering::Relaxed);
        self.show(&mut self.lock());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
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

fn style(known_total: bool) -> ProgressStyle {
    let template = if known_total {
        "{wide_msg} [{bar:24}] {decimal_bytes}/{decimal_total_bytes} {elapsed}"
    } else {
        "{spinner} {wide_msg} {decimal_bytes} {elapsed}"
    };
    // The templates are constant and right; a wrong one would only lose its looks.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}
