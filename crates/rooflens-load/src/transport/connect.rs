//! Opening connections.

use std::cell::Cell;
use std::net::SocketAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::{http1, http2};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::stream::ServerStream;
use super::timed::{Receiving, Stamps, TimedStream};
use super::{Endpoint, tls};
use crate::errors::{failed, http_failure, io_failure};
use crate::plan::LoadTarget;
use crate::record::RequestError;

pub(crate) type RequestBody = Full<Bytes>;

#[derive(Debug, Clone)]
pub(crate) struct Route {
    pub(crate) endpoint: Arc<Endpoint>,
    addresses: Arc<Result<Vec<SocketAddr>, String>>,
    tls: Option<Arc<rustls::ClientConfig>>,
    http2: bool,
    timeout: Duration,
}

impl Route {
    pub(crate) fn new(target: &LoadTarget) -> Result<Self, String> {
        let endpoint = Endpoint::new(target)?;
        let config = || tls::client_config(target.ca_file.as_deref(), target.insecure, target.http2);
        let tls = endpoint.is_tls.then(config).transpose()?;
        Ok(Route {
            addresses: Arc::new(endpoint.resolve(target.connect_timeout)),
            endpoint: Arc::new(endpoint),
            tls: tls.map(Arc::new),
            http2: target.http2,
            timeout: target.connect_timeout,
        })
    }
}

/// An HTTP/1.1 connection. It makes progress only where it is polled together with a request: no other task has to
/// be woken when bytes arrive.
pub(crate) struct Http1 {
    pub(crate) sender: http1::SendRequest<RequestBody>,
    pub(crate) connection: Pin<Box<http1::Connection<ServerStream, RequestBody>>>,
    pub(crate) stamps: Rc<Stamps>,
}

#[derive(Clone)]
pub(crate) struct Http2 {
    pub(crate) sender: http2::SendRequest<RequestBody>,
    pub(crate) stamps: Rc<Stamps>,
    pub(crate) active: Rc<Cell<usize>>,
}

pub(crate) enum OpenedConnection {
    Http1(Http1),
    Http2(Http2),
}

#[derive(Debug)]
pub(crate) struct Connector {
    route: Route,
    receiving: Rc<Receiving>,
    next_address: Cell<usize>,
}

impl Connector {
    pub(crate) fn new(route: Route, receiving: Rc<Receiving>) -> Self {
        Connector { route, receiving, next_address: Cell::new(0) }
    }

    pub(crate) fn is_http2(&self) -> bool {
        self.route.http2
    }

    pub(crate) async fn open(&self) -> Result<OpenedConnection, RequestError> {
        match tokio::time::timeout(self.route.timeout, self.open_untimed()).await {
            Ok(opened) => opened,
            Err(_) => {
                Err(failed("connect_timeout", format!("no connection within {:?}", self.route.timeout)))
            }
        }
    }

    async fn open_untimed(&self) -> Result<OpenedConnection, RequestError> {
        let tcp = self.connect().await?;
        let timed = TimedStream::new(tcp, Rc::clone(&self.receiving))
            .map_err(|error| io_failure(&error, "protocol"))?;
        let stamps = timed.stamps();
        let mut is_http2 = self.route.http2;
        let stream = match &self.route.tls {
            None => ServerStream::Plain(timed, Rc::clone(&self.receiving)),
            Some(config) => {
                let name = ServerName::try_from(self.route.endpoint.host.clone())
                    .map_err(|error| failed("tls", error.to_string()))?;
                let connector = TlsConnector::from(Arc::clone(config));
                let stream =
                    connector.connect(name, timed).await.map_err(|error| io_failure(&error, "tls"))?;
                is_http2 &= stream.get_ref().1.alpn_protocol() == Some(b"h2");
                ServerStream::Tls(Box::new(stream), Rc::clone(&self.receiving))
            }
        };
        let opened = if is_http2 { self.http2(stream, stamps).await } else { http1(stream, stamps).await };
        opened.map_err(|error| http_failure(&error))
    }

    async fn connect(&self) -> Result<TcpStream, RequestError> {
        let addresses = match self.route.addresses.as_ref() {
            Ok(addresses) => addresses,
            Err(message) => return Err(failed("dns", message.clone())),
        };
        let first = self.next_address.get();
        self.next_address.set(first.wrapping_add(1));
        let mut last = failed("dns", "no address");
        for turn in 0..addresses.len() {
            match TcpStream::connect(addresses[first.wrapping_add(turn) % addresses.len()]).await {
                Ok(tcp) => return Ok(tcp),
                Err(error) => last = io_failure(&error, "connection_refused"),
            }
        }
        Err(last)
    }

    async fn http2(&self, stream: ServerStream, stamps: Rc<Stamps>) -> hyper::Result<OpenedConnection> {
        let (sender, connection) = http2::Builder::new(LocalExecutor).handshake(stream).await?;
        tokio::task::spawn_local(async move {
            // Its requests are told.
            let _ = connection.await;
        });
        Ok(OpenedConnection::Http2(Http2 { sender, stamps, active: Rc::default() }))
    }
}

async fn http1(stream: ServerStream, stamps: Rc<Stamps>) -> hyper::Result<OpenedConnection> {
    let (sender, connection) = http1::Builder::new().handshake(stream).await?;
    Ok(OpenedConnection::Http1(Http1 { sender, connection: Box::pin(connection), stamps }))
}

#[derive(Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output: 'static> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
