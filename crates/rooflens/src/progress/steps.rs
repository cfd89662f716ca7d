//! Progress of the steps of a run, from the events of its workload.

use std::time::Instant;

use indicatif::ProgressBar;
use rooflens_collect::execute::{StepOutcome, WorkloadEvent};
use rooflens_collect::plan::PlannedStep;
use rooflens_core::environment;

use super::bars::{BAR, LINE_EVERY, SPINNER, Spinner, TICK, bar, style};
use crate::console::Console;

pub(crate) struct Steps {
    console: Console,
    is_wanted: bool,
    bar: ProgressBar,
    next_line: Instant,
    rounds: u64,
    round: String,
    /// What the workload does without a word.
    working: Option<Spinner>,
}

impl Steps {
    /// Of a run that has not begun.
    pub(crate) fn new(console: &Console) -> Self {
        Steps {
            console: *console,
            is_wanted: environment::wants_progress(),
            bar: bar(console, None),
            next_line: Instant::now(),
            rounds: 0,
            round: String::new(),
            working: None,
        }
    }

    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    pub(crate) fn begin(&mut self, step: &PlannedStep) {
        self.bar.reset();
        self.bar.enable_steady_tick(TICK);
        self.next_line = Instant::now() + LINE_EVERY;
        if self.bar.is_hidden() {
            self.console.say(&format!("{}: {}", step.name, step.purpose));
        }
        self.show(format!("{}: starting", step.name), None);
    }

    pub(crate) fn end(&mut self, outcome: Option<&StepOutcome>) {
        self.working = None;
        self.hide();
        if let Some(outcome) = outcome {
            let seconds = outcome.duration_ns as f64 / 1e9;
            self.console.detail(&format!("{}: {} after {seconds:.1} s", outcome.step, outcome.verdict()));
        }
    }

    pub(crate) fn hide(&self) {
        self.bar.disable_steady_tick();
        self.bar.finish_and_clear();
    }

    pub(crate) fn event(&mut self, step: &PlannedStep, event: &WorkloadEvent) {
        self.working = None;
        match event.name.as_str() {
            "loading" => {
                let what = event.text("what").unwrap_or("something");
                self.show(format!("{}: loading {what}", step.name), None);
            }
            "working" => self.begin_working(step, event),
            "dataset" => self.rounds = event.number("rounds").unwrap_or(0),
            "round_begin" => self.begin_round(step, event),
            "batch_end" if self.bar.is_hidden() => {
                let done = event.number("batch").map_or(0, |batch| batch + 1);
                self.show(format!("{}, {done} batches done", self.round), None);
            }
            "batch_end" => self.bar.inc(1),
            "note" if event.text("severity") != Some("info") => {
                let message = event.text("message").unwrap_or_default();
                self.bar.suspend(|| self.console.warn(&format!("{}: {message}", step.name)));
            }
            _ => {}
        }
    }

    /// Something that may take long begins: where there is no bar, it is worth a line once it does.
    fn begin_working(&mut self, step: &PlannedStep, event: &WorkloadEvent) {
        let what = format!("{}: {}", step.name, event.text("what").unwrap_or("working"));
        if self.bar.is_hidden() {
            self.working = Some(Spinner::start(&self.console, &what));
        } else {
            self.show(what, None);
        }
    }

    fn begin_round(&mut self, step: &PlannedStep, event: &WorkloadEvent) {
        let kind = match event.text("kind") {
            Some("warmup") => "warm-up",
            Some(kind) => kind,
            None => "unknown",
        };
        let number = event.number("round").map_or(0, |round| round + 1);
        self.round = format!("{}: round {number} of {} ({kind})", step.name, self.rounds);
        self.show(self.round.clone(), event.number("batches"));
    }

    fn show(&mut self, message: String, length: Option<u64>) {
        if self.bar.is_hidden() {
            if self.is_wanted && Instant::now() >= self.next_line {
                self.next_line = Instant::now() + LINE_EVERY;
                self.console.say(&message);
            }
            return;
        }
        match length {
            Some(length) => {
                self.bar.set_style(style(BAR));
                self.bar.set_length(length);
                self.bar.set_position(0);
            }
            None => self.bar.set_style(style(SPINNER)),
        }
        self.bar.set_message(message);
    }
}
