//! The headline metrics of a run: one definition each, wherever they are shown.
//!
//! `metrics.json`, a sweep, `compare`, `trend` and the pages take keys, titles, definitions and formulas from here.
//! A value is computed over all measured requests together. Rounds are what repeats, so [`MetricSample`] keeps them apart:
//! how sure a difference between two runs is follows from the rounds, its size from the values.

mod sample;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use rooflens_schema::Opt;
use rooflens_schema::tables::{OutputKind, RequestStatus, Requests, Tokens};

pub use sample::MetricSample;

#[derive(Clone, Copy)]
enum Formula {
    Percentile(&'static RequestTimes, f64),
    /// A percentile of 1 / TPOT, over all measured requests of a load test.
    Interactivity(f64),
    /// An amount / time from the first prompt given to the last token, both summed over rounds.
    Rate(&'static Amount),
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
    pub fn name(&self) -> &'static str {
        self.key.strip_suffix("_ns").unwrap_or(self.key)
    }

    pub(crate) fn unit(&self) -> MetricUnit {
        match self.formula {
            Formula::Percentile(..) => MetricUnit::Time,
            Formula::Rate(amount) => MetricUnit::Rate(amount.per_second),
            Formula::Interactivity(_) => MetricUnit::Rate("tokens/s"),
            Formula::ErrorRate => MetricUnit::Share,
        }
    }

    /// Whether it is a time, in nanoseconds.
    pub fn is_time(&self) -> bool {
        self.unit() == MetricUnit::Time
    }

    /// Whether it is an amount per second.
    pub fn is_rate(&self) -> bool {
        matches!(self.formula, Formula::Rate(_))
    }

    /// What measured requests tell of it; `None` where they tell nothing.
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
            Formula::Rate(amount) => rate_of(&rounds, amount),
            Formula::ErrorRate => error_rate(&rounds),
        }
    }
}

fn by_round<'r, 'a>(requests: &'r [MeasuredRequest<'a>]) -> Vec<Vec<&'r MeasuredRequest<'a>>> {
    let mut rounds: std::collections::BTreeMap<i64, Vec<&MeasuredRequest<'a>>> = Default::default();
    requests.iter().for_each(|request| rounds.entry(request.round).or_default().push(request));
    rounds.into_values().collect()
}

/// The metric of a name, with or without its unit.
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

/// What a metric is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Nanoseconds.
    Time,
    /// A part of a whole, 0 to 1.
    Share,
    /// So many per second, in this unit.
    Rate(&'static str),
    /// Another number, or one of which nothing is known.
    Number,
}

impl MetricUnit {
    /// The unit of a headline metric. Keys of other metrics and of columns say it themselves, by how they end or begin.
    pub fn of(key: &str) -> Self {
        if let Some(metric) = find(key) {
            return metric.unit();
        }
        let is_share = key.ends_with("_share") || key.ends_with("_rate");
        if key.ends_with("_ns") {
            MetricUnit::Time
        } else if is_share || key.starts_with("mfu") || key.starts_with("mbu") {
            MetricUnit::Share
        } else {
            MetricUnit::Number
        }
    }
}

