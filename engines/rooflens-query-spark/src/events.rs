//! What the caller learns on standard error: one JSON object per line.

use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::failure::Failure;

/// At most five progress events per second.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// How far a query is. What Spark does not say is null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Rows of the answer received so far.
    pub rows: u64,
    /// Bytes that executors have read.
    pub bytes: u64,
    /// Files read so far: Spark counts tasks instead.
    pub files: Option<u64>,
    /// Files of the tables that the query uses.
    pub of_files: u64,
    /// Tasks that are done.
    pub tasks: u64,
    /// Tasks of the stages that have begun.
    pub of_tasks: u64,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Event<'a> {
    Progress(&'a Progress),
    Done { rows: u64, scanned_bytes: u64, elapsed_ms: u64 },
    Error { kind: crate::failure::Kind, message: &'a str, hint: Option<&'a str> },
}

/// Writes events. A reader that is gone is no reason to fail.
#[derive(Debug)]
pub struct Events {
    begun: Instant,
    last_progress: Option<Instant>,
}

impl Events {
    /// Starts the clock of `elapsed_ms`.
    pub fn new() -> Self {
        Self { begun: Instant::now(), last_progress: None }
    }

    /// Reports progress, unless the last report was a moment ago.
    pub fn progress(&mut self, progress: &Progress) {
        if self.last_progress.is_none_or(|last| last.elapsed() >= PROGRESS_INTERVAL) {
            self.last_progress = Some(Instant::now());
            write(&Event::Progress(progress));
        }
    }

    /// Reports the end of a query that succeeded.
    pub fn done(&self, rows: u64, scanned_bytes: u64) {
        let elapsed_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        write(&Event::Done { rows, scanned_bytes, elapsed_ms });
    }

    /// Reports why a query failed.
    pub fn error(&self, failure: &Failure) {
        write(&Event::Error { kind: failure.kind, message: &failure.message, hint: failure.hint.as_deref() });
    }
}

fn write(event: &Event<'_>) {
    if let Ok(mut line) = serde_json::to_vec(event) {
        line.push(b'\n');
        let _ = std::io::stderr().lock().write_all(&line);
    }
}
