//! Work of libraries that panic on damaged input: arrow does, where a length or a type makes no sense.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread is caught, and so is damage of an input and no bug.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// What the work gives; `None` where it panics.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    GUARDED.set(true);
    // What the work was filling counts up to there.
    let done = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(false);
    done.ok()
}
