//! What all threads of a server share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::Instant;

use tokio::sync::Semaphore;

use crate::journal::{Journal, ServerLog};
use crate::metrics::MockMetrics;
use crate::options::MockOptions;

/// What all threads of a server share.
pub(crate) struct MockState {
    /// How it was started.
    pub(crate) options: MockOptions,
    /// Counters.
    pub(crate) metrics: Arc<MockMetrics>,
    /// Ended requests.
    pub(crate) journal: Arc<Journal>,
    /// Places for requests, if they are limited.
    pub(crate) slots: Option<Arc<Semaphore>>,
    /// When the first request came.
    pub(crate) first_request: OnceLock<Instant>,
    /// Tells the main thread to end.
    pub(crate) quit: mpsc::Sender<()>,
    requests: AtomicU64,
}

impl MockState {
    /// Nothing has happened yet.
    #[must_use]
    pub(crate) fn new(options: MockOptions, quit: mpsc::Sender<()>) -> Self {
        let keeps_writes = options.log.is_some() && !options.totals_only;
        MockState {
            metrics: Arc::default(),
            journal: Arc::new(Journal::new(keeps_writes)),
            slots: options.slots.map(|slots| Arc::new(Semaphore::new(slots.max(1)))),
            first_request: OnceLock::new(),
            quit,
            requests: AtomicU64::new(0),
            options,
        }
    }

    /// The number of a request that just came.
    #[must_use]
    pub(crate) fn next_number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// What was done so far.
    #[must_use]
    pub(crate) fn log(&self) -> ServerLog {
        let mut log = self.journal.log();
        log.totals.profiles_started = self.metrics.profiles_started.load(Ordering::Relaxed);
        log.totals.profiles_stopped = self.metrics.profiles_stopped.load(Ordering::Relaxed);
        log
    }
}
