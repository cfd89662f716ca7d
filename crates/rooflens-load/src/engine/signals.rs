//! Stopping and cancelling what the tasks of a thread wait for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Phase {
    #[default]
    Sending,
    /// No more are sent; those in progress may end.
    Draining,
    Cancelled,
}

/// The phase, for the tasks of one thread. Asking costs nothing; who waits is woken when it changes.
#[derive(Default)]
pub(super) struct Signals {
    phase: Cell<Phase>,
    waiting: RefCell<HashMap<u64, Waker>>,
    next: Cell<u64>,
}

impl Signals {
    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    pub(crate) fn advance(&self, phase: Phase) {
        if phase > self.phase.get() {
            self.phase.set(phase);
            let waiting: Vec<Waker> = self.waiting.borrow_mut().drain().map(|(_, waker)| waker).collect();
            waiting.into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) async fn unless<F: Future>(&self, phase: Phase, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        let listener = self.listen();
        poll_fn(|context| {
            if self.phase.get() >= phase {
                return Poll::Ready(None);
            }
            match future.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => {
                    listener.register(context);
                    Poll::Pending
                }
            }
        })
        .await
    }

    pub(crate) fn listen(&self) -> Listener<'_> {
        let id = self.next.get();
        self.next.set(id + 1);
        Listener { signals: self, id, registered_in: Cell::new(None) }
    }
}

pub(super) struct Listener<'a> {
    signals: &'a Signals,
    id: u64,
    registered_in: Cell<Option<Phase>>,
}

impl Listener<'_> {
    /// Once in each phase: the waker of a task stays the same.
    pub(crate) fn register(&self, context: &Context<'_>) {
        let phase = Some(self.signals.phase.get());
        if self.registered_in.replace(phase) != phase {
            self.signals.waiting.borrow_mut().insert(self.id, context.waker().clone());
        }
    }
}

impl Drop for Listener<'_> {
    fn drop(&mut self) {
        self.signals.waiting.borrow_mut().remove(&self.id);
    }
}
