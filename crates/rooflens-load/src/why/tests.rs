//! Load tests with a planted cause: what must be found, and what must not.

use super::*;
use crate::record::ClientHealth;
use crate::scrape::{
    ServerCounter, ServerDistribution, ServerGauge, ServerKind, ServerPage, ServerSample, ServerSeries,
};

const MS: i64 = 1_000_000;

fn client() -> ClientHealth {
    ClientHealth { valid: true, threads: 1, ..ClientHealth::default() }
}

fn context<'a>(server: Option<&'a ServerSeries>, client: &'a ClientHealth) -> LoadContext<'a> {
    LoadContext { server, client, offered_per_s: None, excluded: &[] }
}

/// Requests sent every `every` ms, each with its first chunk after `ttft` ms and `chunks` more, `gap` ms apart.
fn requests(count: i64, every: i64, ttft: i64, chunks: i64, gap: i64) -> LoadEvidence {
    let mut evidence = LoadEvidence::default();
    for number in 0..count {
        let sent = (100 + number * every) * MS;
        evidence.add(sent, sent, None, (0..=chunks).map(|chunk| sent + (ttft + chunk * gap) * MS));
    }
    evidence
}

#[derive(Clone, Copy)]
struct Server {
    requests: f64,
    queue_s: f64,
    prefill_s: f64,
    running: f64,
    waiting: f64,
    kv: f64,
    preemptions: f64,
    prompt_tokens: f64,
}

const SERVER: Server = Server {
    requests: 100.0,
    queue_s: 0.001,
    prefill_s: 0.030,
    running: 5.0,
    waiting: 0.0,
    kv: 0.12,
    preemptions: 0.0,
    prompt_tokens: 100.0,
};

impl Server {
    fn series(self, span_ms: i64) -> ServerSeries {
        let mut series = ServerSeries::default();
        for at in (0..=span_ms).step_by(100) {
            let (is_end, is_idle) = (at + 100 > span_ms, at == 0 || at + 100 > span_ms);
            let requests = if is_end { self.requests } else { 0.0 };
            let gauge = |value: f64| if is_idle { 0.0 } else { value };
            let sample = ServerSample::default()
                .with_gauge(ServerGauge::Running, gauge(self.running))
                .with_gauge(ServerGauge::Waiting, gauge(self.waiting))
                .with_gauge(ServerGauge::KvCacheUsage, gauge(self.kv))
                .with_counter(ServerCounter::Preemptions, if is_end { self.preemptions } else { 0.0 })
                .with_counter(ServerCounter::RequestsFinished, requests)
                .with_counter(ServerCounter::PromptTokens, requests * self.prompt_tokens)
                .with_totals(ServerDistribution::QueueTime, requests * self.queue_s, requests)
                .with_totals(ServerDistribution::PrefillTime, requests * self.prefill_s, requests);
            let page = ServerPage { kind: ServerKind::Vllm, sample };
            series.push(page, at * MS);
        }
        series
    }
}

fn find(evidence: &LoadEvidence, server: &ServerSeries, limit: Option<f64>) -> Option<LatencyFinding> {
    let mut server = server.clone();
    server.running_limit = limit;
    find_latency_cause(evidence, &context(Some(&server), &client()))
}

/// 100 requests in 10 s, TTFT 360 ms, of which 310 in the queue; decode of 32 × 10 ms.
fn queued() -> (LoadEvidence, Server) {
    let server = Server { queue_s: 0.310, prefill_s: 0.040, running: 64.0, waiting: 20.0, ..SERVER };
    (requests(100, 100, 360, 32, 10), server)
}

