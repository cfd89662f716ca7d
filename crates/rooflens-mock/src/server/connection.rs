//! One connection: TLS or not, HTTP/1.1 or HTTP/2.

use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::routes::{Reply, respond};
use super::{AnyError, MockState};
use crate::io::{ConnectionState, Farewell, HyperIo, StampedStream};
use crate::options::MockOptions;
use crate::timer::PreciseTimer;
use crate::tls::make_identity;

#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) shared: Arc<MockState>,
    pub(super) timer: PreciseTimer,
    pub(super) state: Rc<ConnectionState>,
}

#[derive(Clone)]
pub(super) struct Acceptor {
    tls: Option<TlsAcceptor>,
}

impl Acceptor {
    pub(super) fn new(options: &MockOptions) -> Result<(Self, Option<String>), AnyError> {
        if !options.tls && !options.tls_expired {
            return Ok((Acceptor { tls: None }, None));
        }
        let identity = make_identity(options.tls_expired, options.http2)?;
        Ok((Acceptor { tls: Some(identity.config.into()) }, Some(identity.authority_pem)))
    }

    /// Serves it to its end. What goes wrong with a connection is the client's to notice.
    pub(super) async fn serve(self, stream: TcpStream, shared: Arc<MockState>, timer: PreciseTimer) {
        let _ = stream.set_nodelay(true);
        let state = Rc::new(ConnectionState::default());
        let stream = StampedStream::new(stream, state.clone());
        let context = ConnectionContext { shared, timer, state };
        match self.tls {
            None => serve_http(stream, context).await,
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    serve_http(stream, context).await;
                }
            }
        }
    }
}

async fn serve_http<T: AsyncRead + AsyncWrite + Unpin + 'static>(stream: T, context: ConnectionContext) {
    let state = context.state.clone();
    let is_http2 = context.shared.options.http2;
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let context = context.clone();
        async move { respond(request, context).await as Result<Reply, AnyError> }
    });
    if is_http2 {
        let connection = http2::Builder::new(LocalExecutor).serve_connection(HyperIo::new(stream), service);
        drive(pin!(connection), &state, http2::Connection::graceful_shutdown).await;
    } else {
        let connection =
            http1::Builder::new().half_close(false).serve_connection(HyperIo::new(stream), service);
        drive(pin!(connection), &state, http1::Connection::graceful_shutdown).await;
    }
}

async fn drive<C: Future>(
    mut connection: Pin<&mut C>,
    state: &ConnectionState,
    shut_down: impl Fn(Pin<&mut C>),
) {
    std::future::poll_fn(|context| {
        let farewell = state.takes_goaway(context);
        if farewell.is_some() {
            shut_down(connection.as_mut());
        }
        let polled = connection.as_mut().poll(context).map(drop);
        if farewell == Some(Farewell::Abrupt) { Poll::Ready(()) } else { polled }
    })
    .await;
}

#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future + 'static> hyper::rt::Executor<F> for LocalExecutor
where
    F::Output: 'static,
{
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
