//! What several workers come to as a whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clock::ClockCheck;
use crate::record::{ClientHealth, LoadOutcome};

/// What became of a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum WorkerFate {
    /// It sent its share to the end.
    Finished,
    /// It was lost, or failed. What it had reported counts.
    Lost {
        /// Why.
        reason: String,
    },
}

/// A worker after a load test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerReport {
    /// Its address.
    pub worker: String,
    /// Its number among the workers: it sends sessions whose number leaves this remainder.
    pub(crate) share: u64,
    /// What became of it.
    #[serde(flatten)]
    pub fate: WorkerFate,
    /// Its clock before the load test.
    pub clock: ClockCheck,
    /// How much the offset of its clock grew until the end; null where it was not there any more.
    pub(crate) clock_drift_ns: Option<i64>,
    /// How long after the common start it began; null where it was lost before it said so.
    pub(crate) began_late_ns: Option<i64>,
    /// Requests that it reported.
    pub requests: u64,
    /// Its client health; null where it was lost.
    pub(crate) client: Option<ClientHealth>,
}

/// A load test on several machines.
#[derive(Debug, Clone)]
pub struct ClusterOutcome {
    /// All of it, on the coordinator's clock.
    pub load: LoadOutcome,
    /// Each worker.
    pub workers: Vec<WorkerReport>,
}

impl ClusterOutcome {
    /// Workers that were lost.
    #[cfg(test)]
    pub(crate) fn lost(&self) -> impl Iterator<Item = &WorkerReport> {
        self.workers.iter().filter(|worker| worker.fate != WorkerFate::Finished)
    }
}

/// Client health of all workers: the worst of each delay, the sum of what is used, and valid only if all are and none
/// was lost. Quantiles of delays are at most the worst of the workers', so these are upper bounds.
pub(super) fn merged_health(workers: &[WorkerReport], chunks: u64) -> ClientHealth {
    let known = || workers.iter().filter_map(|worker| worker.client.as_ref());
    let worst = |delay: fn(&ClientHealth) -> Option<i64>| known().filter_map(delay).max();
    let cpu_ns = known().fold(0_i64, |sum, client| sum.saturating_add(client.cpu_ns));
    ClientHealth {
        valid: workers.iter().all(|worker| worker.client.as_ref().is_some_and(|client| client.valid)),
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

fn reasons(report: &WorkerReport) -> Vec<String> {
    let worker = &report.worker;
    if let WorkerFate::Lost { reason } = &report.fate {
        return vec![format!("worker {worker} was lost after {} requests: {reason}", report.requests)];
    }
    let reasons = report.client.iter().flat_map(|client| &client.reasons);
    reasons.map(|reason| format!("worker {worker}: {reason}")).collect()
}
