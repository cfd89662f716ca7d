//! Sessions that were made ahead of their time.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::plan::{Body, LoadSession};

const MAX_SESSIONS: usize = 512;
/// Bytes of ready sessions; one session may exceed it alone.
const MAX_BYTES: usize = 128 << 20;

pub(super) struct Job {
    pub(crate) first_number: u64,
    /// When it is due; `None` in a closed loop.
    pub(crate) due_ns: Option<i64>,
    pub(crate) session: LoadSession,
}

/// A bounded queue from the thread that makes sessions to those that send them.
#[derive(Default)]
pub(super) struct Feed {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    bytes: usize,
    is_done: bool,
    is_closed: bool,
    waiting: Vec<Waker>,
}

impl Feed {
    pub(crate) fn push(&self, job: Job) -> bool {
        let bytes = size(&job.session);
        let mut state = self.lock();
        while !state.is_closed
            && !state.queue.is_empty()
            && (state.queue.len() >= MAX_SESSIONS || state.bytes + bytes > MAX_BYTES)
        {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return false;
        }
        state.bytes += bytes;
        state.queue.push_back(job);
        self.tell(state);
        true
    }

    /// No more will come.
    pub fn finish(&self) {
        let mut state = self.lock();
        state.is_done = true;
        self.tell(state);
    }

    /// No more is wanted: drops those that are ready. How many of them were due by this time.
    pub(crate) fn close(&self, end_ns: i64) -> u64 {
        let mut state = self.lock();
        state.is_closed = true;
        let due = state.queue.iter().filter(|job| job.due_ns.is_some_and(|due| due <= end_ns)).count();
        state.queue.clear();
        state.bytes = 0;
        self.tell(state);
        due as u64
    }

    pub(crate) fn is_used_up(&self) -> bool {
        let state = self.lock();
        state.queue.is_empty() && (state.is_done || state.is_closed)
    }

    /// Whether sending can begin without waiting soon: so many sessions are ready, or no more will come.
    pub(crate) fn has_ahead(&self, sessions: usize) -> bool {
        let state = self.lock();
        state.is_done || state.is_closed || state.queue.len() >= sessions || state.bytes >= MAX_BYTES / 2
    }

    /// The next session, when there is one; `None` at the end.
    pub(crate) async fn next(&self) -> Option<Job> {
        poll_fn(|context| {
            let mut state = self.lock();
            if let Some(job) = state.queue.pop_front() {
                state.bytes = state.bytes.saturating_sub(size(&job.session));
                drop(state);
                self.changed.notify_all();
                return Poll::Ready(Some(job));
            }
            if state.is_done || state.is_closed {
                return Poll::Ready(None);
            }
            if !state.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                state.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, mut state: MutexGuard<'_, State>) {
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        self.changed.notify_all();
        waiting.into_iter().for_each(Waker::wake);
    }
}

fn size(session: &LoadSession) -> usize {
    let bodies = session.turns.iter().map(|turn| match &turn.body {
        Body::Ready(bytes) => bytes.len(),
        Body::FromReplies(_) => 0,
    });
    bodies.sum()
}
