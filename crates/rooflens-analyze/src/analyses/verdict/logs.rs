//! What an input without a timeline tells.

use crate::analyses::{CommCalls, EngineLayers, Gemms, Inferences, ServerMetrics};
use crate::finding::Findings;
use crate::sentence::{amount, code, things, time, whole_percent};

/// The sentence for it; `None` where there is no such input.
pub(super) fn sentence(earlier: &Findings) -> Option<String> {
    let gemms = || of_gemms(earlier.get::<Gemms>()?);
    let calls = || earlier.get::<CommCalls>().map(of_calls);
    let engine = || of_engine(earlier.get::<EngineLayers>(), earlier.get::<Inferences>());
    let metrics = || earlier.get::<ServerMetrics>().map(of_metrics);
    gemms().or_else(calls).or_else(engine).or_else(metrics)
}

fn of_calls(calls: &CommCalls) -> String {
    let count = things(calls.calls as i64, "collective", "collectives");
    let bytes = amount(calls.bytes as f64, "B");
    let Some(total_ns) = calls.total_ns else {
        return format!("A log without times or device activity: {count}, messages of {bytes}.");
    };
    let most = calls.sizes.first().map_or(String::new(), |size| {
        let bytes = size.bytes.map_or(String::new(), |bytes| format!(" of {}", amount(bytes as f64, "B")));
        let rate = size.bus_gb_per_s.map_or(String::new(), |rate| format!(" at {rate:.1} GB/s over the bus"));
        format!("; most in {}{bytes}{rate}", size.collective)
    });
    format!("No timeline, but timed calls: {count}, messages of {bytes} in {}{most}.", time(total_ns as f64))
}

fn of_metrics(metrics: &ServerMetrics) -> String {
    let device = || {
        let devices = things(metrics.devices.len() as i64, "device", "devices");
        let power: Vec<f64> =
            metrics.devices.iter().filter_map(|device| Some(device.values.get("power_w")?.mean)).collect();
        let power = if power.is_empty() {
            String::new()
        } else {
            format!(
                " at {}{}",
                amount(power.iter().sum::<f64>() / power.len() as f64, "W"),
                if power.len() > 1 { " each" } else { "" }
            )
        };
        format!("Metrics without a timeline: {devices}{power}.")
    };
    let Some(model) = metrics.models.first() else { return device() };
    let (Some(requests), Some(request_ns)) = (model.requests, model.request_ns) else { return device() };
    let queue = model
        .queue_share
        .map_or(String::new(), |share| format!(", {} of it in the queue", whole_percent(share)));
    let count = things(requests as i64, "request", "requests");
    format!(
        "Metrics without a timeline: {count} of {}, {} each{queue}.",
        code(&model.model),
        time(request_ns)
    )
}

fn of_engine(layers: Option<&EngineLayers>, runs: Option<&Inferences>) -> Option<String> {
    let runs = runs.map(|runs| {
        let rate = runs.runs_per_s.map_or(String::new(), |rate| format!(", {rate:.1} per second"));
        let (p50, p99) = (time(runs.latency.p50_ns as f64), time(runs.latency.p99_ns as f64));
        format!("a run of the engine takes {p50} (median), {p99} (99th percentile){rate}")
    });
    let layers = layers.and_then(|layers| layers.layers.first()).and_then(|first| {
        Some(format!("{} takes {} of the layers' time", code(&first.name), whole_percent(first.share?)))
    });
    let known: Vec<String> = runs.into_iter().chain(layers).collect();
    (!known.is_empty()).then(|| format!("No timeline: {}.", known.join("; ")))
}

fn of_gemms(gemms: &Gemms) -> Option<String> {
    let first = gemms.shapes.first()?;
    let operations = gemms.flops.map_or(String::new(), |flops| format!(", {}", amount(flops as f64, "FLOP")));
    let share = first.flops_share.map_or(String::new(), |share| {
        format!("; {} of it in {}×{}×{}", whole_percent(share), first.m, first.n, first.k)
    });
    Some(format!(
        "A log without times or device activity: {} of {}{operations}{share}.",
        things(gemms.calls as i64, "GEMM", "GEMMs"),
        things(gemms.shapes.len() as i64, "shape", "shapes"),
    ))
}
