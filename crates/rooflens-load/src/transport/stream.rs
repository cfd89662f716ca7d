//! A connection to the server as hyper sees it, with TLS or without.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::AsyncWrite;
use tokio_rustls::client::TlsStream;

use super::timed::{Receiving, TimedStream, poll_fill};

/// A stream to the server. TLS lies above the timed stream, so that times are those of the socket.
#[derive(Debug)]
pub(crate) enum ServerStream {
    Plain(TimedStream, Rc<Receiving>),
    Tls(Box<TlsStream<TimedStream>>, Rc<Receiving>),
}

impl hyper::rt::Read for ServerStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        cursor: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            ServerStream::Plain(stream, receiving) => poll_fill(stream, receiving, context, cursor),
            ServerStream::Tls(stream, receiving) => poll_fill(stream.as_mut(), receiving, context, cursor),
        }
    }
}

impl ServerStream {
    fn writer(self: Pin<&mut Self>) -> Pin<&mut (dyn AsyncWrite + Unpin)> {
        match self.get_mut() {
            ServerStream::Plain(stream, _) => Pin::new(stream),
            ServerStream::Tls(stream, _) => Pin::new(stream.as_mut()),
        }
    }
}

impl hyper::rt::Write for ServerStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.writer().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.writer().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            ServerStream::Plain(stream, _) => stream.is_write_vectored(),
            ServerStream::Tls(stream, _) => stream.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.writer().poll_write_vectored(context, slices)
    }
}
