//! The headline metrics of a run: one definition each, wherever they are shown.
//!
//! `metrics.json`, a sweep, `compare`, `trend` and the pages take keys, titles, definitions and formulas from here.
//! A value is computed over all measured requests together. Rounds are what repeats, so [`MetricSample`] keeps them apart:
//! how sure a difference between two runs is follows from the rounds, its size from the values.

mod rates;
mod request;
mod sample;
#[cfg(test)]
mod tests;
mod times;
mod unit;

use std::borrow::Cow;

use self::rates::{Amount, COMPLETED, INPUT_TOKENS, OUTPUT_TOKENS, TOTAL_TOKENS};

pub use request::{MEASURED, MeasuredRequest, measured_requests};
pub use sample::MetricSample;
pub use times::{
    ITL, LATENCY, LOAD_TIMES, QUEUE, RequestTimes, SERVICE_TIME, SERVICE_TTFT, TIMES, TPOT, TTFO, TTFT,
};
pub use unit::MetricUnit;

/// How a metric is computed.
#[derive(Clone, Copy)]
enum Formula {
    /// A percentile of times, over all measured requests.
    Percentile(&'static RequestTimes, f64),
    /// A percentile of 1 / TPOT, over all measured requests of a load test.
    Interactivity(f64),
    /// An amount / time from the first prompt given to the last token, both summed over rounds.
    Rate(&'static Amount),
    /// Requests that failed / all requests of a load test.
    ErrorRate,
}

/// A headline metric.
pub struct HeadlineMetric {
    /// Name for programs, with the unit.
    pub key: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// What it is.
    pub definition: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Where it is in `metrics.json`.
    pub path: &'static str,
    formula: Formula,
}

const fn percentile(
    times: &'static RequestTimes,
    share: f64,
    [key, title, path, definition]: [&'static str; 4],
) -> HeadlineMetric {
    let formula = Formula::Percentile(times, share);
    HeadlineMetric { key, title, definition, more_is_better: false, path, formula }
}

const fn rate(amount: &'static Amount, [key, title, path, definition]: [&'static str; 4]) -> HeadlineMetric {
    HeadlineMetric { key, title, definition, more_is_better: true, path, formula: Formula::Rate(amount) }
}

/// All of them, the most telling first.
#[rustfmt::skip] // One metric per line.
pub const ALL: &[HeadlineMetric] = &[
    percentile(&TPOT, 0.5, ["tpot_p50_ns", "TPOT p50", "/measured/tpot_ns/p50", "Time per output token after the first: median over requests."]),
    percentile(&TTFT, 0.5, ["ttft_p50_ns", "TTFT p50", "/measured/ttft_ns/p50", "Time from submitting a prompt to its first token: median over requests."]),
    percentile(&LATENCY, 0.5, ["latency_p50_ns", "latency p50", "/measured/latency_ns/p50", "Time from submitting a prompt to its last token: median over requests."]),
    percentile(&ITL, 0.5, ["itl_p50_ns", "ITL p50", "/measured/itl_ns/p50", "Time from one token to the next of the same request: median over tokens."]),
    percentile(&TPOT, 0.99, ["tpot_p99_ns", "TPOT p99", "/measured/tpot_ns/p99", "Time per output token after the first: 99th percentile over requests."]),
    percentile(&TTFT, 0.99, ["ttft_p99_ns", "TTFT p99", "/measured/ttft_ns/p99", "Time from submitting a prompt to its first token: 99th percentile over requests."]),
    percentile(&LATENCY, 0.99, ["latency_p99_ns", "latency p99", "/measured/latency_ns/p99", "Time from submitting a prompt to its last token: 99th percentile over requests."]),
    percentile(&ITL, 0.99, ["itl_p99_ns", "ITL p99", "/measured/itl_ns/p99", "Time from one token to the next of the same request: 99th percentile over tokens."]),
    percentile(&QUEUE, 0.5, ["queued_p50_ns", "queue p50", "/measured/queued_ns/p50", "Time from submitting a prompt to its first step, if the runtime queues requests (vLLM): median over requests."]),
    percentile(&QUEUE, 0.99, ["queued_p99_ns", "queue p99", "/measured/queued_ns/p99", "Time from submitting a prompt to its first step, if the runtime queues requests (vLLM): 99th percentile over requests."]),
    HeadlineMetric {
        key: "output_tokens_per_s", title: "tokens/s", more_is_better: true, path: "/measured/output_tokens_per_s",
        definition: "Output tokens per second: tokens of all requests / time from submitting the first \
                     prompt to the last token, summed over rounds.",
        formula: Formula::Rate(&OUTPUT_TOKENS),
    },
    percentile(&TTFO, 0.5, ["ttfo_p50_ns", "TTFO p50", "/measured/ttfo_ns/p50", "Time from submitting a prompt to its first token that is not reasoning, in a load test: median over requests."]),
    percentile(&TTFO, 0.99, ["ttfo_p99_ns", "TTFO p99", "/measured/ttfo_ns/p99", "Time from submitting a prompt to its first token that is not reasoning, in a load test: 99th percentile over requests."]),
    percentile(&SERVICE_TTFT, 0.5, ["service_ttft_p50_ns", "service TTFT p50", "/measured/service_ttft_ns/p50", "Time from sending a scheduled request to its first token, without its wait in the client: median over requests."]),
    percentile(&SERVICE_TTFT, 0.99, ["service_ttft_p99_ns", "service TTFT p99", "/measured/service_ttft_ns/p99", "Time from sending a scheduled request to its first token, without its wait in the client: 99th percentile over requests."]),
    percentile(&SERVICE_TIME, 0.5, ["service_time_p50_ns", "service time p50", "/measured/service_time_ns/p50", "Time from sending a scheduled request to its last token, without its wait in the client: median over requests."]),
    percentile(&SERVICE_TIME, 0.99, ["service_time_p99_ns", "service time p99", "/measured/service_time_ns/p99", "Time from sending a scheduled request to its last token, without its wait in the client: 99th percentile over requests."]),
    HeadlineMetric {
        key: "output_tokens_per_s_per_user", title: "tokens/s per user", more_is_better: true, path: "/measured/output_tokens_per_s_per_user",
        definition: "Output tokens per second that a user sees once the answer has begun (interactivity), in a load \
                     test: 1 / TPOT, median over requests.",
        formula: Formula::Interactivity(0.5),
    },
    rate(&INPUT_TOKENS, ["input_tokens_per_s", "input tokens/s", "/measured/input_tokens_per_s", "Prompt tokens of completed requests per second of a load test."]),
    rate(&TOTAL_TOKENS, ["total_tokens_per_s", "total tokens/s", "/measured/total_tokens_per_s", "Prompt and output tokens of completed requests per second of a load test."]),
    rate(&COMPLETED, ["requests_per_s", "requests/s", "/measured/requests_per_s", "Completed requests per second of a load test."]),
    HeadlineMetric {
        key: "error_rate", title: "error rate", more_is_better: false, path: "/measured/error_rate",
        definition: "Fraction of the requests of a load test that failed or timed out.",
        formula: Formula::ErrorRate,
    },
];

impl HeadlineMetric {
    /// Its name without the unit.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.key.strip_suffix("_ns").unwrap_or(self.key)
    }

    /// What it is measured in.
    #[must_use]
    pub(crate) fn unit(&self) -> MetricUnit {
        match self.formula {
            Formula::Percentile(..) => MetricUnit::Time,
            Formula::Rate(amount) => MetricUnit::Rate(amount.per_second),
            Formula::Interactivity(_) => MetricUnit::Rate("tokens/s"),
            Formula::ErrorRate => MetricUnit::Share,
        }
    }

    /// Whether it is a time, in nanoseconds.
    #[must_use]
    pub fn is_time(&self) -> bool {
        self.unit() == MetricUnit::Time
    }

    /// Whether it is an amount per second.
    #[must_use]
    pub fn is_rate(&self) -> bool {
        matches!(self.formula, Formula::Rate(_))
    }

    /// What measured requests tell of it; `None` where they tell nothing.
    #[must_use]
    pub fn of(&self, requests: &[MeasuredRequest<'_>]) -> Option<MetricSample> {
        let rounds = by_round(requests);
        match self.formula {
            Formula::Percentile(times, share) => {
                let of_round = |round: &Vec<&MeasuredRequest<'_>>| {
                    round.iter().flat_map(|one| (times.of)(one)).collect()
                };
                MetricSample::percentile(share, rounds.iter().map(of_round).collect())
            }
            Formula::Interactivity(share) => {
                let of_request = |request: &&MeasuredRequest<'_>| {
                    let tpot = (TPOT.of)(request).first().copied().filter(|tpot| *tpot > 0.0);
                    tpot.filter(|_| request.is_load_test).map(|tpot| 1e9 / tpot)
                };
                let of_round =
                    |round: &Vec<&MeasuredRequest<'_>>| round.iter().filter_map(of_request).collect();
                MetricSample::percentile(share, rounds.iter().map(of_round).collect())
            }
            Formula::Rate(amount) => rates::rate(&rounds, amount),
            Formula::ErrorRate => rates::error_rate(&rounds),
        }
    }
}

