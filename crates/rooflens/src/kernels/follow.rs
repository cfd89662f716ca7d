//! Progress of Nsight Compute, from the lines it writes to its log.

use std::cell::RefCell;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget};
use rooflens_collect::execute::{Event, Watch, Wish};
use rooflens_collect::plan::Step;
use rooflens_collect::profilers::ncu::profiled;

use crate::console::{Console, Verbosity};
use crate::interrupt::Presses;
use crate::progress;

const BAR: &str = "{wide_msg} [{bar:24}] {pos}/{len} {elapsed}";
const TICK: Duration = Duration::from_millis(120);
/// Where there is no bar a line is said at most for each so many launches.
const LINES: u64 = 20;

/// Follows one process.
pub struct Follower {
    console: Console,
    presses: Presses,
    bar: ProgressBar,
    launches: u64,
    log: PathBuf,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// What is not a whole line yet.
    rest: Vec<u8>,
    done: u64,
}

impl Follower {
    /// Of a process that profiles so many launches and writes this log.
    pub fn new(console: &Console, presses: Presses, launches: u64, log: PathBuf) -> Self {
        let shown = console.verbosity > Verbosity::Quiet && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(launches), target).with_style(progress::style(BAR));
        bar.set_message("waiting for the first chosen launch");
        bar.enable_steady_tick(TICK);
        Self { console: *console, presses, bar, launches, log, state: RefCell::default() }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        self.tick();
        self.bar.finish_and_clear();
    }

    fn line(&self, state: &mut State, line: &str) {
        let Some(launch) = profiled(line) else { return };
        state.done = launch.at + 1;
        self.bar.set_position(state.done);
        self.bar.set_message(launch.name.clone());
        let every = (self.launches / LINES).max(1);
        if self.bar.is_hidden() && launch.at.is_multiple_of(every) {
            let passes = launch.passes.map_or(String::new(), |passes| format!(", {passes} passes"));
            self.console
                .say(&format!("profiled {} of {}: {}{passes}", state.done, self.launches, launch.name));
        }
    }
}

impl Watch for Follower {
    fn event(&self, _: &Step, _: &Event) {}

    fn wish(&self) -> Wish {
        match self.presses.count() {
            0 => Wish::GoOn,
            1 => Wish::Stop,
            _ => Wish::Kill,
        }
    }

    fn tick(&self) {
        let mut state = self.state.borrow_mut();
        if state.file.is_none() {
            state.file = File::open(&self.log).ok();
        }
        let mut new = Vec::new();
        // What cannot be read now is read at the next tick.
        let Some(Ok(_)) = state.file.as_mut().map(|file| file.read_to_end(&mut new)) else { return };
        state.rest.append(&mut new);
        while let Some(end) = state.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = state.rest.drain(..=end).collect();
            self.line(&mut state, &String::from_utf8_lossy(&line));
        }
    }
}
