//! A connection and its request wake each other for every frame, though they are polled together anyway. Without this
//! each frame would put the task into the run queue once more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Polls in a row, at most: the runtime lets a task do only so much before others have their turn.
const MAX_POLLS: usize = 8;

/// Passes wakes on to the task, but keeps those that it causes itself.
pub(super) struct Gate {
    shared: Arc<Shared>,
    waker: Waker,
}

struct Shared {
    is_polling: AtomicBool,
    was_woken: AtomicBool,
    task: Mutex<Waker>,
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_polling.load(Ordering::SeqCst) {
            self.was_woken.store(true, Ordering::SeqCst);
        } else {
            self.task.lock().unwrap_or_else(PoisonError::into_inner).wake_by_ref();
        }
    }
}

impl Gate {
    pub(crate) fn new() -> Self {
        let shared = Arc::new(Shared {
            is_polling: AtomicBool::new(false),
            was_woken: AtomicBool::new(false),
            task: Mutex::new(Waker::noop().clone()),
        });
        Gate { waker: Waker::from(Arc::clone(&shared)), shared }
    }

    pub(crate) fn poll<T>(
        &self,
        task: &Context<'_>,
        mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        {
            let mut waker = self.shared.task.lock().unwrap_or_else(PoisonError::into_inner);
            if !waker.will_wake(task.waker()) {
                waker.clone_from(task.waker());
            }
        }
        self.shared.is_polling.store(true, Ordering::SeqCst);
        let mut outcome = Poll::Pending;
        let mut is_woken = true;
        for _ in 0..MAX_POLLS {
            self.shared.was_woken.store(false, Ordering::SeqCst);
            outcome = poll(&mut Context::from_waker(&self.waker));
            is_woken = self.shared.was_woken.load(Ordering::SeqCst);
            if outcome.is_ready() || !is_woken {
                break;
            }
        }
        self.shared.is_polling.store(false, Ordering::SeqCst);
        // One that came in between the two lines above, from another thread, must not be lost.
        if outcome.is_pending() && (is_woken || self.shared.was_woken.load(Ordering::SeqCst)) {
            task.waker().wake_by_ref();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn own_wakes_poll_again_and_others_reach_the_task() {
        let count = Arc::new(Count::default());
        let task = Waker::from(Arc::clone(&count));
        let context = Context::from_waker(&task);
        let gate = Gate::new();
        let (mut polls, mut kept) = (0, None);
        let outcome = gate.poll(&context, |inner| {
            polls += 1;
            kept = Some(inner.waker().clone());
            if polls < 3 {
                inner.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        });
        assert_eq!((outcome, polls, count.0.load(Ordering::SeqCst)), (Poll::Pending, 3, 0));
        kept.unwrap().wake();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(gate.poll(&context, |_| Poll::Ready(7)), Poll::Ready(7));
    }

    #[test]
    fn one_that_wakes_itself_for_ever_lets_others_run() {
        let count = Arc::new(Count::default());
        let task = Waker::from(Arc::clone(&count));
        let mut polls = 0;
        let outcome = Gate::new().poll(&Context::from_waker(&task), |inner| {
            polls += 1;
            inner.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        assert_eq!((outcome, polls, count.0.load(Ordering::SeqCst)), (Poll::Pending, MAX_POLLS, 1));
    }
}