struct Amount {
    /// Of a request; `None` where nobody counted it.
    of: fn(&MeasuredRequest<'_>) -> Option<f64>,
    /// Only load tests have such a rate.
    is_of_load_tests: bool,
    per_second: &'static str,
}

const OUTPUT_TOKENS: Amount = Amount { of: output, is_of_load_tests: false, per_second: "tokens/s" };
const INPUT_TOKENS: Amount = Amount { of: input, is_of_load_tests: true, per_second: "tokens/s" };
const TOTAL_TOKENS: Amount = Amount {
    of: |request| Some(output(request)? + input(request)?),
    is_of_load_tests: true,
    per_second: "tokens/s",
};
const COMPLETED: Amount = Amount { of: |_| Some(1.0), is_of_load_tests: true, per_second: "requests/s" };

fn output(request: &MeasuredRequest<'_>) -> Option<f64> {
    (!request.is_uncounted()).then(|| request.output() as f64)
}

/// No prompt is empty: 0 is one that nobody counted.
fn input(request: &MeasuredRequest<'_>) -> Option<f64> {
    (request.prompt_tokens > 0).then_some(request.prompt_tokens as f64)
}

/// Requests that are due within so many mean gaps after a round continue it.
const CONTINUES: f64 = 10.0;

/// Amount / time from the first prompt given to the last token, both summed over rounds. `None` where one request
/// does not tell its amount: the sum would be too small.
fn rate_of(rounds: &[Vec<&MeasuredRequest<'_>>], amount: &Amount) -> Option<MetricSample> {
    let rounds: Vec<Vec<&MeasuredRequest<'_>>> = rounds
        .iter()
        .map(|round| round.iter().copied().filter(|request| request.is_done()).collect())
        .filter(|round: &Vec<_>| !round.is_empty())
        .collect();
    if amount.is_of_load_tests && !rounds.iter().flatten().all(|request| request.is_load_test) {
        return None;
    }
    let part = |(at, round): (usize, &Vec<&MeasuredRequest<'_>>)| {
        let sum = round.iter().map(|request| (amount.of)(request)).sum::<Option<f64>>()?;
        Some((sum, seconds(round, rounds.get(at + 1).map(Vec::as_slice))?))
    };
    MetricSample::rate(rounds.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?)
}

/// How long a round took. Blocks of time of a load test end where the next begins, though requests last longer.
fn seconds(round: &[&MeasuredRequest<'_>], next: Option<&[&MeasuredRequest<'_>]>) -> Option<f64> {
    let first_of = |round: &[&MeasuredRequest<'_>]| round.iter().map(|request| request.origin_ns()).min();
    let first = first_of(round)?;
    let last = round.iter().filter_map(|request| request.finish_ns()).max()?;
    let own = between(first, last);
    let is_load_test = round.iter().all(|request| request.is_load_test);
    let until_next = next.filter(|_| is_load_test).and_then(first_of).map(|next| between(first, next));
    let arrivals = round.iter().map(|request| request.origin_ns()).max()?;
    let gap = between(first, arrivals) / (round.len() - 1).max(1) as f64;
    // After a long pause comes another repetition of the load test.
    let block = until_next.filter(|until| *until > 0.0 && *until <= own + CONTINUES * gap);
    Some(block.unwrap_or(own) / 1e9)
}

fn error_rate(rounds: &[Vec<&MeasuredRequest<'_>>]) -> Option<MetricSample> {
    let is_load_test = rounds.iter().flatten().all(|request| request.is_load_test);
    let part = |round: &Vec<&MeasuredRequest<'_>>| {
        (round.iter().filter(|request| request.is_failed).count() as f64, round.len() as f64)
    };
    MetricSample::share(rounds.iter().filter(|_| is_load_test).map(part).collect())
}

/// The kind of rounds that count.
pub const MEASURED: &str = "measured";

/// A request that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MeasuredRequest<'a> {
    /// Its round: a repetition, or a block of time of a load test.
    pub round: i64,
    /// Tokens of its prompt; 0 where nobody counted them.
    pub prompt_tokens: i64,
    /// Output tokens; 0 where there are none or nobody counted them.
    pub output_tokens: i64,
    /// Scheduled send time of an open-loop load test; none without a schedule.
    pub scheduled_ns: Option<i64>,
    /// When its prompt was sent, or given to the runtime.
    pub start_ns: i64,
    /// When each token, or chunk of tokens, was there.
    pub token_ns: &'a [i64],
    /// Tokens of each chunk, where they are known.
    pub chunk_tokens: &'a [Opt<i64>],
    /// What each chunk brings, where that is known.
    pub chunk_kinds: &'a [Option<OutputKind>],
    /// When the response ended.
    pub end_ns: Option<i64>,
    /// From the prompt given to its first step; none where the runtime has no queue.
    pub queued_ns: Option<i64>,
    /// Whether it is of a load test, not of the workload of `rooflens run`.
    pub is_load_test: bool,
    /// It failed or timed out: it counts for the error rate alone.
    pub is_failed: bool,
}

/// The requests of measured rounds. Tokens are by request, as the table has them. Requests of a load test that were
/// cancelled as it ended do not count.
pub fn measured_requests<'a>(requests: &Requests, tokens: &'a Tokens) -> Vec<MeasuredRequest<'a>> {
    let rows = (0..requests.len()).filter(|row| requests.round_kind[*row].as_deref() == Some(MEASURED));
    rows.filter_map(|row| measured_request(requests, tokens, row)).collect()
}

