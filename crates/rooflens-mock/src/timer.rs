//! Sleeps of a single-threaded runtime with the precision of the kernel's timers: tokio's own count milliseconds.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Wakes tasks of one thread at points in time. One `timerfd` is always set to the earliest of them.
#[derive(Clone)]
pub(crate) struct PreciseTimer {
    inner: Rc<Inner>,
}

struct Inner {
    descriptor: AsyncFd<OwnedFd>,
    queue: RefCell<Queue>,
}

#[derive(Default)]
struct Queue {
    /// By due time and the order of registration.
    waiting: BTreeMap<(Instant, u64), Waker>,
    registered: u64,
    armed: Option<Instant>,
}

impl PreciseTimer {
    /// Makes one; within a runtime, whose driver watches it.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let descriptor = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(deprecated, reason = "safe for an owned descriptor; its successor needs an unsafe block")]
        let descriptor = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
        Ok(PreciseTimer { inner: Rc::new(Inner { descriptor, queue: RefCell::default() }) })
    }

    /// Wakes what is due, for ever. Has to run as a task of the same thread.
    pub(crate) async fn drive(&self) -> io::Result<()> {
        loop {
            self.inner.descriptor.readable().await?.clear_ready();
            let due = self.take_due(Instant::now())?;
            due.into_iter().for_each(Waker::wake);
        }
    }

    fn take_due(&self, now: Instant) -> io::Result<Vec<Waker>> {
        let mut queue = self.inner.queue.borrow_mut();
        let later = queue.waiting.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut queue.waiting, later).into_values().collect();
        queue.armed = None;
        if let Some(earliest) = queue.waiting.keys().next().map(|(due, _)| *due) {
            self.arm(&mut queue, earliest)?;
        }
        Ok(due)
    }

    fn arm(&self, queue: &mut Queue, due: Instant) -> io::Result<()> {
        let wait = due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let it_value = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: wait.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(self.inner.descriptor.get_ref(), TimerfdTimerFlags::empty(), &once)?;
        queue.armed = Some(due);
        Ok(())
    }

    fn register(&self, due: Instant, waker: Waker) -> io::Result<()> {
        let mut queue = self.inner.queue.borrow_mut();
        let number = queue.registered;
        queue.registered += 1;
        queue.waiting.insert((due, number), waker);
        if queue.armed.is_none_or(|armed| due < armed) {
            self.arm(&mut queue, due)?;
        }
        Ok(())
    }

    pub(crate) fn sleep_until(&self, due: Instant) -> PreciseSleep {
        PreciseSleep { timer: self.clone(), due, registered: None }
    }
}

pub(crate) struct PreciseSleep {
    timer: PreciseTimer,
    due: Instant,
    registered: Option<Waker>,
}

impl PreciseSleep {
    /// Whether the time has come; the task is woken when it does.
    pub(crate) fn poll_elapsed(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if Instant::now() >= self.due {
            return Poll::Ready(Ok(()));
        }
        let waker = context.waker();
        if !self.registered.as_ref().is_some_and(|known| known.will_wake(waker)) {
            self.registered = Some(waker.clone());
            if let Err(error) = self.timer.register(self.due, waker.clone()) {
                return Poll::Ready(Err(error));
            }
        }
        Poll::Pending
    }
}

impl Future for PreciseSleep {
    type Output = io::Result<()>;

    fn poll(self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().poll_elapsed(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_end_in_the_order_of_their_times_and_never_early() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        let local = tokio::task::LocalSet::new();
        let begin = Instant::now();
        let ended = Rc::new(RefCell::new(Vec::new()));
        local.block_on(&runtime, async {
            let timer = PreciseTimer::new().unwrap();
            let driver = timer.clone();
            tokio::task::spawn_local(async move { driver.drive().await });
            let sleeps: Vec<_> = [5_000_u64, 300, 2_000, 0]
                .map(|micros| {
                    let (due, ended) = (begin + Duration::from_micros(micros), ended.clone());
                    let sleep = timer.sleep_until(due);
                    tokio::task::spawn_local(async move {
                        sleep.await.unwrap();
                        assert!(Instant::now() >= due);
                        ended.borrow_mut().push(micros);
                    })
                })
                .into_iter()
                .collect();
            for sleep in sleeps {
                sleep.await.unwrap();
            }
        });
        let mut ended = ended.borrow().clone();
        ended.sort_unstable();
        assert_eq!(ended, [0, 300, 2_000, 5_000]);
        assert!(begin.elapsed() >= Duration::from_millis(5));
    }
}
