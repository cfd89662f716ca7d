//! Connections as hyper wants them, and connections that know when they wrote.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, SystemTime};

use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, cmsg_space, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::journal::PartWritten;

/// Reads and writes of tokio as those of hyper.
pub struct HyperIo<T> {
    inner: T,
    buffer: Box<[u8]>,
}

impl<T> HyperIo<T> {
    /// Over this connection.
    pub fn new(inner: T) -> Self {
        HyperIo { inner, buffer: vec![0; 16 * 1024].into() }
    }
}

impl<T: AsyncRead + Unpin> hyper::rt::Read for HyperIo<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut cursor: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let most = cursor.remaining().min(this.buffer.len());
        let mut buffer = ReadBuf::new(&mut this.buffer[..most]);
        ready!(Pin::new(&mut this.inner).poll_read(context, &mut buffer))?;
        cursor.put_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> hyper::rt::Write for HyperIo<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(context, slices)
    }
}

#[derive(Default)]
pub(crate) struct ConnectionState {
    waiting: RefCell<Vec<PartWritten>>,
    received: Cell<Option<SystemTime>>,
    resets: Cell<bool>,
    goaway: Cell<Option<Farewell>>,
    driver: RefCell<Option<Waker>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Farewell {
    Announced,
    Abrupt,
}

impl ConnectionState {
    /// A part of an answer was handed over and goes out with the next write.
    pub(crate) fn handed_over(&self, written: PartWritten) {
        self.waiting.borrow_mut().push(written);
    }

    pub(crate) fn received(&self) -> SystemTime {
        self.received.get().unwrap_or_else(SystemTime::now)
    }

    /// From now on nothing is read or written, and the end of the connection is a reset.
    pub(crate) fn reset(&self) {
        self.resets.set(true);
    }

    pub(crate) fn go_away(&self, at_once: bool) {
        self.goaway.set(Some(if at_once { Farewell::Abrupt } else { Farewell::Announced }));
        if let Some(driver) = self.driver.borrow().as_ref() {
            driver.wake_by_ref();
        }
    }

    /// How the connection is to end, if it was asked to since the last call. Its task is woken when it is.
    pub(crate) fn takes_goaway(&self, context: &Context<'_>) -> Option<Farewell> {
        let mut driver = self.driver.borrow_mut();
        if !driver.as_ref().is_some_and(|known| known.will_wake(context.waker())) {
            *driver = Some(context.waker().clone());
        }
        self.goaway.take()
    }

    fn check(&self) -> io::Result<()> {
        if self.resets.get() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }

    fn stamp(&self, at: SystemTime) {
        for written in self.waiting.borrow_mut().drain(..) {
            written.at(at);
        }
    }
}

pub(crate) struct StampedStream {
    inner: TcpStream,
    state: Rc<ConnectionState>,
}

impl StampedStream {
    pub(crate) fn new(inner: TcpStream, state: Rc<ConnectionState>) -> Self {
        StampedStream { inner, state }
    }

    fn stamped(
        &mut self,
        write: impl FnOnce(Pin<&mut TcpStream>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        self.state.check()?;
        // Before the write: the other side may have read it before the call returns.
        let now = SystemTime::now();
        let done = write(Pin::new(&mut self.inner));
        if matches!(done, Poll::Ready(Ok(count)) if count > 0) {
            self.state.stamp(now);
        }
        done
    }
}

impl AsyncRead for StampedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.state.check()?;
        loop {
            ready!(self.inner.poll_read_ready(context))?;
            let descriptor = self.inner.as_raw_fd();
            let target = buffer.initialize_unfilled();
            match self.inner.try_io(Interest::READABLE, || receive(descriptor, target)) {
                Ok((count, time)) => {
                    self.state.received.set(Some(time));
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

fn receive(descriptor: RawFd, target: &mut [u8]) -> io::Result<(usize, SystemTime)> {
    let mut control = [0; cmsg_space::<TimeSpec>()];
    let mut slices = [IoSliceMut::new(target)];
    let message = recvmsg::<()>(descriptor, &mut slices, Some(&mut control), MsgFlags::empty())?;
    let stamp = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(time) => Some(SystemTime::UNIX_EPOCH + Duration::from(time)),
        _ => None,
    });
    Ok((message.bytes, stamp.unwrap_or_else(SystemTime::now)))
}

pub(crate) fn ask_for_receive_times(socket: &impl AsFd) -> io::Result<()> {
    Ok(setsockopt(socket, ReceiveTimestampns, &true)?)
}

impl AsyncWrite for StampedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stamped(|inner| inner.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.state.check()?;
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stamped(|inner| inner.poll_write_vectored(context, slices))
    }
}

impl Drop for StampedStream {
    fn drop(&mut self) {
        if self.state.resets.get() {
            // A socket that cannot be told so closes as any other: there is nobody to tell.
            let _ = self.inner.set_zero_linger();
        }
    }
}
