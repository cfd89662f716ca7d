//! Headline numbers of a run, from the rows that the pass without profilers left. Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rooflens_analyze::compare::headline::{self, MEASURED, RequestTimes};
use rooflens_analyze::percentile::linear;
use rooflens_analyze::statistics::sample_deviation;
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::tables::{PhaseKind, StepRow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::workload::steps_of;

/// How percentiles are made, for whoever reads the numbers.
const RULE: &str =
    "percentiles: linear interpolation between the two nearest ranks (type 7); std: of a sample (n − 1)";

/// A list of times in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many.
    pub(crate) count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of a sample; null for one value.
    pub(crate) std: Option<f64>,
    /// Least.
    pub(crate) min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub(crate) p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Most.
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        Some(Spread {
            count,
            mean,
            std: sample_deviation(values.iter().copied(), mean),
            min,
            p50: linear(&values, 0.5),
            p90: linear(&values, 0.9),
            p99: linear(&values, 0.99),
            max,
        })
    }
}

/// Measured times. Null is "not known", and [`Measured::not_computed`] says why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Measured rounds.
    pub(crate) rounds: usize,
    /// Sequences.
    pub(crate) requests: usize,
    /// Tokens of their prompts.
    pub(crate) prompt_tokens: u64,
    /// Tokens that were made.
    pub(crate) output_tokens: u64,
    /// Forward passes that made tokens of running sequences.
    pub(crate) decode_steps: usize,
    /// From a prompt given to its first token, ns.
    pub ttft_ns: Option<Spread>,
    /// Of each sequence: time from its first to its last token / tokens after the first, ns.
    pub tpot_ns: Option<Spread>,
    /// From each token to the next of its sequence, ns.
    pub(crate) itl_ns: Option<Spread>,
    /// From a prompt given to its last token, ns.
    pub(crate) latency_ns: Option<Spread>,
    /// From a prompt given to its first step, where the runtime queues requests (vLLM), ns. Part of TTFT.
    pub queued_ns: Option<Spread>,
    /// How long loading the model took, ns.
    pub(crate) load_ns: Option<u64>,
    /// Warm-up rounds before the measured ones.
    #[serde(default)]
    pub(crate) warmup_rounds: usize,
    /// Time of the warm-up rounds together, ns.
    pub(crate) warmup_ns: Option<u64>,
    /// Tokens made / time from the first prompt given to the last token, summed over rounds.
    pub output_tokens_per_s: Option<f64>,
    /// Tokens made in decode steps / time of these steps.
    pub decode_tokens_per_s: Option<f64>,
    /// From a prompt given to its first token that is not reasoning, ns. Load tests only, as the following.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttfo_ns: Option<Spread>,
    /// From being sent to the first token, where requests have a schedule, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) service_ttft_ns: Option<Spread>,
    /// From being sent to the last token, where requests have a schedule, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) service_time_ns: Option<Spread>,
    /// Output tokens per second that a user sees: 1 / TPOT, median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_tokens_per_s_per_user: Option<f64>,
    /// Prompt tokens of completed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input_tokens_per_s: Option<f64>,
    /// Prompt and output tokens of completed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) total_tokens_per_s: Option<f64>,
    /// Completed requests per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) requests_per_s: Option<f64>,
    /// Fraction of the requests that failed or timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_rate: Option<f64>,
    /// Time of forward passes, by phase, ns.
    pub phases_ns: BTreeMap<String, u64>,
    /// Rows that could not be read.
    pub(crate) lost_rows: usize,
    /// How percentiles are made.
    pub(crate) rule: Cow<'static, str>,
    /// What is null, and why.
    pub not_computed: BTreeMap<Cow<'static, str>, String>,
}

impl Measured {
    /// Takes the warm-up of numbers that are there, where the events of its rounds are gone.
    pub(super) fn take_warmup(&mut self, kept: &Measured) {
        (self.warmup_rounds, self.warmup_ns) = (kept.warmup_rounds, kept.warmup_ns);
        self.not_computed = reasons(self);
    }
}

