//! Progress of a workload on standard error, from its events: a bar on a terminal, plain lines
//! elsewhere.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget};
use rooflens_collect::execute::{Event, Outcome, Watch, Wish};
use rooflens_collect::plan::Step;

use crate::console::{Console, Verbosity};
use crate::environment;
use crate::interrupt::Presses;
use crate::progress;

const BAR: &str = "{wide_msg} [{bar:24}] {pos}/{len} {elapsed}";
const SPINNER: &str = "{spinner} {wide_msg} {elapsed}";
/// How often a bar moves by itself.
const TICK: Duration = Duration::from_millis(120);
/// How often a line is said where there is no bar.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Follows the steps of a run.
pub struct Follower {
    console: Console,
    presses: Presses,
    is_wanted: bool,
    bar: ProgressBar,
    state: RefCell<State>,
}

struct State {
    next_line: Instant,
    rounds: u64,
    round: String,
}

impl Follower {
    /// For somebody who may press Ctrl-C.
    pub fn new(console: &Console, presses: Presses) -> Self {
        let is_wanted = environment::wants_progress();
        let shown = is_wanted && console.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(None, target);
        let state = State { next_line: Instant::now(), rounds: 0, round: String::new() };
        Self { console: *console, presses, is_wanted, bar, state: RefCell::new(state) }
    }

    /// The presses that it listens to.
    pub fn presses(&self) -> &Presses {
        &self.presses
    }

    /// A step begins.
    pub fn begins(&self, step: &Step) {
        self.presses.guard(true);
        self.bar.reset();
        self.bar.enable_steady_tick(TICK);
        self.state.borrow_mut().next_line = Instant::now() + LINE_EVERY;
        if self.bar.is_hidden() {
            self.console.say(&format!("{}: {}", step.name, step.purpose));
        }
        self.show(format!("{}: starting", step.name), None);
    }

    /// A step has ended.
    pub fn ended(&self, outcome: &Outcome) {
        self.presses.guard(false);
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
        let seconds = outcome.duration_ns as f64 / 1e9;
        self.console.detail(&format!("{}: {} after {seconds:.1} s", outcome.step, outcome.verdict()));
    }

    fn show(&self, message: String, length: Option<u64>) {
        if self.bar.is_hidden() {
            let mut state = self.state.borrow_mut();
            if self.is_wanted && Instant::now() >= state.next_line {
                state.next_line = Instant::now() + LINE_EVERY;
                self.console.say(&message);
            }
            return;
        }
        match length {
            Some(length) => {
                self.bar.set_style(progress::style(BAR));
                self.bar.set_length(length);
                self.bar.set_position(0);
            }
            None => self.bar.set_style(progress::style(SPINNER)),
        }
        self.bar.set_message(message);
    }

    fn round(&self, step: &Step, event: &Event) {
        let kind = match event.text("kind") {
            Some("warmup") => "warm-up",
            Some(kind) => kind,
            None => "unknown",
        };
        let number = event.number("round").map_or(0, |round| round + 1);
        let of = self.state.borrow().rounds;
        let round = format!("{}: round {number} of {of} ({kind})", step.name);
        self.state.borrow_mut().round.clone_from(&round);
        self.show(round, event.number("batches"));
    }
}

impl Watch for Follower {
    fn event(&self, step: &Step, event: &Event) {
        match event.name.as_str() {
            "loading" => {
                let what = event.text("what").unwrap_or("something");
                self.show(format!("{}: loading {what}", step.name), None);
            }
            "dataset" => self.state.borrow_mut().rounds = event.number("rounds").unwrap_or(0),
            "round_begin" => self.round(step, event),
            "batch_end" if self.bar.is_hidden() => {
                let done = event.number("batch").map_or(0, |batch| batch + 1);
                let round = self.state.borrow().round.clone();
                self.show(format!("{round}, {done} batches done"), None);
            }
            "batch_end" => self.bar.inc(1),
            "note" if event.text("severity") != Some("info") => {
                let message = event.text("message").unwrap_or_default().to_owned();
                self.bar.suspend(|| self.console.warn(&format!("{}: {message}", step.name)));
            }
            _ => {}
        }
    }

    fn wish(&self) -> Wish {
        match self.presses.count() {
            0 => Wish::GoOn,
            1 => Wish::Stop,
            _ => Wish::Kill,
        }
    }
}