#[test]
fn a_limit_of_running_requests() {
    let (evidence, server) = queued();
    let finding = find(&evidence, &server.series(11_000), Some(64.0)).unwrap();
    assert_eq!(
        finding.sentence,
        "Requests wait 310 ms of 360 ms TTFT in the server's queue: running requests are at the limit \
         (max_num_seqs 64) while the KV cache is at most 12 % full: raise max_num_seqs."
    );
    let parts = finding.parts;
    assert_eq!((parts.requests, parts.ttft_ns, parts.e2e_ns), (100, 360e6, 680e6));
    let near = |value: f64, truth: f64| (value - truth).abs() < 1.0;
    assert!(near(parts.queue_ns.unwrap(), 310e6) && near(parts.prefill_ns.unwrap(), 40e6));
    assert!(near(parts.front_end_ns.unwrap(), 10e6));
    assert!(!parts.queue_is_estimated);
}

#[test]
fn a_limit_that_is_not_reached_or_not_known_is_not_blamed() {
    let (evidence, server) = queued();
    for limit in [Some(128.0), None] {
        let finding = find(&evidence, &server.series(11_000), limit).unwrap();
        assert!(matches!(finding.cause, LatencyCause::Queue { .. }), "{finding:?}");
        assert_eq!(
            finding.sentence,
            "Requests wait 310 ms of 360 ms TTFT in the server's queue (64.0 requests running on average, KV \
             cache at most 12 % full)."
        );
    }
}

#[test]
fn a_full_kv_cache() {
    let (evidence, server) = queued();
    let full = Server { kv: 0.99, preemptions: 12.0, running: 30.0, ..server };
    let finding = find(&evidence, &full.series(11_000), Some(64.0)).unwrap();
    assert_eq!(
        finding.sentence,
        "The KV cache is full (99 % used at most, 12 preemptions): requests wait 310 ms of 360 ms TTFT in the \
         server's queue."
    );
    // At the limit too, but the cache leaves no room for more.
    let both = Server { kv: 0.99, ..server };
    let finding = find(&evidence, &both.series(11_000), Some(64.0)).unwrap();
    assert!(matches!(finding.cause, LatencyCause::KvCacheFull { .. }), "{finding:?}");
    // Preemptions without a queue.
    let evidence = requests(100, 100, 40, 32, 10);
    let preempted = Server { kv: 0.97, preemptions: 6.0, ..SERVER };
    let finding = find(&evidence, &preempted.series(11_000), None).unwrap();
    assert!(matches!(finding.cause, LatencyCause::KvCacheFull { .. }), "{finding:?}");
    let few = Server { preemptions: 4.0, ..SERVER };
    let finding = find(&evidence, &few.series(11_000), None).unwrap();
    assert!(matches!(finding.cause, LatencyCause::Decode { .. }), "{finding:?}");
}

#[test]
fn prefill_decode_and_the_front_end() {
    let long = Server { prefill_s: 0.800, prompt_tokens: 4000.0, ..SERVER };
    let finding = find(&requests(100, 100, 820, 10, 10), &long.series(11_000), None).unwrap();
    assert_eq!(finding.sentence, "Prefill takes 800 ms of 820 ms TTFT: 4000 prompt tokens per request.");
    let finding = find(&requests(100, 100, 40, 100, 10), &SERVER.series(11_000), None).unwrap();
    assert_eq!(
        finding.sentence,
        "Decode takes 1.00 s of 1.04 s end-to-end, with 5.0 requests running on average."
    );
    let finding = find(&requests(100, 100, 500, 10, 10), &SERVER.series(11_000), None).unwrap();
    assert_eq!(finding.cause, LatencyCause::FrontEnd);
    assert!(
        finding.sentence.starts_with("469 ms of 500 ms TTFT pass outside the engine"),
        "{}",
        finding.sentence
    );
}

/// 40 streams, one every 250 ms, about 4 at a time, which all pause together.
fn stalled(pauses: &[(i64, i64)]) -> LoadEvidence {
    let mut evidence = LoadEvidence::default();
    for number in 0..40 {
        let (mut at, mut chunks) = (number * 250 + 40, Vec::new());
        for _ in 0..100 {
            // Nothing is sent within a pause: what is due comes at its end.
            at = pauses.iter().find(|(from, to)| *from < at && at < *to).map_or(at, |(_, to)| *to);
            chunks.push(at * MS);
            at += 10;
        }
        evidence.add(number * 250 * MS, number * 250 * MS, Some(100), chunks);
    }
    evidence
}

