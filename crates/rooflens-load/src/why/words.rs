//! A cause as a sentence.

use super::{LatencyCause, MeanLatency};
use crate::scrape::ServerKind;

/// Served below this share of what was offered: overload.
const MIN_SERVED_SHARE: f64 = 0.95;

pub(super) fn sentence(
    cause: &LatencyCause,
    parts: &MeanLatency,
    kind: Option<ServerKind>,
    offered_per_s: Option<f64>,
) -> String {
    let server = kind.map_or("the server", ServerKind::title);
    let mut text = match cause {
        LatencyCause::Client { reasons } if reasons.is_empty() => {
            "The client was the bottleneck: these latencies are not the server's".to_owned()
        }
        LatencyCause::Client { reasons } => {
            format!(
                "The client was the bottleneck ({}): these latencies are not the server's",
                reasons.join("; ")
            )
        }
        LatencyCause::ConcurrencyCap { wait_ns } => format!(
            "Requests wait {} of {} end-to-end in the client, because the cap on concurrency is reached",
            time(*wait_ns),
            time(wait_ns + parts.e2e_ns)
        ),
        LatencyCause::Stalls { count, longest_ns, per_request_ns, with_prefill, .. } => {
            stalls(*count, *longest_ns as f64, *per_request_ns, *with_prefill, parts)
        }
        LatencyCause::KvCacheFull { preemptions, usage_max } => kv_cache(*preemptions, *usage_max, parts),
        LatencyCause::RunningLimit { limit, flag, kv_cache_usage_max } => {
            running_limit(*limit, flag.as_deref(), *kv_cache_usage_max, parts)
        }
        LatencyCause::Queue { running_mean, kv_cache_usage_max } => {
            let mut facts = Vec::new();
            facts.extend(running_mean.map(|running| format!("{running:.1} requests running on average")));
            facts.extend(kv_cache_usage_max.map(|usage| format!("KV cache at most {} full", share(usage))));
            let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join(", ")) };
            format!("{}{facts}", queued(parts))
        }
        LatencyCause::Prefill { prompt_tokens, prefix_hit_rate } => {
            let mut facts = Vec::new();
            facts.extend(prompt_tokens.map(|tokens| format!("{tokens:.0} prompt tokens per request")));
            facts.extend(prefix_hit_rate.map(|rate| format!("{} from the prefix cache", share(rate))));
            let facts = if facts.is_empty() { String::new() } else { format!(": {}", facts.join(", ")) };
            let prefill = time(parts.prefill_ns.unwrap_or_default());
            format!("Prefill takes {prefill} of {} TTFT{facts}", time(parts.ttft_ns))
        }
        LatencyCause::Decode { running_mean } => {
            let batch =
                running_mean.map(|running| format!(", with {running:.1} requests running on average"));
            format!(
                "Decode takes {} of {} end-to-end{}",
                time(parts.decode_ns),
                time(parts.e2e_ns),
                batch.unwrap_or_default()
            )
        }
        LatencyCause::FrontEnd => format!(
            "{} of {} TTFT pass outside the engine: in the HTTP front end of {server}, tokenization or the network",
            time(parts.front_end_ns.unwrap_or_default()),
            time(parts.ttft_ns)
        ),
    };
    let served = parts
        .requests_per_s
        .zip(offered_per_s)
        .filter(|(served, offered)| *served < MIN_SERVED_SHARE * offered);
    if let Some((served, offered)) = served {
        text.push_str(&format!("; {offered:.1} requests/s were offered, {served:.1} served"));
    }
    text.push('.');
    text
}

fn queued(parts: &MeanLatency) -> String {
    let about = if parts.queue_is_estimated { "about " } else { "" };
    let (queue, ttft) = (time(parts.queue_ns.unwrap_or_default()), time(parts.ttft_ns));
    format!("Requests wait {about}{queue} of {ttft} TTFT in the server's queue")
}

fn stalls(
    count: usize,
    longest_ns: f64,
    per_request_ns: f64,
    with_prefill: usize,
    parts: &MeanLatency,
) -> String {
    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let up_to = if count == 1 { "for" } else { "for up to" };
    let what =
        format!("no request got a token {up_to} {}, {times}, while requests were decoding", time(longest_ns));
    let cost = format!("this costs {} of {} end-to-end", time(per_request_ns), time(parts.e2e_ns));
    if with_prefill * 2 > count {
        format!("Long prefills block decode: {what}, and then another request got its first; {cost}")
    } else {
        format!("The scheduler stands still: {what}; {cost}")
    }
}

fn kv_cache(preemptions: Option<f64>, usage_max: Option<f64>, parts: &MeanLatency) -> String {
    let mut facts = Vec::new();
    facts.extend(usage_max.map(|usage| format!("{} used at most", share(usage))));
    facts.extend(preemptions.map(|count| format!("{count:.0} preemptions")));
    format!("The KV cache is full ({}): {}", facts.join(", "), lower(&queued(parts)))
}

fn running_limit(limit: f64, flag: Option<&str>, usage: Option<f64>, parts: &MeanLatency) -> String {
    let name = flag.map_or(String::new(), |flag| format!("{flag} "));
    let usage = usage.map(|usage| format!(" while the KV cache is at most {} full", share(usage)));
    let advice = flag.map(|flag| format!(": raise {flag}"));
    format!(
        "{}: running requests are at the limit ({name}{limit:.0}){}{}",
        queued(parts),
        usage.unwrap_or_default(),
        advice.unwrap_or_default()
    )
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns >= 1e9 => (ns / 1e9, "s"),
        ns if ns >= 1e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e3, "µs"),
    };
    match value {
        value if value >= 99.95 => format!("{value:.0} {unit}"),
        value if value >= 9.995 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

fn share(value: f64) -> String {
    let percent = value * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
