//! Ctrl-C: the first stops and saves, the second kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;
use crate::exit::Exit;

/// Set once the user wants to stop.
pub type Stop = Arc<AtomicBool>;

/// Watches for Ctrl-C and termination from now on. `then` says what stopping means.
pub fn watch(console: &Console, then: &'static str) -> Stop {
    let stop = Stop::default();
    let (flag, console) = (Arc::clone(&stop), *console);
    let handler = move || {
        if flag.swap(true, Ordering::SeqCst) {
            kill();
        }
        console.say(&format!("\nstopping: {then}; Ctrl-C again kills"));
    };
    // Where no handler can be set, Ctrl-C kills at once, as it would without us.
    let _ = ctrlc::set_handler(handler);
    stop
}

#[expect(clippy::exit, reason = "the second Ctrl-C must not wait for anything")]
fn kill() {
    std::process::exit(Exit::Interrupted.code().into());
}
