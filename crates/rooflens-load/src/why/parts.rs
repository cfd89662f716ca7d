//! How the mean latency of requests divides.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::evidence::LoadEvidence;
use crate::scrape::ServerSummary;

/// Means over all requests with output.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct MeanLatency {
    /// Requests.
    pub(crate) requests: usize,
    /// From the schedule to being sent.
    pub(crate) client_wait_ns: f64,
    /// From being sent to the first token.
    pub(crate) ttft_ns: f64,
    /// From being sent to the last token.
    pub(crate) e2e_ns: f64,
    /// In the server's queue; null if it is not known.
    pub(crate) queue_ns: Option<f64>,
    /// Whether the queue time is of Little's law: mean requests in the queue over requests per second.
    pub(crate) queue_is_estimated: bool,
    /// From being scheduled to the first token, as the server says.
    pub(crate) prefill_ns: Option<f64>,
    /// From the first token to the last, by the client.
    pub(crate) decode_ns: f64,
    /// The rest of the time to the first token: front end, network.
    pub(crate) front_end_ns: Option<f64>,
    /// Requests served per second.
    pub(crate) requests_per_s: Option<f64>,
}

/// The server's own counts must be of this many of the client's requests: others may use it too.
const SAME_REQUESTS: std::ops::RangeInclusive<f64> = 0.8..=1.25;

impl MeanLatency {
    pub(super) fn of(evidence: &LoadEvidence, server: Option<&ServerSummary>) -> Option<Self> {
        let count = evidence.requests().len();
        let mut parts = MeanLatency {
            requests: count,
            client_wait_ns: evidence.mean(|times| (times.sent_ns - times.scheduled_ns).max(0) as f64)?,
            ttft_ns: evidence.mean(|times| (times.first_ns - times.sent_ns).max(0) as f64)?,
            e2e_ns: evidence.mean(|times| (times.last_ns - times.sent_ns).max(0) as f64)?,
            ..MeanLatency::default()
        };
        parts.decode_ns = (parts.e2e_ns - parts.ttft_ns).max(0.0);
        let seconds = evidence.span().map(|(from, to)| (to - from) as f64 * 1e-9).filter(|span| *span > 0.0);
        parts.requests_per_s = seconds.map(|seconds| count as f64 / seconds);
        let is_ours = |server: &&ServerSummary| {
            server.requests_finished.is_none_or(|theirs| SAME_REQUESTS.contains(&(theirs / count as f64)))
        };
        if let Some(server) = server.filter(is_ours) {
            parts.queue_ns = server.queue_time_mean_ns;
            parts.prefill_ns = server.prefill_time_mean_ns;
            if parts.queue_ns.is_none() {
                parts.queue_ns = queue_by_little(server, count);
                parts.queue_is_estimated = parts.queue_ns.is_some();
            }
            let inside = parts.queue_ns.zip(parts.prefill_ns).map(|(queue, prefill)| queue + prefill);
            parts.front_end_ns = inside.map(|inside| (parts.ttft_ns - inside).max(0.0));
        }
        Some(parts)
    }
}

/// Mean requests in the queue × time = mean time in the queue × requests.
fn queue_by_little(server: &ServerSummary, requests: usize) -> Option<f64> {
    Some(server.waiting_mean? * server.span_ns? as f64 / requests as f64)
}
