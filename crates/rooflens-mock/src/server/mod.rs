//! Threads, connections, routes.

mod connection;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, mpsc as channel, oneshot};
use tokio::task::LocalSet;

use self::connection::Acceptor;
use crate::io::ask_for_receive_times;
use crate::journal::{Journal, ServerLog};
use crate::metrics::MockMetrics;
use crate::options::MockOptions;
use crate::timer::PreciseTimer;

type AnyError = Box<dyn std::error::Error + Send + Sync>;
type Connections = channel::UnboundedSender<std::net::TcpStream>;

/// More than clients connect at once: a full queue costs them a second.
const BACKLOG: u32 = 4096;

/// A server that listens.
pub struct MockServer {
    /// Where.
    pub address: SocketAddr,
    /// Certificate of its authority, PEM, if it speaks TLS.
    pub authority_pem: Option<String>,
    shared: Arc<MockState>,
    quit: mpsc::Receiver<()>,
    workers: Vec<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl MockServer {
    /// Starts it.
    pub fn start(options: MockOptions) -> Result<Self, AnyError> {
        let (quit_sender, quit) = mpsc::channel();
        let (acceptor, authority_pem) = Acceptor::new(&options)?;
        let address: SocketAddr = format!("{}:{}", options.host, options.port).parse()?;
        let threads = options.threads.max(1);
        let shared = Arc::new(MockState::new(options, quit_sender));
        let mut workers = Vec::new();
        let mut inboxes = Vec::new();
        for _ in 0..threads {
            let (sender, receiver) = channel::unbounded_channel();
            inboxes.push(sender);
            workers.push(receiver);
        }
        let (told, listening) = mpsc::channel();
        let mut listener = Some(Listener { address, inboxes, told });
        let workers = workers.into_iter().map(|inbox| {
            let (stop, stopped) = oneshot::channel();
            let worker = Worker { shared: shared.clone(), acceptor: acceptor.clone(), inbox, stopped };
            let listener = listener.take();
            let thread = std::thread::Builder::new().name("mock".to_owned());
            Ok((stop, thread.spawn(move || worker.run(listener))?))
        });
        let workers = workers.collect::<io::Result<Vec<_>>>()?;
        let address = listening.recv()??;
        Ok(MockServer { address, authority_pem, shared, quit, workers })
    }

    /// Waits for `POST /quit`, or for a message of this sender.
    pub fn wait(&self) {
        // The sender lives in `shared`, so this ends by a message alone.
        let _ = self.quit.recv();
    }

    /// Makes [`MockServer::wait`] return.
    pub fn quitter(&self) -> mpsc::Sender<()> {
        self.shared.quit.clone()
    }

    /// Ends all connections and says what was done.
    pub fn stop(self) -> ServerLog {
        for (stop, thread) in self.workers {
            let _ = stop.send(());
            // A thread that panicked has said so; the log has what it did before.
            let _ = thread.join();
        }
        self.shared.log()
    }
}

struct Listener {
    address: SocketAddr,
    inboxes: Vec<Connections>,
    told: mpsc::Sender<io::Result<SocketAddr>>,
}

impl Listener {
    fn bind(&self) -> io::Result<TcpListener> {
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        // From the first byte on: what is received before a connection is accepted has its time too.
        ask_for_receive_times(&socket)?;
        socket.bind(self.address)?;
        socket.listen(BACKLOG)
    }

    async fn accept(self) {
        let listener = match self.bind() {
            Ok(listener) => listener,
            Err(error) => return drop(self.told.send(Err(error))),
        };
        let _ = self.told.send(listener.local_addr());
        for inbox in self.inboxes.iter().cycle() {
            match listener.accept().await.and_then(|(stream, _)| stream.into_std()) {
                Ok(stream) => drop(inbox.send(stream)),
                // Out of descriptors, or a client that left: the next may fare better.
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }
}

struct Worker {
    shared: Arc<MockState>,
    acceptor: Acceptor,
    inbox: channel::UnboundedReceiver<std::net::TcpStream>,
    stopped: oneshot::Receiver<()>,
}

impl Worker {
    fn run(self, listener: Option<Listener>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let Ok(runtime) = runtime else { return };
        let local = LocalSet::new();
        let Worker { shared, acceptor, mut inbox, stopped } = self;
        local.block_on(&runtime, async move {
            if let Some(listener) = listener {
                tokio::task::spawn_local(listener.accept());
            }
            let Ok(timer) = PreciseTimer::new() else { return };
            let driver = timer.clone();
            tokio::task::spawn_local(async move { driver.drive().await });
            tokio::task::spawn_local(async move {
                while let Some(stream) = inbox.recv().await {
                    let Ok(stream) = TcpStream::from_std(stream) else { continue };
                    let serving = acceptor.clone().serve(stream, shared.clone(), timer.clone());
                    tokio::task::spawn_local(serving);
                }
            });
            let _ = stopped.await;
        });
    }
}

struct MockState {
    options: Arc<MockOptions>,
    metrics: Arc<MockMetrics>,
    journal: Arc<Journal>,
    slots: Option<Arc<Semaphore>>,
    first_request: OnceLock<Instant>,
    quit: mpsc::Sender<()>,
    requests: AtomicU64,
}

impl MockState {
    fn new(options: MockOptions, quit: mpsc::Sender<()>) -> Self {
        let keeps_writes = options.log.is_some() && !options.totals_only;
        MockState {
            metrics: Arc::default(),
            journal: Arc::new(Journal::new(keeps_writes)),
            slots: options.slots.map(|slots| Arc::new(Semaphore::new(slots.max(1)))),
            first_request: OnceLock::new(),
            quit,
            requests: AtomicU64::new(0),
            options: Arc::new(options),
        }
    }

    fn next_number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    fn log(&self) -> ServerLog {
        let mut log = self.journal.log();
        log.totals.profiles_started = self.metrics.profiles_started.load(Ordering::Relaxed);
        log.totals.profiles_stopped = self.metrics.profiles_stopped.load(Ordering::Relaxed);
        log
    }
}
