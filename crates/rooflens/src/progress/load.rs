//! Progress of a level of a load test.

use std::time::Duration;

use indicatif::ProgressBar;
use rooflens_core::bench::LoadProgress;

use super::{BAR, LINE_EVERY, SPINNER, TICK, bar, style};
use crate::console::Console;

/// Follows one level.
pub(crate) struct LoadBar {
    console: Console,
    bar: ProgressBar,
    what: String,
    of: Option<u64>,
    said: Duration,
}

impl LoadBar {
    /// Of a level that sends so many requests.
    pub(crate) fn new(console: &Console, what: &str, of: Option<u64>) -> Self {
        let bar = bar(console, of).with_style(style(if of.is_some() { BAR } else { SPINNER }));
        bar.enable_steady_tick(TICK);
        LoadBar { console: *console, bar, what: what.to_owned(), of, said: Duration::ZERO }
    }

    /// The bar.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// How far it is.
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
