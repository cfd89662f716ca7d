//! A TCP stream that knows when its bytes arrived.

use std::cell::{Cell, RefCell};
use std::io::{self, IoSliceMut};
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use hdrhistogram::Histogram;
#[cfg(target_os = "linux")]
use nix::sys::socket::{ControlMessageOwned, setsockopt, sockopt};
use nix::sys::socket::{MsgFlags, recvmsg};
use nix::sys::time::TimeSpec;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

use crate::clock::{RunClock, WallClock};

/// Of so many reads the delay of one is noted.
const READS_PER_SAMPLE: u32 = 4;

const CONTROL_BYTES: usize = nix::sys::socket::cmsg_space::<TimeSpec>();

thread_local! {
    /// The kernel gave the time of bytes that this thread read.
    static KERNEL_TIME_TAKEN: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread read bytes with a receive time of the kernel since the last call.
pub(crate) fn took_kernel_time() -> bool {
    KERNEL_TIME_TAKEN.replace(false)
}

#[derive(Debug)]
pub(crate) struct Receiving {
    pub(crate) clock: RunClock,
    wall: WallClock,
    pub(crate) delay: RefCell<Histogram<u64>>,
    reads: Cell<u32>,
    pub(crate) has_kernel_times: Cell<bool>,
    /// Where hyper's buffers are filled from: they cannot be handed to the kernel without unsafe code.
    scratch: RefCell<Box<[u8]>>,
}

impl Receiving {
    pub(crate) fn new(clock: RunClock, delay: Histogram<u64>) -> Self {
        Receiving {
            clock,
            wall: WallClock::new(clock),
            delay: RefCell::new(delay),
            reads: Cell::new(0),
            has_kernel_times: Cell::new(false),
            scratch: RefCell::new(vec![0; 64 << 10].into_boxed_slice()),
        }
    }
}

impl Receiving {
    fn sample_delay(&self, delay_ns: i64) {
        let reads = self.reads.get();
        self.reads.set(reads.wrapping_add(1));
        if reads.is_multiple_of(READS_PER_SAMPLE) {
            self.delay.borrow_mut().saturating_record(u64::try_from(delay_ns).unwrap_or(0));
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// When the bytes that were read last had arrived: the kernel's time, or that of the read.
    last_arrival: Cell<i64>,
    /// When the first bytes since [`Stamps::begin`] had arrived.
    first_arrival: Cell<Option<i64>>,
    /// When the first bytes since [`Stamps::begin`] were given to the socket.
    first_write: Cell<Option<i64>>,
}

impl Stamps {
    pub(crate) fn begin(&self) {
        self.first_arrival.set(None);
        self.first_write.set(None);
    }

    pub(crate) fn last_arrival(&self) -> i64 {
        self.last_arrival.get()
    }

    pub(crate) fn first_arrival(&self) -> Option<i64> {
        self.first_arrival.get()
    }

    pub(crate) fn first_write(&self) -> Option<i64> {
        self.first_write.get()
    }
}

#[derive(Debug)]
pub(crate) struct TimedStream {
    tcp: TcpStream,
    stamps: Rc<Stamps>,
    receiving: Rc<Receiving>,
}

impl TimedStream {
    /// Without Nagle's delay, and with the kernel's receive times where it gives them.
    pub(crate) fn new(tcp: TcpStream, receiving: Rc<Receiving>) -> io::Result<Self> {
        tcp.set_nodelay(true)?;
        // Where it is refused, times are those of the reads.
        #[cfg(target_os = "linux")]
        let _ = setsockopt(&tcp, sockopt::ReceiveTimestampns, &true);
        Ok(TimedStream { tcp, stamps: Rc::new(Stamps::default()), receiving })
    }

    pub(crate) fn stamps(&self) -> Rc<Stamps> {
        Rc::clone(&self.stamps)
    }

    fn poll_receive(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_read_ready(context))?;
            let mut received = None;
            let outcome = self.tcp.try_io(Interest::READABLE, || {
                let (count, kernel) = receive(&self.tcp, buffer)?;
                received = Some((count, kernel));
                if count > 0 && count < buffer.len() {
                    // The socket is empty now. Saying so here spares the read that would only find that out: more
                    // bytes make it readable again.
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(())
            });
            if let Some((count, kernel)) = received {
                if count > 0 {
                    self.stamp(kernel);
                }
                return Poll::Ready(Ok(count));
            }
            match outcome {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(()) => {}
            }
        }
    }

    fn stamp(&self, kernel: Option<TimeSpec>) {
        let now = self.receiving.clock.now_ns();
        let mut arrival = now;
        if let Some(kernel) = kernel {
            let unix = kernel.tv_sec().saturating_mul(1_000_000_000).saturating_add(kernel.tv_nsec());
            // Neither after the read nor before what came earlier: the wall clock may have been set meanwhile.
            arrival = self.receiving.wall.to_run(unix, now).max(self.stamps.last_arrival.get()).min(now);
            self.receiving.has_kernel_times.set(true);
            KERNEL_TIME_TAKEN.set(true);
            self.receiving.sample_delay(now - arrival);
        }
        self.stamps.last_arrival.set(arrival);
        if self.stamps.first_arrival.get().is_none() {
            self.stamps.first_arrival.set(Some(arrival));
        }
    }

    fn note_write(&self) {
        if self.stamps.first_write.get().is_none() {
            self.stamps.first_write.set(Some(self.receiving.clock.now_ns()));
        }
    }
}

fn receive(tcp: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<TimeSpec>)> {
    let mut control = [0u8; CONTROL_BYTES];
    let mut slices = [IoSliceMut::new(buffer)];
    let message = recvmsg::<()>(tcp.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty())?;
    let times = message.cmsgs().into_iter().flatten();
    let kernel = times.filter_map(|part| match part {
        #[cfg(target_os = "linux")]
        ControlMessageOwned::ScmTimestampns(time) => Some(time),
        _ => None,
    });
    Ok((message.bytes, kernel.last()))
}

impl AsyncRead for TimedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let count = ready!(self.poll_receive(context, buffer.initialize_unfilled()))?;
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.tcp).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.note_write();
        Pin::new(&mut self.tcp).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(context)
    }
}

pub(super) fn poll_fill<R: AsyncRead + Unpin>(
    reader: &mut R,
    receiving: &Receiving,
    context: &mut Context<'_>,
    mut cursor: hyper::rt::ReadBufCursor<'_>,
) -> Poll<io::Result<()>> {
    let mut scratch = receiving.scratch.borrow_mut();
    let room = cursor.remaining().min(scratch.len());
    let mut buffer = ReadBuf::new(&mut scratch[..room]);
    ready!(Pin::new(reader).poll_read(context, &mut buffer))?;
    cursor.put_slice(buffer.filled());
    Poll::Ready(Ok(()))
}