#[test]
fn a_scheduler_that_stands_still() {
    let pauses = [(1000, 2800), (4000, 5800), (7000, 8800)];
    let evidence = stalled(&pauses);
    // Some requests wait for its end in the queue: 0.3 s on average, less than what the stalls cost.
    let server = Server { requests: 40.0, queue_s: 0.300, ..SERVER };
    let finding = find(&evidence, &server.series(13_000), None).unwrap();
    let LatencyCause::Stalls { count, longest_ns, total_ns, with_prefill, per_request_ns } = finding.cause
    else {
        panic!("{finding:?}")
    };
    // To a millisecond at each end.
    assert_eq!((count, with_prefill), (3, 0));
    assert!((1798 * MS..=1800 * MS).contains(&longest_ns), "{longest_ns}");
    assert!((3 * 1798 * MS..=3 * 1800 * MS).contains(&total_ns), "{total_ns}");
    assert!(per_request_ns > 0.3e9, "{per_request_ns}");
    assert!(
        finding.sentence.starts_with(
            "The scheduler stands still: no request got a token for up to 1.80 s, 3 times, while requests were \
             decoding; this costs"
        ),
        "{}",
        finding.sentence
    );
    // Also where the server says nothing of itself.
    let client = client();
    let context = context(None, &client);
    assert!(matches!(
        find_latency_cause(&evidence, &context).unwrap().cause,
        LatencyCause::Stalls { count: 3, .. }
    ));
    // What was done on purpose is none of its own.
    let all: Vec<(i64, i64)> = pauses.iter().map(|(from, to)| (from * MS, to * MS)).collect();
    let excluded = LoadContext { excluded: &all, ..context };
    let finding = find_latency_cause(&evidence, &excluded).unwrap();
    assert!(matches!(finding.cause, LatencyCause::Decode { .. }), "{finding:?}");
}

#[test]
fn without_pauses_there_is_no_stall() {
    let finding = find(&stalled(&[]), &Server { requests: 40.0, ..SERVER }.series(13_000), None).unwrap();
    assert!(matches!(finding.cause, LatencyCause::Decode { .. }), "{finding:?}");
}

#[test]
fn stalls_that_cost_little_beside_the_queue_are_not_the_cause() {
    // 40 requests wait 5 s each; three stalls of 0.3 s.
    let mut evidence = LoadEvidence::default();
    let pauses = [(6000, 6300), (7000, 7300), (8000, 8300)];
    for number in 0..40 {
        let sent = number * 250;
        let is_paused = |at: &i64| !pauses.iter().any(|(from, to)| from < at && at < to);
        let chunks = (0..100).map(|n| sent + 5040 + n * 10).filter(is_paused).map(|at| at * MS);
        evidence.add(sent * MS, sent * MS, None, chunks.collect::<Vec<_>>());
    }
    assert_eq!(evidence.stalls().len(), 3);
    let server = Server { requests: 40.0, queue_s: 5.0, running: 4.0, waiting: 20.0, ..SERVER };
    let finding = find(&evidence, &server.series(17_000), Some(4.0)).unwrap();
    assert!(matches!(finding.cause, LatencyCause::RunningLimit { .. }), "{finding:?}");
}

#[test]
fn prefills_that_block_decode() {
    let mut evidence = LoadEvidence::default();
    let chunks = (0..1000).map(|n| 40 + n * 10).filter(|at| !(1000 < *at && *at < 2800)).map(|at| at * MS);
    evidence.add(0, 0, Some(100), chunks.collect::<Vec<_>>());
    evidence.add(990 * MS, 990 * MS, Some(8_000), (0..50).map(|n| (2800 + n * 10) * MS).collect::<Vec<_>>());
    let server = Server { requests: 2.0, prefill_s: 0.9, ..SERVER };
    let finding = find(&evidence, &server.series(11_000), None).unwrap();
    assert!(matches!(finding.cause, LatencyCause::Stalls { count: 1, with_prefill: 1, .. }), "{finding:?}");
    assert!(
        finding.sentence.starts_with("Long prefills block decode: no request got a token for 1.80 s, once")
    );
}

