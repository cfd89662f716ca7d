//! Work on several things at once, its results taken in order.
//!
//! What is in flight is bounded, so that memory is; and whatever the number of threads, everything whose order can
//! be seen happens in order, so that the output stays the same.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

#[derive(Default)]
struct State {
    started: usize,
    /// Items whose turn is over: see [`Turns::take`].
    passed: usize,
    taken: usize,
    is_over: bool,
    is_broken: bool,
}

pub(crate) struct Turns {
    state: Mutex<State>,
    changed: Condvar,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait(&self, until: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        self.changed.wait_while(self.lock(), |state| !until(state)).unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` once every earlier item has had its turn. An item has one turn at most.
    pub(crate) fn take<R>(&self, item: usize, work: impl FnOnce() -> R) -> R {
        drop(self.wait(|state| state.passed >= item || state.is_broken));
        let result = work();
        self.pass(item);
        result
    }

    /// Ends the turn of an item, whether it was used or not.
    fn pass(&self, item: usize) {
        drop(self.wait(|state| state.passed >= item || state.is_broken));
        self.change(|state| state.passed = state.passed.max(item + 1));
    }

    /// The next item to work on, once there is room for it.
    fn start(&self, count: usize, at_once: usize, goes_on: impl Fn() -> bool) -> Option<usize> {
        let has_room = |state: &State| state.started - state.taken < at_once;
        let mut state = self.wait(|state| state.is_over || state.started >= count || has_room(state));
        if state.is_over || state.started >= count || !goes_on() {
            state.is_over = true;
            return None;
        }
        state.started += 1;
        Some(state.started - 1)
    }
}

/// Ends everything when a thread unwinds, so that no other waits for it.
struct Unwinding<'a>(&'a Turns);

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.change(|state| (state.is_over, state.is_broken) = (true, true));
        }
    }
}

/// Works on `count` items, at most `at_once` of them in flight from the start of `work` to the end of `take`.
/// `take` gets the results in order, on the calling thread; its first error ends all. Before each item `goes_on` is
/// asked whether to start it. Answers how many were started.
pub(crate) fn in_order<T: Send, E>(
    (count, at_once): (usize, usize),
    goes_on: impl Fn() -> bool + Sync,
    work: impl Fn(usize, &Turns) -> T + Sync,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<usize, E> {
    let turns = Turns { state: Mutex::default(), changed: Condvar::new() };
    let at_once = at_once.min(count);
    if at_once <= 1 {
        // Threads would only be in the way.
        while let Some(item) = turns.start(count, 1, &goes_on) {
            let result = work(item, &turns);
            turns.pass(item);
            take(result)?;
            turns.change(|state| state.taken += 1);
        }
        return Ok(turns.lock().started);
    }
    thread::scope(|scope| {
        let _unwinding = Unwinding(&turns);
        let (to_taker, results) = channel();
        let (turns, goes_on, work) = (&turns, &goes_on, &work);
        let worker = |to_taker: std::sync::mpsc::Sender<(usize, T)>| {
            move || {
                let _unwinding = Unwinding(turns);
                while let Some(item) = turns.start(count, at_once, goes_on) {
                    let result = work(item, turns);
                    turns.pass(item);
                    if to_taker.send((item, result)).is_err() {
                        return;
                    }
                }
            }
        };
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker(to_taker.clone()))).collect();
        drop(to_taker);
        let (mut early, mut next, mut outcome) = (BTreeMap::new(), 0, Ok(()));
        for (item, result) in results {
            early.insert(item, result);
            while let Some(result) = early.remove(&next).filter(|_| outcome.is_ok()) {
                next += 1;
                outcome = take(result);
                turns.change(|state| {
                    state.taken += 1;
                    state.is_over |= outcome.is_err();
                });
            }
            if outcome.is_err() {
                break;
            }
        }
        for worker in workers {
            if let Err(panic) = worker.join() {
                resume_unwind(panic);
            }
        }
        outcome.map(|()| turns.lock().started)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// What is taken, and in which order turns come, with so many at once.
    fn run(count: usize, at_once: usize) -> (Vec<usize>, Vec<usize>) {
        let order = Mutex::new(Vec::new());
        let mut taken = Vec::new();
        let flying = AtomicUsize::new(0);
        let started = in_order(
            (count, at_once),
            || true,
            |item, turns| {
                assert!(flying.fetch_add(1, Ordering::SeqCst) < at_once);
                // Every third item has nothing to do in its turn.
                if item % 3 != 0 {
                    turns.take(item, || order.lock().unwrap().push(item));
                }
                item
            },
            |item| {
                flying.fetch_sub(1, Ordering::SeqCst);
                taken.push(item);
                Ok::<(), ()>(())
            },
        );
        assert_eq!(started, Ok(count));
        (taken, order.into_inner().unwrap())
    }

    #[test]
    fn the_order_is_the_same_whatever_the_threads() {
        for at_once in 1..5 {
            let (taken, turns) = run(100, at_once);
            assert_eq!(taken, (0..100).collect::<Vec<_>>());
            assert_eq!(turns, (0..100).filter(|item| item % 3 != 0).collect::<Vec<_>>());
        }
        assert!(run(0, 2).0.is_empty());
        assert_eq!(run(1, 2).0, [0]);
    }

    #[test]
    fn an_error_ends_all() {
        for at_once in 1..4 {
            let begun = AtomicUsize::new(0);
            let work = |item: usize, _: &Turns| {
                begun.fetch_add(1, Ordering::SeqCst);
                item
            };
            let take = |item| if item == 5 { Err(item) } else { Ok(()) };
            assert_eq!(in_order((1_000, at_once), || true, work, take), Err(5));
            assert!(begun.into_inner() <= 5 + at_once);
        }
    }

    #[test]
    fn nothing_is_started_once_stopped() {
        for at_once in 1..4 {
            let stopped = AtomicBool::new(false);
            let mut taken = 0;
            let take = |item: usize| {
                taken += 1;
                stopped.fetch_or(item == 7, Ordering::SeqCst);
                Ok::<(), ()>(())
            };
            let goes_on = || !stopped.load(Ordering::SeqCst);
            let started = in_order((1_000, at_once), goes_on, |item, _| item, take).unwrap();
            assert!((8..8 + at_once).contains(&started), "{started}");
            assert_eq!(taken, started);
        }
    }

    #[test]
    fn a_panic_passes_through() {
        let one_panics = |panicking: usize| {
            std::panic::catch_unwind(|| {
                let work = |item: usize, turns: &Turns| {
                    assert!(item != panicking, "planted");
                    turns.take(item, || item)
                };
                let _ = in_order((50, 3), || true, work, |_| Ok::<(), ()>(()));
            })
        };
        assert!(one_panics(10).is_err());
        assert!(one_panics(0).is_err());
        let taking = std::panic::catch_unwind(|| {
            let _ = in_order(
                (50, 3),
                || true,
                |item, _| item,
                |item| -> Result<(), ()> {
                    assert!(item != 10, "planted");
                    Ok(())
                },
            );
        });
        assert!(taking.is_err());
    }
}
