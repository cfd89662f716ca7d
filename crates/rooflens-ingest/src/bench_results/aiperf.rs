//! AIPerf: `profile_export.jsonl`, one line per request, and `profile_export_aiperf.json`, the summary.

use serde_json::Value as Json;

use super::json::{list, moment, nanoseconds, number, text, whole};
use super::rows::{BenchClient, BenchResult, ClientRequest, StatedLoad};

pub(super) fn is_record(document: &Json) -> bool {
    document.get("metrics").is_some_and(Json::is_object)
        && document.pointer("/metadata/request_start_ns").is_some()
}

pub(super) fn is_summary(document: &Json) -> bool {
    document.get("aiperf_version").is_some()
        && document.get("request_throughput").and_then(|metric| metric.get("unit")).is_some()
}

pub(super) fn records(lines: &[&Json]) -> BenchResult {
    let mut result = BenchResult::new(BenchClient::Aiperf);
    let starts =
        lines.iter().filter_map(|line| whole(&line["metadata"], "credit_issued_ns").or_else(|| sent(line)));
    result.base_unix_ns = starts.min();
    result.take(lines.iter().filter_map(|line| request(line)).collect());
    result
}

fn sent(line: &Json) -> Option<i64> {
    whole(&line["metadata"], "request_start_ns")
}

fn request(line: &Json) -> Option<ClientRequest> {
    let (about, metrics) = (&line["metadata"], &line["metrics"]);
    let sent_ns = sent(line)?;
    let time = |key: &str| {
        nanoseconds(number(&metrics[key], "value"), per_unit(&metrics[key])).filter(|ns| *ns >= 0)
    };
    let count = |key: &str| whole(&metrics[key], "value");
    let gaps = &metrics["inter_chunk_latency"];
    let error = line.get("error").filter(|error| !error.is_null());
    let message = |error: &Json| text(error, "message").map_or_else(|| error.to_string(), str::to_owned);
    Some(ClientRequest {
        external_id: text(about, "x_request_id").map(str::to_owned),
        session: text(about, "conversation_id").map(str::to_owned),
        turn: whole(about, "turn_index"),
        is_warmup: text(about, "benchmark_phase").is_some_and(|phase| phase != "profiling"),
        scheduled_ns: whole(about, "credit_issued_ns").filter(|issued| *issued <= sent_ns),
        sent_ns,
        first_byte_ns: whole(about, "request_ack_ns"),
        ttft_ns: time("time_to_first_token"),
        gaps_ns: list(gaps, "value")
            .iter()
            .filter_map(|gap| nanoseconds(gap.as_f64(), per_unit(gaps)))
            .collect(),
        latency_ns: time("request_latency"),
        end_ns: whole(about, "request_end_ns"),
        // The server's own count first.
        prompt_tokens: count("usage_prompt_tokens").or_else(|| count("input_sequence_length")),
        output_tokens: count("usage_completion_tokens").or_else(|| count("output_sequence_length")),
        is_cancelled: about["was_cancelled"].as_bool().unwrap_or(false),
        error: error.map(message),
        error_kind: error.and_then(|error| text(error, "type")).map(str::to_owned),
    })
}

fn per_unit(metric: &Json) -> f64 {
    match text(metric, "unit") {
        Some("ns") => 1.0,
        Some("us" | "µs") => 1e3,
        Some("s" | "sec" | "seconds") => 1e9,
        _ => 1e6,
    }
}

pub(super) fn summary(document: &Json) -> BenchResult {
    let mut result = BenchResult::new(BenchClient::Aiperf);
    result.model =
        document.pointer("/input_config/models/items/0/name").and_then(Json::as_str).map(str::to_owned);
    let phases =
        document.pointer("/input_config/phases").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let measured = phases.iter().find(|phase| text(phase, "kind") == Some("profiling"));
    result.load = StatedLoad {
        rate: measured.and_then(|phase| number(phase, "rate")),
        max_concurrency: measured.and_then(|phase| whole(phase, "concurrency")),
    };
    result.base_unix_ns = text(document, "start_time").and_then(moment);
    let duration = &document["benchmark_duration"];
    result.duration_ns = nanoseconds(number(duration, "avg"), per_unit(duration));
    let count = |key: &str| document.get(key).and_then(|metric| whole(metric, "avg"));
    let failed = count("error_request_count").unwrap_or(0);
    result.stated_requests = count("request_count").map(|completed| completed.saturating_add(failed));
    // What AIPerf calls inter-token latency is one mean per request: TPOT.
    let times = [
        (["ttft_p50_ns", "ttft_p99_ns"], "time_to_first_token"),
        (["ttfo_p50_ns", "ttfo_p99_ns"], "time_to_first_output_token"),
        (["tpot_p50_ns", "tpot_p99_ns"], "inter_token_latency"),
        (["itl_p50_ns", "itl_p99_ns"], "inter_chunk_latency"),
        (["latency_p50_ns", "latency_p99_ns"], "request_latency"),
    ];
    for (keys, theirs) in times {
        let metric = &document[theirs];
        for (key, percentile) in keys.into_iter().zip(["p50", "p99"]) {
            result.state(key, number(metric, percentile), per_unit(metric));
        }
    }
    let rates = [
        ("output_tokens_per_s", "output_token_throughput"),
        ("total_tokens_per_s", "total_token_throughput"),
        ("requests_per_s", "request_throughput"),
    ];
    for (key, theirs) in rates {
        result.state(key, number(&document[theirs], "avg"), 1.0);
    }
    result.state(
        "output_tokens_per_s_per_user",
        number(&document["output_token_throughput_per_user"], "p50"),
        1.0,
    );
    let all = result.stated_requests.filter(|all| *all > 0);
    result.state("error_rate", all.map(|all| failed as f64 / all as f64), 1.0);
    result
}
