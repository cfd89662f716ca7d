//! What the caller learns on standard error: one JSON object per line.

use std::time::{Duration, Instant};

use rooflens_engine_protocol::{Event, Fault, emit};
use serde::Serialize;

/// At most five progress events per second.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// How far a query is. What Spark does not say is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Progress {
    pub(crate) rows: u64,
    /// Bytes that executors have read.
    pub(crate) bytes: u64,
    /// Files read so far: Spark counts tasks instead.
    pub(crate) files: Option<u64>,
    pub(crate) of_files: u64,
    pub(crate) tasks: u64,
    pub(crate) of_tasks: u64,
}

/// Writes events, progress not too often.
#[derive(Debug)]
pub(crate) struct Events {
    begun: Instant,
    last_progress: Option<Instant>,
}

impl Events {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), last_progress: None }
    }

    /// Reports progress, unless the last report was a moment ago.
    pub(crate) fn progress(&mut self, progress: &Progress) {
        if self.last_progress.is_none_or(|last| last.elapsed() >= PROGRESS_INTERVAL) {
            self.last_progress = Some(Instant::now());
            emit(&Event::Progress(progress));
        }
    }

    pub(crate) fn done(&self, rows: u64, scanned_bytes: u64) {
        let elapsed_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        emit::<Progress>(&Event::Done { rows, scanned_bytes, elapsed_ms });
    }

    pub(crate) fn error(&self, failure: Fault) {
        emit::<Progress>(&Event::Error(failure));
    }
}
