//! The server, from its settings to its end.

use std::net::SocketAddr;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::access::{HostNames, Tokens};
use crate::app::{App, keep_fresh};
use crate::cache::PageCache;
use crate::index::{RunIndex, RunSource};
use crate::listening::Listening;
use crate::router::router;
use crate::self_metrics::SelfMetrics;
use crate::settings::{DashboardError, DashboardSettings};

/// Threads that answer requests; long work has separate threads.
const MOST_THREADS: usize = 4;

/// How often a store that is no folder is listed.
const REMOTE_REFRESH: Duration = Duration::from_secs(60);

/// A server that runs; dropped, it ends in order.
pub struct Dashboard {
    listening: Listening,
    runs: usize,
}

impl Dashboard {
    /// Finds the runs, listens and answers.
    pub fn start(settings: DashboardSettings) -> Result<Self, DashboardError> {
        settings.check()?;
        let DashboardSettings { source, listen, token, hosts, limits } = settings;
        let source = RunSource::open(&source)?;
        let index = source.refresh(&RunIndex::default())?.unwrap_or_default();
        let runs = index.runs.len();
        let failed = |source| DashboardError::Listen { address: listen, source };
        let tokens = Tokens::new(token.as_deref()).map_err(failed)?;
        let metrics = Arc::new(SelfMetrics::new());
        let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, MOST_THREADS);
        let (bounds, open) = ((&limits).into(), metrics.connections.clone());
        let listening = Listening::start(listen, threads, bounds, open, |address, ending| {
            // Listing a bucket takes seconds and money.
            let is_remote = source.store().is_some_and(|address| address.contains("://"));
            let refresh = if is_remote { limits.refresh.max(REMOTE_REFRESH) } else { limits.refresh };
            let places = |number: usize| Arc::new(Semaphore::new(number));
            metrics.runs.set(runs as i64);
            let app = Arc::new(App {
                hosts: HostNames::new(address, &hosts),
                cache: PageCache::new(limits.cache_bytes),
                subscribers: places(limits.subscribers),
                queries: places(limits.queries),
                renders: places(limits.renders),
                index: RwLock::new(Arc::new(index)),
                source,
                limits,
                tokens,
                metrics,
                ending,
            });
            tokio::spawn(keep_fresh(Arc::clone(&app), refresh));
            router(app)
        });
        Ok(Dashboard { listening: listening.map_err(failed)?, runs })
    }

    /// Where it listens: port 0 becomes a free one.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// Runs that were found at the start.
    pub fn runs(&self) -> usize {
        self.runs
    }
}
