//! Listens, takes a bounded number of connections, and ends them in order.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::settings::DashboardLimits;
use crate::stalled::StallGuard;

/// Bytes of the head of a request, its address among them.
const HEAD_BYTES: usize = 16 << 10;
/// Header lines of a request.
const HEADERS: usize = 64;
/// After an error of the system, as too many open files, it is left alone for a moment.
const AFTER_AN_ERROR: Duration = Duration::from_millis(50);

#[derive(Debug, Clone)]
pub(crate) struct ConnectionLimits {
    most: usize,
    header_time: Duration,
    write_time: Duration,
    farewell: Duration,
    keep_alive: bool,
}

impl ConnectionLimits {
    pub(crate) fn closing(self) -> Self {
        ConnectionLimits { keep_alive: false, ..self }
    }
}

impl From<&DashboardLimits> for ConnectionLimits {
    fn from(limits: &DashboardLimits) -> Self {
        ConnectionLimits {
            most: limits.connections,
            header_time: limits.header_time,
            write_time: limits.write_time,
            farewell: limits.farewell,
            keep_alive: true,
        }
    }
}

pub(crate) type Ending = watch::Receiver<bool>;

pub(crate) struct Listening {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// Listens at an address. `router` is called within the runtime, with the address as it is then: port 0 becomes a
    /// free one.
    pub fn start(
        address: SocketAddr,
        threads: usize,
        limits: ConnectionLimits,
        open: Gauge,
        router: impl FnOnce(SocketAddr, Ending) -> Router,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(32)
            .thread_name("serve")
            .enable_all()
            .build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let (stop, ending) = watch::channel(false);
        let router = {
            let _within = runtime.enter();
            router(address, ending.clone())
        };
        let serve = move || {
            let farewell = limits.farewell;
            runtime.block_on(take_all(listener, router, limits, open, ending));
            // Work that nobody waits for any more is not waited for here either.
            runtime.shutdown_timeout(farewell);
        };
        let thread = std::thread::Builder::new().name("listen".to_owned()).spawn(serve)?;
        Ok(Listening { address, stop, thread: Some(thread) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn take_all(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    open: Gauge,
    mut ending: Ending,
) {
    let places = Arc::new(Semaphore::new(limits.most));
    let mut connections = JoinSet::new();
    loop {
        // Where all places are taken, others wait in the queue of the system.
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            _ = ending.wait_for(|is_ending| *is_ending) => break,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|is_ending| *is_ending) => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(AFTER_AN_ERROR).await;
            continue;
        };
        let (router, limits, open, ending) = (router.clone(), limits.clone(), open.clone(), ending.clone());
        connections.spawn(async move {
            open.inc();
            converse(stream, router, &limits, ending).await;
            open.dec();
            drop(place);
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // Whoever is not done by then is cut off.
    drop(tokio::time::timeout(limits.farewell, all).await);
    connections.shutdown().await;
}

async fn converse(stream: TcpStream, router: Router, limits: &ConnectionLimits, mut ending: Ending) {
    // Answers are small; nothing is gained by waiting for more.
    drop(stream.set_nodelay(true));
    let stream = TokioIo::new(StallGuard::new(stream, limits.write_time));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(limits.keep_alive)
        .header_read_timeout(limits.header_time)
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEADERS)
        .serve_connection(stream, TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    // What a client did wrong is its own affair: it gets its answer, or is gone.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|is_ending| *is_ending) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
