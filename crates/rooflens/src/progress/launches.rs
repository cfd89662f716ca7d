//! Progress of launches under Nsight Compute.

use indicatif::ProgressBar;

use super::{BAR, TICK, bar, style};
use crate::console::Console;

/// Where there is no bar, at most so many lines are said.
const LINES: u64 = 20;

/// Follows one process.
pub(crate) struct LaunchProgress {
    console: Console,
    bar: ProgressBar,
    of: u64,
}

impl LaunchProgress {
    /// Of a process that profiles so many launches.
    pub(crate) fn new(console: &Console, of: u64) -> Self {
        let bar = bar(console, Some(of)).with_style(style(BAR));
        bar.set_message("waiting for the first selected launch");
        bar.enable_steady_tick(TICK);
        LaunchProgress { console: *console, bar, of }
    }

    /// The bar.
    pub(crate) fn bar(&self) -> &ProgressBar {
        &self.bar
    }

    /// A launch is profiled.
    pub(crate) fn profiled(&self, done: u64, kernel: &str, passes: Option<u64>) {
        let Some(at) = done.checked_sub(1) else { return };
        self.bar.set_position(done);
        self.bar.set_message(kernel.to_owned());
        let every = (self.of / LINES).max(1);
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
