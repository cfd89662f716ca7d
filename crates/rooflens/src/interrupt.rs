//! Ctrl-C: the first stops and saves, the second kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

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

/// What Ctrl-C means while processes of others run: they are asked to stop, then killed. The program
/// itself goes on to save what there is; where nobody runs, the second press ends it.
#[derive(Debug, Clone, Default)]
pub struct Presses {
    /// Set by the first, for whoever can only stop.
    pub stop: Stop,
    count: Arc<AtomicUsize>,
    guarded: Arc<AtomicBool>,
}

impl Presses {
    /// Counts from now on.
    pub fn watch(console: &Console) -> Self {
        let presses = Self::default();
        let (own, console) = (presses.clone(), *console);
        let handler = move || {
            let before = own.count.fetch_add(1, Ordering::SeqCst);
            own.stop.store(true, Ordering::SeqCst);
            if before == 0 {
                console.say("\nstopping: what was measured until now is saved; Ctrl-C again kills");
            } else if !own.guarded.load(Ordering::SeqCst) || before > 2 {
                kill();
            }
        };
        let _ = ctrlc::set_handler(handler);
        presses
    }

    /// How often it was pressed.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Says whether somebody runs who must be ended before the program may.
    pub fn guard(&self, guarded: bool) {
        self.guarded.store(guarded, Ordering::SeqCst);
    }
}

#[expect(clippy::exit, reason = "the second Ctrl-C must not wait for anything")]
fn kill() {
    std::process::exit(Exit::Interrupted.code().into());
}
