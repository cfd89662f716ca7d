//! What several workers come to as a whole.

use super::clock::ClockCheck;
use crate::record::{ClientHealth, LoadOutcome};

/// A worker after a load test.
#[derive(Debug, Clone)]
pub struct WorkerReport {
    /// Its address.
    pub worker: String,
    /// Its number among the workers: it sends sessions whose number leaves this remainder.
    pub(crate) share: u64,
    /// Why it was lost or failed, although its earlier requests count; `None` if it sent its share to the end.
    pub lost: Option<String>,
    /// Its clock before the load test.
    pub clock: ClockCheck,
    /// Requests that it reported.
    pub requests: u64,
    /// `None` if it was lost.
    pub(crate) outcome: Option<LoadOutcome>,
}

/// A load test on several machines.
#[derive(Debug, Clone)]
pub struct ClusterOutcome {
    /// All of it, on the coordinator's clock.
    pub load: LoadOutcome,
    /// Each worker.
    pub workers: Vec<WorkerReport>,
}

/// Client health of all workers: the worst of each delay, the sum of what is used, and valid only if all are and none
/// was lost. Quantiles of delays are at most the worst of the workers', so these are upper bounds.
pub(super) fn merged_health(workers: &[WorkerReport], chunks: u64) -> ClientHealth {
    let known = || workers.iter().filter_map(client_of);
    let worst = |delay: fn(&ClientHealth) -> Option<i64>| known().filter_map(delay).max();
    let cpu_ns = known().fold(0_i64, |sum, client| sum.saturating_add(client.cpu_ns));
    ClientHealth {
        valid: workers.iter().all(|worker| client_of(worker).is_some_and(|client| client.valid)),
        reasons: workers.iter().flat_map(reasons).collect(),
        send_lag_p50_ns: worst(|client| client.send_lag_p50_ns),
        send_lag_p99_ns: worst(|client| client.send_lag_p99_ns),
        loop_lag_p99_ns: worst(|client| client.loop_lag_p99_ns),
        receive_delay_p50_ns: worst(|client| client.receive_delay_p50_ns),
        receive_delay_p99_ns: worst(|client| client.receive_delay_p99_ns),
        cpu_ns,
        busiest_thread: known().filter_map(|client| client.busiest_thread).reduce(f64::max),
        cpu_per_chunk_ns: (chunks > 0).then(|| cpu_ns as f64 / chunks as f64),
        peak_rss_bytes: known().filter_map(|client| client.peak_rss_bytes).reduce(i64::saturating_add),
        threads: known().map(|client| client.threads).sum(),
        kernel_timestamps: known().count() > 0 && known().all(|client| client.kernel_timestamps),
    }
}

fn client_of(report: &WorkerReport) -> Option<&ClientHealth> {
    report.outcome.as_ref().map(|outcome| &outcome.client)
}

fn reasons(report: &WorkerReport) -> Vec<String> {
    let worker = &report.worker;
    if let Some(reason) = &report.lost {
        return vec![format!("worker {worker} was lost after {} requests: {reason}", report.requests)];
    }
    let reasons = client_of(report).into_iter().flat_map(|client| &client.reasons);
    reasons.map(|reason| format!("worker {worker}: {reason}")).collect()
}
