//! The headline metrics of a run: one definition each, wherever they are shown.
//!
//! `metrics.json`, a sweep, `compare`, `trend` and the pages take keys, titles, definitions and formulas from here.
//! A value is computed over all measured requests together. Rounds are what repeats, so [`MetricSample`] keeps them apart:
//! how sure a difference between two runs is follows from the rounds, its size from the values.

mod sample;

use rooflens_schema::tables::{Requests, Tokens};

pub use sample::MetricSample;

/// The kind of rounds that count.
pub const MEASURED: &str = "measured";

/// A request that was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredRequest<'a> {
    /// Its round.
    pub round: i64,
    /// Tokens of its prompt.
    pub prompt_tokens: i64,
    /// Output tokens.
    pub output_tokens: i64,
    /// When its prompt was given to the runtime.
    pub start_ns: i64,
    /// When each token was there.
    pub token_ns: &'a [i64],
    /// From the prompt given to its first step; none where the runtime has no queue.
    pub queued_ns: Option<i64>,
}

/// The requests of measured rounds. Tokens are by request, as the table has them.
#[must_use]
pub fn measured_requests<'a>(requests: &Requests, tokens: &'a Tokens) -> Vec<MeasuredRequest<'a>> {
    let request = |row: usize| {
        let id = requests.request_id[row];
        let from = tokens.request_id.partition_point(|of| *of < id);
        let to = tokens.request_id.partition_point(|of| *of <= id);
        Some(MeasuredRequest {
            round: requests.round[row].get()?,
            prompt_tokens: requests.prompt_tokens[row].get()?,
            output_tokens: requests.output_tokens[row].get()?,
            start_ns: requests.sent_ts_ns[row].get()?,
            token_ns: &tokens.ts_ns[from..to],
            queued_ns: requests.queued_ns[row].get(),
        })
    };
    let rows = (0..requests.len()).filter(|row| requests.round_kind[*row].as_deref() == Some(MEASURED));
    rows.filter_map(request).collect()
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
    definition: "time from submitting a prompt to its first token",
    of: |request| since_start(request, request.token_ns.first()),
};
/// Time per output token.
pub const TPOT: RequestTimes = RequestTimes {
    key: "tpot_ns",
    title: "TPOT",
    words: "time per output token",
    definition: "per request, time from the first to the last token / number of tokens after the first",
    of: |request| tpot(request).into_iter().collect(),
};
/// Inter-token latency.
pub const ITL: RequestTimes = RequestTimes {
    key: "itl_ns",
    title: "ITL",
    words: "inter-token latency",
    definition: "time from one token to the next of the same request",
    of: |request| request.token_ns.windows(2).map(|pair| between(pair[0], pair[1])).collect(),
};
/// End-to-end latency.
pub const LATENCY: RequestTimes = RequestTimes {
    key: "latency_ns",
    title: "latency",
    words: "end-to-end latency",
    definition: "time from submitting a prompt to its last token",
    of: |request| since_start(request, request.token_ns.last()),
};

/// Time in the scheduler's queue.
pub const QUEUE: RequestTimes = RequestTimes {
    key: "queued_ns",
    title: "queue",
    words: "time in the queue",
    definition: "time from submitting a prompt to the first step that processes it; part of TTFT",
    of: |request| request.queued_ns.map(|ns| ns as f64).into_iter().collect(),
};

/// The times that `metrics.json` has.
pub const TIMES: &[&RequestTimes] = &[&TTFT, &TPOT, &ITL, &LATENCY, &QUEUE];

/// A token before its own prompt has no such time.
fn since_start(request: &MeasuredRequest<'_>, token: Option<&i64>) -> Vec<f64> {
    let since = token.and_then(|token| token.checked_sub(request.start_ns)).filter(|ns| *ns >= 0);
    since.map(|ns| ns as f64).into_iter().collect()
}

/// A clock that went backwards is taken as one that stood still.
fn between(first_ns: i64, last_ns: i64) -> f64 {
    last_ns.saturating_sub(first_ns).max(0) as f64
}

/// One token has no time per token after it.
fn tpot(request: &MeasuredRequest<'_>) -> Option<f64> {
    let (first, last) = (request.token_ns.first()?, request.token_ns.last()?);
    let after = request.token_ns.len() - 1;
    (after > 0).then(|| between(*first, *last) / after as f64)
}

/// How a metric is computed.
#[derive(Clone, Copy)]
enum Formula {
    /// A percentile of times, over all measured requests.
    Percentile(&'static RequestTimes, f64),
    /// Output tokens / time from the first prompt given to the last token, both summed over rounds.
    OutputTokensPerSecond,
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
        formula: Formula::OutputTokensPerSecond,
    },
];

