//! One timer in the event loop of a thread. On Linux it is the kernel's, as exact as the scheduler; elsewhere the
//! runtime's, a millisecond coarse.

#[cfg(target_os = "linux")]
pub(super) use self::kernel::{Firings, Timer};
#[cfg(not(target_os = "linux"))]
pub(super) use self::runtime::{Firings, Timer};

#[cfg(target_os = "linux")]
mod kernel {
    use std::future::poll_fn;
    use std::io;
    use std::os::fd::AsFd;
    use std::pin::Pin;
    use std::time::Duration;

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::{AsyncRead, ReadBuf};
    use tokio::net::unix::pipe;

    pub(crate) struct Timer(TimerFd);

    pub(crate) struct Firings(pipe::Receiver);

    impl Timer {
        pub(crate) fn new() -> io::Result<(Self, Firings)> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            let firings = pipe::Receiver::from_owned_fd_unchecked(timer.as_fd().try_clone_to_owned()?)?;
            Ok((Timer(timer), Firings(firings)))
        }

        /// Fires after this time, and no more at the one that was set before.
        pub fn set(&self, wait: Duration) {
            let _ = self.0.set(Expiration::OneShot(TimeSpec::from(wait)), TimerSetTimeFlags::empty());
        }
    }

    impl Firings {
        pub(crate) async fn next(&mut self) -> io::Result<()> {
            // How often it fired: 8 bytes. With more room than that, the event loop knows that there is nothing left.
            let mut bytes = [0; 16];
            let mut buffer = ReadBuf::new(&mut bytes);
            poll_fn(|context| Pin::new(&mut self.0).poll_read(context, &mut buffer)).await
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod runtime {
    use std::cell::Cell;
    use std::io;
    use std::rc::Rc;
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::{Instant, timeout_at};

    #[derive(Default)]
    struct Shared {
        until: Cell<Option<Instant>>,
        changed: Notify,
    }

    pub(crate) struct Timer(Rc<Shared>);

    pub(crate) struct Firings(Rc<Shared>);

    impl Timer {
        pub(crate) fn new() -> io::Result<(Self, Firings)> {
            let shared = Rc::new(Shared::default());
            Ok((Timer(Rc::clone(&shared)), Firings(shared)))
        }

        /// Fires after this time, and no more at the one that was set before.
        pub fn set(&self, wait: Duration) {
            self.0.until.set(Some(Instant::now() + wait));
            self.0.changed.notify_one();
        }
    }

    impl Firings {
        pub(crate) async fn next(&mut self) -> io::Result<()> {
            loop {
                match self.0.until.get() {
                    None => self.0.changed.notified().await,
                    Some(until) => {
                        if timeout_at(until, self.0.changed.notified()).await.is_err() {
                            self.0.until.set(None);
                            return Ok(());
                        }
                    }
                }
            }
        }
    }
}