fn measured_request<'a>(requests: &Requests, tokens: &'a Tokens, row: usize) -> Option<MeasuredRequest<'a>> {
    let is_load_test = requests.stage[row].is_none();
    let status = requests.status[row];
    if is_load_test && matches!(status, RequestStatus::Cancelled | RequestStatus::Unfinished) {
        return None;
    }
    let is_failed = is_load_test && status != RequestStatus::Completed;
    let id = requests.request_id[row];
    let from = tokens.request_id.partition_point(|of| *of < id);
    let to = tokens.request_id.partition_point(|of| *of <= id);
    // What the rows of `rooflens run` lack was lost; a server may not tell how many tokens there were.
    let count = |column: &[Opt<i64>]| column[row].get().or(is_load_test.then_some(0));
    let start_ns = requests.sent_ts_ns[row].get();
    let scheduled_ns = requests.scheduled_ts_ns[row].get();
    Some(MeasuredRequest {
        round: requests.round[row].get().or(is_load_test.then_some(0))?,
        prompt_tokens: count(&requests.prompt_tokens)?,
        output_tokens: count(&requests.output_tokens)?,
        scheduled_ns: scheduled_ns.filter(|_| is_load_test),
        // One that failed may never have been sent.
        start_ns: start_ns.or(scheduled_ns.filter(|_| is_failed)).or(is_failed.then_some(0))?,
        token_ns: &tokens.ts_ns[from..to],
        chunk_tokens: &tokens.tokens[from..to],
        chunk_kinds: &tokens.kind[from..to],
        end_ns: requests.end_ts_ns[row].get(),
        queued_ns: requests.queued_ns[row].get(),
        is_load_test,
        is_failed,
    })
}

impl MeasuredRequest<'_> {
    /// When latency begins: at the scheduled time, or else when it was sent.
    pub fn origin_ns(&self) -> i64 {
        self.scheduled_ns.unwrap_or(self.start_ns)
    }

    /// When its last token was there, or, where nothing was streamed, when the response ended.
    pub(crate) fn finish_ns(&self) -> Option<i64> {
        let unstreamed = || self.end_ns.filter(|_| self.is_load_test);
        self.token_ns.last().copied().or_else(unstreamed)
    }

    /// Whether it counts for times and rates: all of its output arrived, or a part that the runtime recorded.
    fn is_done(&self) -> bool {
        !self.is_failed && self.finish_ns().is_some()
    }

    /// Tokens that were streamed; `None` where nobody counted them.
    fn streamed_tokens(&self) -> Option<i64> {
        let counted = || {
            let known = self.chunk_tokens.iter().map(|tokens| tokens.get());
            known
                .collect::<Option<Vec<i64>>>()
                .map(|all| all.iter().fold(0, |sum: i64, one| sum.saturating_add(*one)))
        };
        if self.output_tokens > 0 { Some(self.output_tokens) } else { counted().filter(|tokens| *tokens > 0) }
    }

    /// Whether its chunks brought tokens that nobody counted.
    fn is_uncounted(&self) -> bool {
        !self.token_ns.is_empty() && self.streamed_tokens().is_none()
    }

    /// Output tokens, by the server's usage or else by those of its chunks.
    fn output(&self) -> i64 {
        self.streamed_tokens().unwrap_or(0)
    }

    /// Time from the first to the last token / number of tokens after the first. One token has none.
    fn tpot(&self) -> Option<f64> {
        let (first, last) = (self.token_ns.first()?, self.token_ns.last()?);
        // Tokens of one chunk have no time between them.
        let after = (self.token_ns.len() > 1).then(|| self.streamed_tokens())?? - 1;
        (after > 0).then(|| between(*first, *last) / after as f64)
    }

    /// Time from one chunk to the next / tokens of the latter, once per token.
    fn token_gaps(&self) -> Vec<f64> {
        let Some(tokens) = self.streamed_tokens() else { return Vec::new() };
        let mean = (tokens as f64 / self.token_ns.len() as f64).max(1.0);
        let gaps = self.token_ns.windows(2).zip(self.chunk_tokens.iter().skip(1));
        let per_token = gaps.flat_map(|(pair, tokens)| {
            let gap = between(pair[0], pair[1]);
            match tokens.get().filter(|tokens| *tokens > 0) {
                Some(tokens) => std::iter::repeat_n(gap / tokens as f64, times(tokens as f64)),
                None => std::iter::repeat_n(gap / mean, times(mean)),
            }
        });
        per_token.collect()
    }

    /// When the first chunk that is not reasoning arrived; `None` where kinds are not known.
    fn first_output_ns(&self) -> Option<i64> {
        let known = self.token_ns.iter().zip(self.chunk_kinds);
        let mut answers = known.filter(|(_, kind)| kind.is_some_and(|kind| kind != OutputKind::Reasoning));
        answers.next().map(|(ns, _)| *ns)
    }
}

/// How often a gap counts: once per token. More in one chunk than this is an error of the server.
fn times(tokens: f64) -> usize {
    tokens.round().clamp(1.0, 65_536.0) as usize
}

/// A clock that went backwards is taken as one that stood still.
fn between(first_ns: i64, last_ns: i64) -> f64 {
    last_ns.saturating_sub(first_ns).max(0) as f64
}

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
