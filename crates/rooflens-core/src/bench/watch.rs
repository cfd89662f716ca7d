//! What happens during a load test: progress, stopping, and the first breach of the objectives.

use std::sync::atomic::{AtomicBool, Ordering};

use rooflens_load::engine::{LoadProgress, LoadWatch};
use rooflens_load::record::RequestRecord;

use crate::observer::{Event, SharedObserver};

/// Notices the first request that breaks an objective.
#[derive(Debug, Default)]
pub struct BreachWatch {
    /// Largest TTFT and largest mean time per token.
    ttft_ns: Option<f64>,
    tpot_ns: Option<f64>,
    latency_ns: Option<f64>,
    is_breached: AtomicBool,
}

impl BreachWatch {
    /// For the limits of single requests.
    pub fn new(ttft_ns: Option<f64>, tpot_ns: Option<f64>, latency_ns: Option<f64>) -> Self {
        BreachWatch { ttft_ns, tpot_ns, latency_ns, is_breached: AtomicBool::new(false) }
    }

    /// Whether one was broken.
    pub fn is_breached(&self) -> bool {
        self.is_breached.load(Ordering::Relaxed)
    }

    /// Takes note of a request.
    pub fn observe(&self, record: &RequestRecord, is_scheduled: bool) {
        let begin = if is_scheduled { Some(record.scheduled_ns) } else { record.sent_ns };
        let (Some(begin), Some(first), Some(last)) = (begin, record.chunks.first(), record.chunks.last()) else {
            return;
        };
        let tokens = record.usage.and_then(|usage| usage.output).unwrap_or(record.chunks.len() as u64);
        let tpot = (tokens > 1).then(|| (last.ts_ns - first.ts_ns) as f64 / (tokens - 1) as f64);
        let exceeds = |value: Option<f64>, limit: Option<f64>| matches!((value, limit), (Some(v), Some(l)) if v > l);
        if exceeds(Some((first.ts_ns - begin) as f64), self.ttft_ns)
            || exceeds(tpot, self.tpot_ns)
            || exceeds(Some((last.ts_ns - begin) as f64), self.latency_ns)
        {
            self.is_breached.store(true, Ordering::Relaxed);
        }
    }
}

/// Passes on what the engine tells and asks.
pub struct Watching<'a> {
    /// Who follows.
    pub observer: &'a SharedObserver,
    /// Which level.
    pub what: &'a str,
    /// Requests that will be sent, where that is known.
    pub of: Option<u64>,
}

impl LoadWatch for Watching<'_> {
    fn stop(&self) -> bool {
        self.observer.is_stopped()
    }

    fn progress(&self, progress: &LoadProgress) {
        self.observer.event(&Event::Loading { what: self.what, of: self.of, progress });
    }
}
