//! Progress of work that tells nothing until it ends.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use indicatif::ProgressBar;
use rooflens_core::environment;

use super::{BAR_AFTER, SPINNER, TICK, has_bars, style};
use crate::console::Console;

/// Shows that something goes on, from a second after its start to its end.
pub(crate) struct Spinner {
    done: Option<Sender<()>>,
    shown: Option<JoinHandle<()>>,
}

impl Spinner {
    /// Begins to wait.
    pub fn start(console: &Console, what: &str) -> Self {
        let (done, is_done) = mpsc::channel();
        let (console, what) = (*console, what.to_owned());
        let shown = environment::wants_progress()
            .then(|| std::thread::spawn(move || show(&console, &what, &is_done)));
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

fn show(console: &Console, what: &str, is_done: &Receiver<()>) {
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