#[test]
fn the_client_comes_first() {
    let (evidence, server) = queued();
    let client = ClientHealth { valid: false, reasons: vec!["sent 20 ms late".to_owned()], ..client() };
    let series = server.series(11_000);
    let context = context(Some(&series), &client);
    let finding = find_latency_cause(&evidence, &context).unwrap();
    assert_eq!(
        finding.sentence,
        "The client was the bottleneck (sent 20 ms late): these latencies are not the server's."
    );
    let mut capped = LoadEvidence::default();
    for number in 0..10 {
        let sent = (1000 + number * 100) * MS;
        capped.add(sent - 900 * MS, sent, None, [sent + 20 * MS, sent + 100 * MS]);
    }
    let finding = find(&capped, &Server { requests: 10.0, ..SERVER }.series(3_000), None).unwrap();
    assert_eq!(
        finding.sentence,
        "Requests wait 900 ms of 1.00 s end-to-end in the client, because the cap on concurrency is reached."
    );
}

#[test]
fn an_overload_is_told() {
    let (evidence, server) = queued();
    let mut series = server.series(11_000);
    series.running_limit = Some(64.0);
    let client = client();
    let known = context(Some(&series), &client);
    let context = LoadContext { offered_per_s: Some(20.0), ..known };
    let sentence = find_latency_cause(&evidence, &context).unwrap().sentence;
    // 100 requests in 99 × 0.1 + 0.68 s.
    assert!(
        sentence.ends_with("raise max_num_seqs; 20.0 requests/s were offered, 9.5 served."),
        "{sentence}"
    );
}

#[test]
fn the_queue_of_a_server_without_queue_times_is_of_littles_law() {
    // 100 requests; 4 in the queue at each of 99 pages, a tenth of a second each: 39.6 s, or 396 ms each.
    let evidence = requests(100, 90, 420, 10, 10);
    let mut series = ServerSeries::default();
    for at in 0..=100 {
        let waiting = if at == 0 || at == 100 { 0.0 } else { 4.0 };
        let sample = ServerSample::default()
            .with_gauge(ServerGauge::Waiting, waiting)
            .with_gauge(ServerGauge::Running, 4.0)
            .with_counter(ServerCounter::GeneratedTokens, 1.0);
        let page = ServerPage { kind: ServerKind::LlamaCpp, sample };
        series.push(page, at * 100 * MS);
    }
    let finding = find(&evidence, &series, Some(4.0)).unwrap();
    assert!(finding.parts.queue_is_estimated);
    assert!((finding.parts.queue_ns.unwrap() - 396e6).abs() < 1.0, "{:?}", finding.parts);
    assert_eq!(
        finding.sentence,
        "Requests wait about 396 ms of 420 ms TTFT in the server's queue: running requests are at the limit \
         (parallel 4): raise parallel."
    );
}

#[test]
fn nothing_is_said_where_nothing_is_clear() {
    assert_eq!(find(&LoadEvidence::default(), &SERVER.series(1_000), None), None);
    // Half queue and half prefill would be either; a third each is neither.
    let even = Server { queue_s: 0.100, prefill_s: 0.100, ..SERVER };
    assert_eq!(find(&requests(100, 100, 300, 20, 10), &even.series(11_000), None), None);
    // The server served three times as many requests: its means are not of ours.
    let (evidence, server) = queued();
    let shared = Server { requests: 300.0, ..server };
    assert_eq!(find(&evidence, &shared.series(11_000), Some(64.0)), None);
}
