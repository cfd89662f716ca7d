//! The times of a request, of which percentiles are headline metrics.

use super::request::MeasuredRequest;

/// Times of requests, of which percentiles are headline metrics.
pub struct RequestTimes {
    /// Its key in `metrics.json`.
    pub key: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The same in full, for those who do not know the abbreviation.
    pub words: &'static str,
    /// What it is.
    pub definition: &'static str,
    /// The times of a request; none where it has too few tokens.
    pub of: fn(&MeasuredRequest<'_>) -> Vec<f64>,
}

/// Time to first token.
pub const TTFT: RequestTimes = RequestTimes {
    key: "ttft_ns",
    title: "TTFT",
    words: "time to first token",
    definition: "time from submitting a prompt to its first token; from the scheduled time in an open-loop load test",
    of: |request| completed(request, since(request.origin_ns(), request.token_ns.first().copied())),
};
/// Time to the first token that is not reasoning.
pub const TTFO: RequestTimes = RequestTimes {
    key: "ttfo_ns",
    title: "TTFO",
    words: "time to first output token",
    definition: "time from submitting a prompt to its first token that is not reasoning; from the scheduled time in an \
                 open-loop load test",
    of: |request| completed(request, since(request.origin_ns(), request.first_output_ns())),
};
/// Time per output token.
pub const TPOT: RequestTimes = RequestTimes {
    key: "tpot_ns",
    title: "TPOT",
    words: "time per output token",
    definition: "per request, time from the first to the last token / number of tokens after the first",
    of: |request| completed(request, request.tpot()),
};
/// Inter-token latency.
pub const ITL: RequestTimes = RequestTimes {
    key: "itl_ns",
    title: "ITL",
    words: "inter-token latency",
    definition: "time from one token to the next of the same request; where a chunk has several tokens, the time \
                 since the chunk before / its tokens, once per token",
    of: |request| if request.is_failed { Vec::new() } else { request.token_gaps() },
};
/// End-to-end latency.
pub const LATENCY: RequestTimes = RequestTimes {
    key: "latency_ns",
    title: "latency",
    words: "end-to-end latency",
    definition: "time from submitting a prompt to its last token; from the scheduled time in an open-loop load test",
    of: |request| completed(request, since(request.origin_ns(), request.finish_ns())),
};

/// Time in the scheduler's queue.
pub const QUEUE: RequestTimes = RequestTimes {
    key: "queued_ns",
    title: "queue",
    words: "time in the queue",
    definition: "time from submitting a prompt to the first step that processes it; part of TTFT",
    of: |request| completed(request, request.queued_ns.map(|ns| ns as f64)),
};

/// Time to first token without the client's delay.
pub const SERVICE_TTFT: RequestTimes = RequestTimes {
    key: "service_ttft_ns",
    title: "service TTFT",
    words: "time to first token, from sending",
    definition: "time from sending a request to its first token: TTFT without the time a scheduled request waited \
                 in the client",
    of: |request| scheduled(request, since(request.start_ns, request.token_ns.first().copied())),
};
/// End-to-end latency without the client's delay.
pub const SERVICE_TIME: RequestTimes = RequestTimes {
    key: "service_time_ns",
    title: "service time",
    words: "end-to-end latency, from sending",
    definition: "time from sending a request to its last token: latency without the time a scheduled request waited \
                 in the client",
    of: |request| scheduled(request, since(request.start_ns, request.finish_ns())),
};

/// The times that `metrics.json` of `rooflens run` has.
pub const TIMES: &[&RequestTimes] = &[&TTFT, &TPOT, &ITL, &LATENCY, &QUEUE];
/// The times of a load test.
pub const LOAD_TIMES: &[&RequestTimes] =
    &[&TTFT, &TTFO, &TPOT, &ITL, &LATENCY, &QUEUE, &SERVICE_TTFT, &SERVICE_TIME];

fn completed(request: &MeasuredRequest<'_>, time: Option<f64>) -> Vec<f64> {
    time.filter(|_| !request.is_failed).into_iter().collect()
}

/// Where nothing is scheduled, service times are the times themselves.
fn scheduled(request: &MeasuredRequest<'_>, time: Option<f64>) -> Vec<f64> {
    completed(request, time.filter(|_| request.scheduled_ns.is_some()))
}

/// A token before its own prompt has no such time.
fn since(start_ns: i64, ns: Option<i64>) -> Option<f64> {
    let since = ns.and_then(|ns| ns.checked_sub(start_ns)).filter(|ns| *ns >= 0);
    since.map(|ns| ns as f64)
}