/// Requests of each round, in the order of rounds.
fn by_round<'r, 'a>(requests: &'r [MeasuredRequest<'a>]) -> Vec<Vec<&'r MeasuredRequest<'a>>> {
    let mut rounds: std::collections::BTreeMap<i64, Vec<&MeasuredRequest<'a>>> = Default::default();
    requests.iter().for_each(|request| rounds.entry(request.round).or_default().push(request));
    rounds.into_values().collect()
}

/// The metric of a name, with or without its unit.
#[must_use]
pub fn find(name: &str) -> Option<&'static HeadlineMetric> {
    ALL.iter().find(|metric| metric.key == name || metric.name() == name)
}

/// What people call a metric of a run, headline or not; the key itself where nothing is known of it.
pub fn title_of(key: &str) -> Cow<'_, str> {
    if let Some(metric) = find(key) {
        return Cow::Borrowed(metric.title);
    }
    let step = key.strip_suffix("_p50_ns").filter(|name| name.ends_with("step"));
    match (step, key.split_once('_')) {
        (Some(step), _) => Cow::Owned(format!("{} p50", step.replace('_', " "))),
        (None, Some((share @ ("mfu" | "mbu"), phase))) => {
            Cow::Owned(format!("{} of {phase}", share.to_uppercase()))
        }
        (None, _) if key == "device_busy_share" => Cow::Borrowed("device busy"),
        _ => Cow::Borrowed(key),
    }
}
