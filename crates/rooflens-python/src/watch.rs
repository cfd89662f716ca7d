//! Work that takes long: on another thread, without the GIL, ended by Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyUserWarning};
use pyo3::prelude::*;
use rooflens_core::{Error, Event, Observer, SharedObserver, Stop};

use crate::error::raise;

/// How often Python is asked whether Ctrl-C was pressed.
const BEAT: Duration = Duration::from_millis(50);
/// How long work that was told to end is waited for; it ends by itself later.
const GRACE: Duration = Duration::from_millis(200);

#[derive(Default)]
struct Watch {
    is_stopped: AtomicBool,
    warnings: Mutex<Vec<String>>,
}

impl Observer for Watch {
    fn event(&self, event: &Event<'_>) {
        if let Event::Warning(line) = event {
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push((*line).to_owned());
        }
    }

    fn stop(&self) -> Stop {
        if self.is_stopped.load(Ordering::Relaxed) { Stop::Kill } else { Stop::No }
    }
}

/// Does `work` while other threads of Python run. Ctrl-C ends it with `KeyboardInterrupt`.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&SharedObserver) -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let watch = Arc::new(Watch::default());
    let observer: SharedObserver = Arc::clone(&watch) as SharedObserver;
    let (done, mut outcome) = channel();
    // Nobody waits for a thread that was told to end: it may be within something long.
    let worker = thread::Builder::new().name("rooflens".to_owned()).spawn(move || {
        let _ = done.send(work(&observer));
    });
    worker.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    loop {
        let waited = wait(py, outcome, BEAT);
        outcome = waited.1;
        match waited.0 {
            Ok(result) => {
                for warning in watch.warnings.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                    let words = std::ffi::CString::new(warning.replace('\0', " ")).unwrap_or_default();
                    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &words, 2)?;
                }
                return result.map_err(|error| raise(py, &error));
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Err(interrupted) = py.check_signals() {
                    watch.is_stopped.store(true, Ordering::Relaxed);
                    drop(wait(py, outcome, GRACE));
                    return Err(interrupted);
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("this is a bug in Rooflens: its thread has panicked"));
            }
        }
    }
}

/// What comes within some time, and where more comes from.
fn wait<T: Send>(
    py: Python<'_>,
    outcome: Receiver<T>,
    time: Duration,
) -> (Result<T, RecvTimeoutError>, Receiver<T>) {
    py.detach(move || (outcome.recv_timeout(time), outcome))
}