impl HeadlineMetric {
    /// Its name without the unit.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.key.strip_suffix("_ns").unwrap_or(self.key)
    }

    /// Whether it is a time, in nanoseconds.
    #[must_use]
    pub fn is_time(&self) -> bool {
        matches!(self.formula, Formula::Percentile(..))
    }

    /// What measured requests tell of it; `None` where they tell nothing.
    #[must_use]
    pub fn of(&self, requests: &[MeasuredRequest<'_>]) -> Option<MetricSample> {
        let mut rounds: Vec<i64> = requests.iter().map(|request| request.round).collect();
        rounds.sort_unstable();
        rounds.dedup();
        let of_round = |round: i64| requests.iter().filter(move |request| request.round == round);
        match self.formula {
            Formula::Percentile(times, share) => {
                let values =
                    rounds.into_iter().map(|round| of_round(round).flat_map(|one| (times.of)(one)).collect());
                MetricSample::percentile(share, values.collect())
            }
            Formula::OutputTokensPerSecond => {
                let parts = rounds.into_iter().filter_map(|round| {
                    // A request without a token has neither tokens nor an end.
                    let done = || of_round(round).filter(|request| !request.token_ns.is_empty());
                    let first = done().map(|request| request.start_ns).min()?;
                    let last = done().filter_map(|request| request.token_ns.last()).max()?;
                    let tokens: i64 = done().map(|request| request.output_tokens).sum();
                    Some((tokens as f64, between(first, *last) / 1e9))
                });
                MetricSample::rate(parts.collect())
            }
        }
    }
}

/// The metric of a name, with or without its unit.
#[must_use]
pub fn find(name: &str) -> Option<&'static HeadlineMetric> {
    ALL.iter().find(|metric| metric.key == name || metric.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found_without_their_unit() {
        let keys: std::collections::BTreeSet<&str> = ALL.iter().map(|metric| metric.key).collect();
        assert_eq!(keys.len(), ALL.len());
        assert!(ALL.iter().all(|metric| metric.is_time() == metric.key.ends_with("_ns")));
        assert!(find("tpot_p50").is_some() && find("tpot").is_none());
    }

    #[test]
    fn by_hand() {
        let request = |round, start_ns, token_ns: &'static [i64]| MeasuredRequest {
            round,
            prompt_tokens: 5,
            output_tokens: token_ns.len() as i64,
            start_ns,
            token_ns,
            queued_ns: token_ns.first().filter(|_| round == 1).map(|first| first - start_ns - 10),
        };
        let requests = [
            request(1, 100, &[150, 170, 200]),
            request(1, 100, &[160]),
            request(2, 300, &[310, 330]),
            request(2, 300, &[]),
        ];
        let of = |name: &str| find(name).unwrap().of(&requests).unwrap();
        // (20 + 30) / 2 and 20: one token has none.
        assert_eq!((of("tpot_p50").value(), of("tpot_p50").rounds()), (22.5, vec![25.0, 20.0]));
        // 10, 50 and 60 together; 55 and 10 by round.
        assert_eq!((of("ttft_p50").value(), of("ttft_p50").rounds()), (50.0, vec![55.0, 10.0]));
        assert_eq!(of("itl_p50").value(), 20.0);
        // 6 tokens in 100 + 30 ns.
        let rate = of("output_tokens_per_s");
        assert!((rate.value() / (6e9 / 130.0) - 1.0).abs() < 1e-12);
        assert!((rate.rounds()[0] / (4e9 / 100.0) - 1.0).abs() < 1e-12);
        assert!(find("tpot_p50").unwrap().of(&requests[1..2]).is_none());
        // 40 and 50 in the first round; the second tells none.
        assert_eq!((of("queued_p50").value(), of("queued_p50").rounds()), (45.0, vec![45.0]));
        assert!(find("queued_p99").unwrap().of(&requests[2..]).is_none());
    }

    #[test]
    fn requests_of_the_tables() {
        use rooflens_schema::Opt;
        use rooflens_schema::tables::{RequestRow, RequestStatus, TokenRow};

        let (mut requests, mut tokens) = (Requests::default(), Tokens::default());
        for (request_id, kind) in [(0, "warmup"), (1, "measured"), (2, "measured")] {
            requests.push(RequestRow {
                round: Opt::some(request_id),
                round_kind: Some(kind.to_owned()),
                sent_ts_ns: Opt::some(-5),
                prompt_tokens: Opt::some(7),
                output_tokens: Opt::some(2),
                ..RequestRow::new(request_id, RequestStatus::Completed)
            });
        }
        for (request_id, index, ts_ns) in [(0, 0, 1), (1, 0, 3), (1, 1, 9)] {
            tokens.push(TokenRow { request_id, index, ts_ns, tokens: Opt::some(1) });
        }
        let found = measured_requests(&requests, &tokens);
        let told: Vec<_> = found.iter().map(|one| (one.round, one.token_ns.to_vec())).collect();
        assert_eq!(told, [(1, vec![3, 9]), (2, vec![])]);
        // From −5 to 3, on a clock whose zero lies between.
        assert_eq!(find("ttft_p50").unwrap().of(&found).unwrap().value(), 8.0);
    }
}