pub(crate) fn measured(workload: &WorkloadRecords) -> Measured {
    let requests = headline::measured_requests(&workload.requests, &workload.tokens);
    let steps = steps_of(&workload.steps, MEASURED);
    let decode: Vec<&StepRow> = steps.iter().filter(|row| row.phase == PhaseKind::Decode).collect();
    let warmups = workload.rounds.iter().filter(|round| round.kind.as_deref() == Some("warmup"));
    let warmups_ns: Vec<u64> = warmups.filter_map(|round| u64::try_from(round.dur_ns?).ok()).collect();
    let spread =
        |times: &RequestTimes| Spread::of(requests.iter().flat_map(|request| (times.of)(request)).collect());
    let value = |key: &str| Some(headline::find(key)?.of(&requests)?.value());
    let of_load =
        |times: &RequestTimes| spread(times).filter(|_| requests.iter().any(|one| one.is_load_test));
    let rounds = requests.iter().filter(|request| !request.token_ns.is_empty()).map(|request| request.round);
    let mut measured = Measured {
        rounds: rounds.collect::<std::collections::BTreeSet<i64>>().len(),
        requests: requests.len(),
        prompt_tokens: requests.iter().map(|request| request.prompt_tokens.unsigned_abs()).sum(),
        output_tokens: requests.iter().map(|request| request.output_tokens.unsigned_abs()).sum(),
        decode_steps: decode.len(),
        ttft_ns: spread(&headline::TTFT),
        tpot_ns: spread(&headline::TPOT),
        itl_ns: spread(&headline::ITL),
        latency_ns: spread(&headline::LATENCY),
        queued_ns: spread(&headline::QUEUE),
        load_ns: workload.fact("model", "load_ns").and_then(serde_json::Value::as_u64),
        warmup_rounds: warmups_ns.len(),
        warmup_ns: (!warmups_ns.is_empty())
            .then(|| warmups_ns.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns))),
        output_tokens_per_s: value("output_tokens_per_s"),
        decode_tokens_per_s: rate(&decode),
        ttfo_ns: of_load(&headline::TTFO),
        service_ttft_ns: of_load(&headline::SERVICE_TTFT),
        service_time_ns: of_load(&headline::SERVICE_TIME),
        output_tokens_per_s_per_user: value("output_tokens_per_s_per_user"),
        input_tokens_per_s: value("input_tokens_per_s"),
        total_tokens_per_s: value("total_tokens_per_s"),
        requests_per_s: value("requests_per_s"),
        error_rate: value("error_rate"),
        phases_ns: by_phase(&steps),
        lost_rows: usize::try_from(workload.lost_rows).unwrap_or(usize::MAX),
        rule: RULE.into(),
        not_computed: BTreeMap::new(),
    };
    measured.not_computed = reasons(&measured);
    measured
}

/// Of steps that do not say how many tokens they made, nobody knows the rate.
fn rate(decode: &[&StepRow]) -> Option<f64> {
    let known = || decode.iter().filter_map(|row| Some((row.decode_tokens.get()?, row.dur_ns)));
    let (tokens, ns): (i64, i64) = known().fold((0, 0), |sum, row| (sum.0 + row.0, sum.1 + row.1));
    (tokens > 0 && ns > 0).then(|| tokens as f64 * 1e9 / ns as f64)
}

fn by_phase(steps: &[StepRow]) -> BTreeMap<String, u64> {
    let mut phases = BTreeMap::new();
    for row in steps {
        *phases.entry(row.phase.as_str().to_owned()).or_insert(0) += row.dur_ns.unsigned_abs();
    }
    phases
}

