//! Progress of Nsight Compute, from the lines it writes to its log.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use rooflens_collect::execute::{StepObserver, StopRequest, WorkloadEvent};
use rooflens_collect::plan::PlannedStep;
use rooflens_collect::profilers::ncu::profiled;

use crate::observer::{Event, SharedObserver, StepWatch};

/// Follows one process.
pub(crate) struct NcuLog<'a> {
    observer: &'a SharedObserver,
    launches: u64,
    log: PathBuf,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    file: Option<File>,
    /// What is not a whole line yet.
    rest: Vec<u8>,
}

impl<'a> NcuLog<'a> {
    /// Of a process that profiles so many launches and writes this log.
    pub(crate) fn new(observer: &'a SharedObserver, launches: u64, log: PathBuf) -> Self {
        observer.event(&Event::Profiled { done: 0, of: launches, kernel: "", passes: None });
        Self { observer, launches, log, state: RefCell::default() }
    }

    fn line(&self, line: &str) {
        let Some(launch) = profiled(line) else { return };
        let (done, of) = (launch.at + 1, self.launches);
        self.observer.event(&Event::Profiled { done, of, kernel: &launch.name, passes: launch.passes });
    }
}

impl StepObserver for NcuLog<'_> {
    fn event(&self, _: &PlannedStep, _: &WorkloadEvent) {}

    fn stop_request(&self) -> StopRequest {
        StepWatch(self.observer).stop_request()
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
            self.line(&String::from_utf8_lossy(&line));
        }
    }
}
