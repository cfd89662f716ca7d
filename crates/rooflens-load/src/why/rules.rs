//! Which cause it is. Each rule needs a clear majority of the time in question; otherwise it does not speak.

use super::evidence::{DecodeStall, LoadEvidence};
use super::parts::MeanLatency;
use super::{LatencyCause, LatencyFinding, words};
use crate::record::ClientHealth;
use crate::scrape::{ServerGauge, ServerKind, ServerSample, ServerSeries, ServerSummary};

const MAJORITY: f64 = 0.5;
const DECODE_MAJORITY: f64 = 0.7;
const MIN_SHARE: f64 = 0.05;
/// The KV cache is full.
const KV_CACHE_FULL: f64 = 0.95;
const KV_CACHE_HAS_ROOM: f64 = 0.9;
const PREEMPTIONS_PER_REQUEST: f64 = 0.05;

/// What is known besides the requests.
#[derive(Debug, Clone, Copy)]
pub struct LoadContext<'a> {
    /// The server's own view, on the clock of the load test.
    pub server: Option<&'a ServerSeries>,
    /// Whether the client kept up.
    pub client: &'a ClientHealth,
    /// Requests per second that were to be sent, in an open loop.
    pub offered_per_s: Option<f64>,
    /// Times in which the server was kept from its work on purpose, as while it writes a profile: no stalls are looked
    /// for in them.
    pub excluded: &'a [(i64, i64)],
}

/// The cause of latency; `None` where nothing is clear.
pub fn find_latency_cause(evidence: &LoadEvidence, context: &LoadContext<'_>) -> Option<LatencyFinding> {
    let summary = context.server.map(ServerSummary::of);
    let parts = MeanLatency::of(evidence, summary.as_ref())?;
    let cause = find(evidence, context, summary.as_ref(), &parts)?;
    let kind = context.server.and_then(|series| series.kind);
    let sentence = words::sentence(&cause, &parts, kind, context.offered_per_s);
    Some(LatencyFinding { cause, parts, sentence })
}

fn find(
    evidence: &LoadEvidence,
    context: &LoadContext<'_>,
    server: Option<&ServerSummary>,
    parts: &MeanLatency,
) -> Option<LatencyCause> {
    if !context.client.valid {
        return Some(LatencyCause::Client { reasons: context.client.reasons.clone() });
    }
    if parts.client_wait_ns >= MAJORITY * (parts.client_wait_ns + parts.e2e_ns) {
        return Some(LatencyCause::ConcurrencyCap { wait_ns: parts.client_wait_ns });
    }
    stalls(evidence, context, parts)
        .or_else(|| queue(evidence, context, server, parts))
        .or_else(|| preempted(server, parts))
        .or_else(|| first_token(server, parts))
        .or_else(|| decode(evidence, context, parts))
}

/// Stalls also fill the queue: they come first where they explain at least half of what the queue costs.
fn stalls(evidence: &LoadEvidence, context: &LoadContext<'_>, parts: &MeanLatency) -> Option<LatencyCause> {
    let mut stalls = evidence.stalls();
    stalls.retain(|stall| {
        !context.excluded.iter().any(|(from, to)| stall.from_ns < *to && *from < stall.to_ns)
    });
    let per_request_ns = evidence.mean_stalled_ns(&stalls);
    if per_request_ns < MIN_SHARE * parts.e2e_ns || per_request_ns < MAJORITY * parts.queue_ns.unwrap_or(0.0)
    {
        return None;
    }
    Some(LatencyCause::Stalls {
        count: stalls.len(),
        longest_ns: stalls.iter().map(DecodeStall::length_ns).max()?,
        total_ns: stalls.iter().map(DecodeStall::length_ns).sum(),
        per_request_ns,
        with_prefill: stalls.iter().filter(|stall| stall.ends_with_prefill).count(),
    })
}