fn reasons(of: &Measured) -> BTreeMap<Cow<'static, str>, String> {
    let none = "no measured request was completed";
    let single = "no request generated more than one token";
    let no_decode = "there is no pure decode step";
    let no_queue = match of.requests_per_s {
        None => "the runtime does not queue requests: a batch is submitted when its step begins",
        Some(_) => "a server does not say how long a request was in its queue; its metrics have the mean",
    };
    let missing: [(&'static str, bool, &str); 9] = [
        ("ttft_ns", of.ttft_ns.is_none(), none),
        ("latency_ns", of.latency_ns.is_none(), none),
        ("output_tokens_per_s", of.output_tokens_per_s.is_none(), none),
        ("tpot_ns", of.tpot_ns.is_none(), if of.requests == 0 { none } else { single }),
        ("itl_ns", of.itl_ns.is_none(), if of.requests == 0 { none } else { single }),
        ("decode_tokens_per_s", of.decode_tokens_per_s.is_none(), no_decode),
        ("queued_ns", of.queued_ns.is_none(), if of.requests == 0 { none } else { no_queue }),
        ("load_ns", of.load_ns.is_none(), "the workload did not report the model's load time"),
        ("warmup_ns", of.warmup_ns.is_none(), "no warm-up round was run"),
    ];
    missing.into_iter().filter(|(_, is, _)| *is).map(|(name, _, why)| (name.into(), why.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use rooflens_ingest::formats::workload::read_folder;
    use rooflens_schema::Notes;

    use super::*;

    fn recorded(requests: &[String], steps: &[&str]) -> WorkloadRecords {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("requests.jsonl"), requests.join("\n")).unwrap();
        let steps: String = steps.iter().map(|line| format!("{line}\n")).collect();
        let head = "kind,phase,decode_tokens,dur_ns\n";
        std::fs::write(folder.path().join("steps.csv"), format!("{head}{steps}")).unwrap();
        read_folder(folder.path(), "measure", &Notes::default())
    }

    fn request(round: u64, kind: &str, start_ns: u64, token_ns: &[u64]) -> String {
        let tokens = token_ns.len();
        format!(
            r#"{{"round":{round},"kind":"{kind}","prompt_tokens":5,"output_tokens":{tokens},"start_ns":{start_ns},"token_ns":{token_ns:?}}}"#
        )
    }

    /// Two measured rounds. First: tokens 100, 150, 210 after the start; second: 300, 340.
    fn rows() -> WorkloadRecords {
        recorded(
            &[
                request(0, "warmup", 0, &[9_000]),
                request(1, "measured", 1_000, &[1_100, 1_150, 1_210]),
                request(2, "measured", 2_000, &[2_300, 2_340]),
            ],
            &[
                "warmup,prefill,0,9000",
                "measured,prefill,0,100",
                "measured,decode,1,50",
                "measured,decode,1,60",
                "measured,prefill,0,300",
                "measured,decode,1,40",
            ],
        )
    }

    #[test]
    fn by_hand() {
        let measured = measured(&rows());
        assert_eq!((measured.rounds, measured.requests, measured.output_tokens), (2, 2, 5));
        assert_eq!(measured.decode_steps, 3);
        // TTFT 100 and 300: the median lies between.
        let ttft = measured.ttft_ns.unwrap();
        assert_eq!((ttft.min, ttft.p50, ttft.max), (100.0, 200.0, 300.0));
        // TPOT: (1210 − 1100) / 2 = 55, and 40.
        let tpot = measured.tpot_ns.unwrap();
        assert_eq!((tpot.min, tpot.mean, tpot.max), (40.0, 47.5, 55.0));
        // Gaps 50, 60, 40.
        assert_eq!(measured.itl_ns.unwrap().p50, 50.0);
        // 5 tokens in 210 + 340 ns.
        assert!((measured.output_tokens_per_s.unwrap() - 5e9 / 550.0).abs() < 1e-3);
        // 3 tokens in 50 + 60 + 40 ns.
        assert!((measured.decode_tokens_per_s.unwrap() - 3e9 / 150.0).abs() < 1e-3);
        assert_eq!(measured.phases_ns["prefill"], 400);
        assert_eq!(measured.not_computed.keys().collect::<Vec<_>>(), ["load_ns", "queued_ns", "warmup_ns"]);
    }

    #[test]
    fn parity_106_queue_load_and_warm_up_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        let line = |round: u64, kind: &str, queued: &str| {
            format!(
                r#"{{"round":{round},"kind":"{kind}","prompt_tokens":5,"output_tokens":1,"start_ns":100,"queued_ns":{queued},"token_ns":[900]}}"#
            )
        };
        let requests: Vec<String> = [
            line(0, "warmup", "70000"),
            line(1, "measured", "0"),
            line(1, "measured", "40"),
            line(2, "measured", "100"),
            line(2, "measured", "null"),
            line(2, "measured", "-5"),
        ]
        .into();
        std::fs::write(folder.path().join("requests.jsonl"), requests.join("\n")).unwrap();
        let events = [
            r#"{"event":"model","t_ns":1,"load_ns":2500}"#,
            r#"{"event":"round_end","t_ns":2,"round":0,"kind":"warmup","dur_ns":300}"#,
            r#"{"event":"round_end","t_ns":3,"round":1,"kind":"warmup","dur_ns":200}"#,
            r#"{"event":"round_end","t_ns":4,"round":2,"kind":"measured","dur_ns":7}"#,
            r#"{"event":"round_end","t_ns":5,"round":3,"kind":"warm"#,
        ];
        std::fs::write(folder.path().join("events.jsonl"), events.join("\n")).unwrap();
        let found = measured(&read_folder(folder.path(), "measure", &Notes::default()));
        // 0, 40 and 100: what is null or negative is no time, and warm-up does not count.
        let queue = found.queued_ns.clone().unwrap();
        assert_eq!((queue.count, queue.min, queue.p50, queue.max), (3, 0.0, 40.0, 100.0));
        // Ranks 1.8 and 1.98 of 0, 40, 100.
        assert!((queue.p90 - 88.0).abs() < 1e-9 && (queue.p99 - 98.8).abs() < 1e-9, "{queue:?}");
        assert_eq!((found.load_ns, found.warmup_rounds, found.warmup_ns), (Some(2500), 2, Some(500)));
        assert_eq!((found.requests, found.lost_rows), (5, 0));
        assert!(!found.not_computed.contains_key("queued_ns"));
    }

    #[test]
    fn what_is_not_known_is_null_with_a_reason() {
        let nothing = measured(&WorkloadRecords::default());
        assert_eq!((nothing.ttft_ns.clone(), nothing.output_tokens_per_s), (None, None));
        assert_eq!(nothing.not_computed.len(), 9);
        assert_eq!((nothing.queued_ns, nothing.load_ns, nothing.warmup_ns), (None, None, None));
        let single = measured(&recorded(&[request(1, "measured", 0, &[7])], &[]));
        assert_eq!(single.tpot_ns, None);
        assert_eq!(single.not_computed["tpot_ns"], "no request generated more than one token");
        assert_eq!(single.ttft_ns.unwrap().p50, 7.0);
    }

    #[test]
    fn a_spread_by_hand() {
        // Ranks of 4 values: p50 at 1.5, p90 at 2.7, p99 at 2.97.
        let spread = Spread::of(vec![40.0, 10.0, 20.0, 30.0]).unwrap();
        assert_eq!((spread.count, spread.min, spread.max), (4, 10.0, 40.0));
        assert_eq!((spread.mean, spread.p50), (25.0, 25.0));
        assert!((spread.p90 - 37.0).abs() < 1e-9);
        assert!((spread.p99 - 39.7).abs() < 1e-9);
        // (225 + 25 + 25 + 225) / 3
        assert!((spread.std.unwrap() - (500.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_deviation_and_none_has_nothing() {
        let one = Spread::of(vec![7.0]).unwrap();
        assert_eq!((one.p50, one.p99, one.std), (7.0, 7.0, None));
        assert_eq!(Spread::of(vec![]), None);
    }
}
