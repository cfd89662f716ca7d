//! `vllm bench serve --save-result --save-detailed` and SGLang's `--output-details`: a flat object with lists, one entry
//! per request, in seconds. SGLang grew out of the same script and writes one object per line.

use serde_json::Value as Json;

use super::json::{list, moment, nanoseconds, number, text, whole};
use super::rows::{BenchClient, BenchResult, ClientRequest, StatedLoad};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

pub(super) fn client_of(document: &Json) -> Option<BenchClient> {
    let has = |key: &str| document.get(key).is_some();
    let is_serving =
        number(document, "request_throughput").is_some() && has("total_output_tokens") && has("completed");
    if !is_serving {
        return None;
    }
    if has("total_output_tokens_retokenized") || has("sharegpt_output_len") {
        return Some(BenchClient::Sglang);
    }
    // The Python client writes 20261115-221231, the Rust one 2026-11-15T22:11:08Z.
    let is_rust = has("steady_state") || text(document, "date").is_some_and(|date| date.contains('T'));
    let is_vllm = has("tokenizer_id") || has("model_id");
    is_vllm.then_some(if is_rust { BenchClient::VllmRust } else { BenchClient::VllmPython })
}

pub(super) fn result(document: &Json, client: BenchClient) -> BenchResult {
    let mut result = BenchResult::new(client);
    result.model = text(document, "model_id").or(text(document, "model")).map(str::to_owned);
    result.load = StatedLoad {
        // As fast as possible is "inf", which is no number.
        rate: number(document, "request_rate").filter(|rate| *rate > 0.0 && *rate < 1e9),
        max_concurrency: whole(document, "max_concurrency").filter(|most| *most > 0),
    };
    let failed = whole(document, "failed");
    result.stated_requests =
        whole(document, "completed").map(|completed| completed.saturating_add(failed.unwrap_or(0)));
    state(&mut result, document);
    result.duration_ns = nanoseconds(number(document, "duration"), NS_PER_S);
    // The date is that of the end.
    let end = text(document, "date").and_then(moment);
    result.base_unix_ns = end.map(|end| end.saturating_sub(result.duration_ns.unwrap_or(0)));
    let starts = list(document, "start_times");
    let count = list(document, "ttfts").len();
    result.has_send_times = count == 0 || starts.len() >= count;
    let mut requests: Vec<ClientRequest> = (0..count).map(|at| request(document, at)).collect();
    if result.load.rate.is_none() {
        // Without a rate all are due at once, and wait for the users before them.
        requests.iter_mut().for_each(|request| request.scheduled_ns = None);
    }
    result.take(requests);
    result
}

fn state(result: &mut BenchResult, document: &Json) {
    let times = [
        ("ttft_p50_ns", "median_ttft_ms"),
        ("ttft_p99_ns", "p99_ttft_ms"),
        ("tpot_p50_ns", "median_tpot_ms"),
        ("tpot_p99_ns", "p99_tpot_ms"),
        ("itl_p50_ns", "median_itl_ms"),
        ("itl_p99_ns", "p99_itl_ms"),
        ("latency_p50_ns", "median_e2el_ms"),
        ("latency_p99_ns", "p99_e2el_ms"),
        ("latency_p50_ns", "median_e2e_latency_ms"),
        ("latency_p99_ns", "p99_e2e_latency_ms"),
    ];
    for (key, theirs) in times {
        result.state(key, number(document, theirs), NS_PER_MS);
    }
    let rates = [
        ("output_tokens_per_s", "output_throughput"),
        ("requests_per_s", "request_throughput"),
        ("input_tokens_per_s", "input_throughput"),
        ("total_tokens_per_s", "total_token_throughput"),
        ("total_tokens_per_s", "total_throughput"),
    ];
    for (key, theirs) in rates {
        result.state(key, number(document, theirs), 1.0);
    }
    let failed = number(document, "failed");
    let all = result.stated_requests.filter(|all| *all > 0);
    result.state("error_rate", failed.zip(all).map(|(failed, all)| failed / all as f64), 1.0);
}

fn request(document: &Json, at: usize) -> ClientRequest {
    let of = |key: &str| list(document, key).get(at);
    let seconds = |key: &str| nanoseconds(of(key).and_then(Json::as_f64), NS_PER_S);
    let sent_ns = seconds("start_times").unwrap_or(0);
    let gaps = of("itls").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let error = of("errors").and_then(Json::as_str).filter(|error| !error.is_empty());
    ClientRequest {
        // Time under the limit of concurrency, which TTFT does not have.
        scheduled_ns: seconds("queue_times")
            .filter(|wait| *wait >= 0)
            .map(|wait| sent_ns.saturating_sub(wait)),
        sent_ns,
        ttft_ns: seconds("ttfts").filter(|ns| *ns >= 0),
        gaps_ns: gaps.iter().filter_map(|gap| nanoseconds(gap.as_f64(), NS_PER_S)).collect(),
        latency_ns: seconds("latencies").filter(|ns| *ns >= 0),
        prompt_tokens: of("input_lens").and_then(Json::as_i64),
        output_tokens: of("output_lens").and_then(Json::as_i64),
        error: error.map(str::to_owned),
        ..ClientRequest::default()
    }
}
