//! What happens during a load test: progress, stopping, and the first breach of the objectives.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rooflens_analyze::compare::headline::MeasuredRequest;
use rooflens_analyze::compare::load::slo::Slo;
use rooflens_load::engine::{LoadProgress, LoadWatch};
use rooflens_load::record::RequestRecord;
use rooflens_schema::tables::RequestStatus;
use rooflens_schema::{Opt, RunDir};
use serde_json::json;

use crate::observer::{Event, SharedObserver};

#[derive(Debug, Default)]
pub(crate) struct BreachWatch {
    slo: Option<Slo>,
    is_breached: AtomicBool,
}

impl BreachWatch {
    pub(crate) fn new(slo: Option<Slo>) -> Self {
        BreachWatch { slo, is_breached: AtomicBool::new(false) }
    }

    pub(crate) fn is_breached(&self) -> bool {
        self.is_breached.load(Ordering::Relaxed)
    }

    pub(crate) fn observe(&self, record: &RequestRecord, is_scheduled: bool) {
        let (Some(slo), false) = (&self.slo, self.is_breached()) else { return };
        let token_ns: Vec<i64> = record.chunks.iter().map(|chunk| chunk.ts_ns).collect();
        let tokens = record.usage.and_then(|usage| usage.output).unwrap_or(token_ns.len() as u64);
        let request = MeasuredRequest {
            round: 0,
            prompt_tokens: 0,
            output_tokens: i64::try_from(tokens).unwrap_or(i64::MAX),
            scheduled_ns: is_scheduled.then_some(record.scheduled_ns),
            start_ns: record.sent_ns.unwrap_or(record.scheduled_ns),
            chunk_tokens: &vec![Opt::NONE; token_ns.len()],
            chunk_kinds: &vec![None; token_ns.len()],
            token_ns: &token_ns,
            end_ns: Some(record.end_ns),
            queued_ns: None,
            is_load_test: true,
            is_failed: record.status != RequestStatus::Completed,
        };
        if slo.goodput(&[request]).is_some_and(|goodput| goodput.met == 0) {
            self.is_breached.store(true, Ordering::Relaxed);
        }
    }
}

pub(crate) struct Watching<'a> {
    pub(crate) observer: &'a SharedObserver,
    pub(crate) what: &'a str,
    pub(crate) of: Option<u64>,
    pub(crate) file: ProgressFile,
}

impl LoadWatch for Watching<'_> {
    fn stop(&self) -> bool {
        self.observer.is_stopped()
    }

    fn progress(&self, progress: &LoadProgress) {
        self.file.add(self.what, self.of, progress);
        self.observer.event(&Event::Loading { what: self.what, of: self.of, progress });
    }
}

/// The file, from the folder of a run. It is removed when the numbers of the level are there.
pub const PROGRESS_FILE: &str = "report/progress.jsonl";
const EVERY: Duration = Duration::from_millis(400);

pub(crate) struct ProgressFile {
    written: Mutex<Option<(File, Instant)>>,
}

impl ProgressFile {
    /// Begins one. A load test does not fail because nobody can look on.
    pub(crate) fn begin(run: &RunDir) -> Self {
        let file = File::create(run.root().join(PROGRESS_FILE)).ok();
        let long_ago = Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now);
        ProgressFile { written: Mutex::new(file.map(|file| (file, long_ago))) }
    }

    /// Adds a line, where the last is some time ago.
    pub fn add(&self, offered: &str, of: Option<u64>, progress: &LoadProgress) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, last)) = written.as_mut().filter(|(_, last)| last.elapsed() >= EVERY) else { return };
        *last = Instant::now();
        let LoadProgress { elapsed, sent, in_flight, completed, failed, chunks } = progress;
        let line = json!({
            "offered": offered, "of": of, "elapsed_ns": u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            "sent": sent, "in_flight": in_flight, "completed": completed, "failed": failed, "chunks": chunks,
        });
        // One write a line, so that nobody sees half of one.
        if file.write_all(format!("{line}\n").as_bytes()).is_err() {
            *written = None;
        }
    }
}
