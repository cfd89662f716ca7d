//! guidellm: one document with a list of benchmarks, one per rate, each with its requests.

use serde_json::Value as Json;

use super::json::{list, nanoseconds, number, text, whole};
use super::rows::{BenchClient, BenchResult, Caveat, ClientRequest, StatedLoad};

const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;

pub(super) fn is_report(document: &Json) -> bool {
    let is_named = document.pointer("/metadata/guidellm_version").is_some();
    let has_metrics = |one: &Json| one.pointer("/metrics/time_to_first_token_ms").is_some();
    is_named || list(document, "benchmarks").first().is_some_and(has_metrics)
}

pub(super) fn report(document: &Json) -> Vec<BenchResult> {
    list(document, "benchmarks").iter().filter(|one| one["metrics"].is_object()).map(benchmark).collect()
}

fn benchmark(of: &Json) -> BenchResult {
    let mut result = BenchResult::new(BenchClient::Guidellm);
    let model = of.pointer("/config/backend/model").and_then(Json::as_str);
    result.model = model.map(str::to_owned);
    let strategy = &of["config"]["strategy"];
    // The limit of a rate is that of its workers, not one that was asked for.
    let rate = number(strategy, "rate");
    let streams = whole(strategy, "streams").or_else(|| whole(strategy, "max_concurrency"));
    result.load = StatedLoad { rate, max_concurrency: streams.filter(|_| rate.is_none()) };
    result.stated_requests = whole(&of["metrics"]["request_totals"], "total");
    state(&mut result, &of["metrics"]);
    let groups = [("successful", false), ("errored", false), ("incomplete", true)];
    let requests = groups.iter().flat_map(|(group, is_cancelled)| {
        list(&of["requests"], group).iter().filter_map(|one| request(one, *group == "errored", *is_cancelled))
    });
    let requests: Vec<ClientRequest> = requests.collect();
    let due = |one: &ClientRequest| one.scheduled_ns.unwrap_or(one.sent_ns).min(one.sent_ns);
    result.base_unix_ns = requests.iter().map(due).min();
    result.duration_ns = nanoseconds(number(of, "duration"), NS_PER_S);
    result.take(requests);
    for warning in list(of, "warnings").iter().filter_map(|warning| text(warning, "message")) {
        result.caveats.push(Caveat::new("own_warning", format!("guidellm itself warns: {warning}")));
    }
    result
}

fn state(result: &mut BenchResult, metrics: &Json) {
    // What guidellm calls inter-token latency is one mean per request: TPOT. Its time per output token has the time to
    // the first token in it, so it is none of ours.
    let times = [
        (["ttft_p50_ns", "ttft_p99_ns"], "time_to_first_token_ms", NS_PER_MS),
        (["ttfo_p50_ns", "ttfo_p99_ns"], "time_to_first_output_token_ms", NS_PER_MS),
        (["tpot_p50_ns", "tpot_p99_ns"], "inter_token_latency_ms", NS_PER_MS),
        (["latency_p50_ns", "latency_p99_ns"], "request_scheduled_latency", NS_PER_S),
        (["service_time_p50_ns", "service_time_p99_ns"], "request_latency", NS_PER_S),
    ];
    for (keys, theirs, factor) in times {
        let percentiles = &metrics[theirs]["successful"]["percentiles"];
        for (key, percentile) in keys.into_iter().zip(["p50", "p99"]) {
            result.state(key, number(percentiles, percentile), factor);
        }
    }
    let rates = [
        ("requests_per_s", "requests_per_second"),
        ("output_tokens_per_s", "output_tokens_per_second"),
        ("total_tokens_per_s", "tokens_per_second"),
    ];
    for (key, theirs) in rates {
        result.state(key, number(&metrics[theirs]["successful"], "mean"), 1.0);
    }
    let totals = &metrics["request_totals"];
    let counted = number(totals, "errored").zip(number(totals, "successful"));
    let share =
        counted.filter(|(failed, done)| failed + done > 0.0).map(|(failed, done)| failed / (failed + done));
    result.state("error_rate", share, 1.0);
}

fn request(of: &Json, is_failed: bool, is_cancelled: bool) -> Option<ClientRequest> {
    let timings = &of["info"]["timings"];
    let sent = number(of, "request_start_time").or_else(|| number(timings, "request_start"));
    let sent_ns = nanoseconds(sent, NS_PER_S)?;
    let delay_ns = nanoseconds(number(of, "request_dispatch_delay"), NS_PER_S).filter(|delay| *delay >= 0);
    let error = text(&of["info"], "error").unwrap_or("the file does not say why");
    Some(ClientRequest {
        external_id: text(of, "response_id").or(text(of, "request_id")).map(str::to_owned),
        session: text(&of["info"], "conversation_id").map(str::to_owned),
        turn: whole(&of["info"], "turn_index"),
        scheduled_ns: delay_ns.map(|delay| sent_ns.saturating_sub(delay)),
        sent_ns,
        ttft_ns: nanoseconds(number(of, "time_to_first_token_ms"), NS_PER_MS),
        latency_ns: nanoseconds(number(of, "request_latency"), NS_PER_S),
        prompt_tokens: whole(of, "prompt_tokens"),
        output_tokens: whole(of, "output_tokens"),
        is_cancelled,
        error: is_failed.then(|| error.to_owned()),
        ..ClientRequest::default()
    })
}
