//! Ctrl-C: the first stops and saves, the second kills.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rooflens_core::exit::Exit;

use crate::console::Console;

/// What Ctrl-C means: the first press asks to stop. While processes of others run, the second asks to kill them and
/// the program itself goes on to save what there is; where nobody runs, it ends the program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Presses {
    count: Arc<AtomicUsize>,
    guarded: Arc<AtomicBool>,
}

impl Presses {
    /// Counts Ctrl-C and termination from now on. `then` says what stopping means.
    pub(crate) fn watch(console: &Console, then: &'static str) -> Self {
        let presses = Self::default();
        let (own, console) = (presses.clone(), *console);
        let handler = move || {
            let before = own.count.fetch_add(1, Ordering::SeqCst);
            if before == 0 {
                console.say(&format!("\nstopping: {then}; Ctrl-C again kills"));
            } else if !own.guarded.load(Ordering::SeqCst) || before > 2 {
                kill();
            }
        };
        // Where no handler can be set, Ctrl-C kills at once, as it would without us.
        let _ = ctrlc::set_handler(handler);
        presses
    }

    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// Says whether somebody runs who must be ended before the program may.
    pub(crate) fn guard(&self, guarded: bool) {
        self.guarded.store(guarded, Ordering::SeqCst);
    }
}

#[expect(clippy::exit, reason = "the second Ctrl-C must not wait for anything")]
fn kill() {
    std::process::exit(Exit::Interrupted.code().into());
}

/// How a job ended: the report of a stopped one was given, yet the code tells.
pub(crate) fn exit_of(stopped: bool) -> Exit {
    if stopped { Exit::Interrupted } else { Exit::Fine }
}
