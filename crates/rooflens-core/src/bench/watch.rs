//! What happens during a load test: progress, stopping, and the first breach of the objectives.

use std::sync::atomic::{AtomicBool, Ordering};

use rooflens_analyze::compare::headline::MeasuredRequest;
use rooflens_analyze::compare::load::slo::Slo;
use rooflens_load::engine::{LoadProgress, LoadWatch};
use rooflens_load::record::RequestRecord;
use rooflens_schema::Opt;
use rooflens_schema::tables::RequestStatus;

use super::progress_file::ProgressFile;
use crate::observer::{Event, SharedObserver};

/// Notices the first request that breaks an objective.
#[derive(Debug, Default)]
pub(crate) struct BreachWatch {
    slo: Option<Slo>,
    is_breached: AtomicBool,
}

impl BreachWatch {
    /// For the limits of single requests.
    pub(crate) fn new(slo: Option<Slo>) -> Self {
        BreachWatch { slo, is_breached: AtomicBool::new(false) }
    }

    /// Whether one was broken.
    pub(crate) fn is_breached(&self) -> bool {
        self.is_breached.load(Ordering::Relaxed)
    }

    /// Takes note of a request.
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

/// Passes on what the engine tells and asks.
pub(crate) struct Watching<'a> {
    /// Who follows.
    pub(crate) observer: &'a SharedObserver,
    /// Which level.
    pub(crate) what: &'a str,
    /// Requests that will be sent, where that is known.
    pub(crate) of: Option<u64>,
    /// For whoever looks on from elsewhere.
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
