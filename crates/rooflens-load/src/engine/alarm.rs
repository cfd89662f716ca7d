//! Waking up on time. Timers of the runtime are a millisecond coarse; a timer of the kernel in the same event loop is
//! as exact as the scheduler.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::future::poll_fn;
use std::io;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::rest;
use super::timer::{Firings, Timer};
use crate::clock::RunClock;

pub(super) struct Alarm {
    clock: RunClock,
    timer: Timer,
    firings: Cell<Option<Firings>>,
    times: RefCell<BinaryHeap<Reverse<(i64, u64)>>>,
    sleepers: RefCell<HashMap<u64, Waker>>,
    next_sleeper: Cell<u64>,
    set_to: Cell<i64>,
}

struct Sleeping<'a> {
    alarm: &'a Alarm,
    id: u64,
}

impl Drop for Sleeping<'_> {
    fn drop(&mut self) {
        self.alarm.sleepers.borrow_mut().remove(&self.id);
    }
}

impl Alarm {
    /// Within a runtime. [`Alarm::ring`] must run beside the sleepers.
    pub(crate) fn new(clock: RunClock) -> io::Result<Rc<Self>> {
        let (timer, firings) = Timer::new()?;
        Ok(Rc::new(Alarm {
            clock,
            timer,
            firings: Cell::new(Some(firings)),
            times: RefCell::default(),
            sleepers: RefCell::default(),
            next_sleeper: Cell::new(0),
            set_to: Cell::new(i64::MAX),
        }))
    }

    pub(crate) async fn sleep_until(&self, time_ns: i64) {
        if self.clock.now_ns() >= time_ns {
            return;
        }
        let id = self.next_sleeper.get();
        self.next_sleeper.set(id + 1);
        self.times.borrow_mut().push(Reverse((time_ns, id)));
        let sleeping = Sleeping { alarm: self, id };
        poll_fn(|context| {
            if self.clock.now_ns() >= time_ns {
                return Poll::Ready(());
            }
            self.sleepers.borrow_mut().insert(id, context.waker().clone());
            if time_ns < self.set_to.get() {
                self.set(time_ns);
            }
            Poll::Pending
        })
        .await;
        drop(sleeping);
    }

    pub(crate) async fn ring(&self) {
        let Some(mut firings) = self.firings.take() else { return };
        loop {
            if firings.next().await.is_err() {
                return;
            }
            self.set_to.set(i64::MAX);
            rest::note_alarm(i64::MAX);
            self.wake_due();
        }
    }

    fn wake_due(&self) {
        let now = self.clock.now_ns();
        loop {
            let Some(Reverse((time, id))) = self.times.borrow().peek().copied() else { return };
            let is_gone = !self.sleepers.borrow().contains_key(&id);
            if time > now && !is_gone {
                self.set(time);
                return;
            }
            self.times.borrow_mut().pop();
            if let Some(waker) = self.sleepers.borrow_mut().remove(&id) {
                waker.wake();
            }
        }
    }

    fn set(&self, time_ns: i64) {
        self.set_to.set(time_ns);
        rest::note_alarm(time_ns);
        // 0 would turn the timer off.
        let wait = u64::try_from(time_ns - self.clock.now_ns()).unwrap_or(0).max(1);
        self.timer.set(Duration::from_nanos(wait));
    }
}