fn queue(
    evidence: &LoadEvidence,
    context: &LoadContext<'_>,
    server: Option<&ServerSummary>,
    parts: &MeanLatency,
) -> Option<LatencyCause> {
    let (queue_ns, server) = (parts.queue_ns?, server?);
    if queue_ns < MAJORITY * parts.ttft_ns || queue_ns < MIN_SHARE * parts.e2e_ns {
        return None;
    }
    let usage = server.kv_cache_usage_max;
    if server.preemptions.is_some_and(|count| count > 0.0)
        || usage.is_some_and(|usage| usage >= KV_CACHE_FULL)
    {
        return Some(LatencyCause::KvCacheFull { preemptions: server.preemptions, usage_max: usage });
    }
    let limit = server.running_limit;
    let has_room = usage.is_none_or(|usage| usage < KV_CACHE_HAS_ROOM);
    let at_limit = context.server.zip(limit).and_then(|(series, limit)| share_at(evidence, series, limit));
    match limit.filter(|_| has_room && at_limit.is_some_and(|share| share >= MAJORITY)) {
        Some(limit) => Some(LatencyCause::RunningLimit {
            limit,
            flag: server.kind.and_then(limit_flag).map(str::to_owned),
            kv_cache_usage_max: usage,
        }),
        None => {
            Some(LatencyCause::Queue { running_mean: running(evidence, context), kv_cache_usage_max: usage })
        }
    }
}

fn share_at(evidence: &LoadEvidence, series: &ServerSeries, limit: f64) -> Option<f64> {
    let (from, to) = evidence.span()?;
    let waiting =
        |sample: &&ServerSample| sample.gauge(ServerGauge::Waiting).is_some_and(|waiting| waiting > 0.0);
    let samples: Vec<f64> = series
        .within(from, to)
        .filter(waiting)
        .filter_map(|sample| sample.gauge(ServerGauge::Running))
        .collect();
    let full = samples.iter().filter(|running| **running >= limit).count();
    (!samples.is_empty()).then(|| full as f64 / samples.len() as f64)
}

fn limit_flag(kind: ServerKind) -> Option<&'static str> {
    match kind {
        ServerKind::Vllm => Some("max_num_seqs"),
        ServerKind::Sglang => Some("max_running_requests"),
        ServerKind::TensorrtLlm | ServerKind::Triton => Some("max_batch_size"),
        ServerKind::LlamaCpp => Some("parallel"),
        ServerKind::Tgi | ServerKind::Dcgm => None,
    }
}

fn preempted(server: Option<&ServerSummary>, parts: &MeanLatency) -> Option<LatencyCause> {
    let server = server?;
    let many = server.preemptions? / parts.requests as f64 >= PREEMPTIONS_PER_REQUEST;
    many.then_some(LatencyCause::KvCacheFull {
        preemptions: server.preemptions,
        usage_max: server.kv_cache_usage_max,
    })
}

fn first_token(server: Option<&ServerSummary>, parts: &MeanLatency) -> Option<LatencyCause> {
    if parts.ttft_ns < MAJORITY * parts.e2e_ns {
        return None;
    }
    if parts.prefill_ns? >= MAJORITY * parts.ttft_ns {
        let prompts = server.and_then(|server| server.prompt_tokens);
        return Some(LatencyCause::Prefill {
            prompt_tokens: prompts.map(|tokens| tokens / parts.requests as f64),
            prefix_hit_rate: server.and_then(|server| server.prefix_hit_rate),
        });
    }
    (parts.front_end_ns? >= MAJORITY * parts.ttft_ns).then_some(LatencyCause::FrontEnd)
}

fn decode(evidence: &LoadEvidence, context: &LoadContext<'_>, parts: &MeanLatency) -> Option<LatencyCause> {
    (parts.decode_ns > 0.0 && parts.decode_ns >= DECODE_MAJORITY * parts.e2e_ns)
        .then(|| LatencyCause::Decode { running_mean: running(evidence, context) })
}

fn running(evidence: &LoadEvidence, context: &LoadContext<'_>) -> Option<f64> {
    let (from, to) = evidence.span()?;
    let samples = context.server?.within(from, to);
    let running: Vec<f64> = samples.filter_map(|sample| sample.gauge(ServerGauge::Running)).collect();
    (!running.is_empty()).then(|| running.iter().sum::<f64>() / running.len() as f64)
}
