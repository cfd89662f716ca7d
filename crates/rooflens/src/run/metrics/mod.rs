//! Headline numbers of a run, from the rows that the pass without profilers left. Pure.

mod rows;
mod statistics;

use std::collections::BTreeMap;

use serde::Serialize;

pub use self::rows::{RequestRow, Rows, StepRow};
pub use self::statistics::{RULE, Spread};

/// Rounds that count.
const MEASURED: &str = "measured";

/// Measured times. Null is "not known", and [`Measured::not_computed`] says why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Measured rounds.
    pub rounds: usize,
    /// Sequences.
    pub requests: usize,
    /// Tokens of their prompts.
    pub prompt_tokens: u64,
    /// Tokens that were made.
    pub output_tokens: u64,
    /// Forward passes that made tokens of running sequences.
    pub decode_steps: usize,
    /// From a prompt given to its first token, ns.
    pub ttft_ns: Option<Spread>,
    /// Of each sequence: time from its first to its last token / tokens after the first, ns.
    pub tpot_ns: Option<Spread>,
    /// From each token to the next of its sequence, ns.
    pub itl_ns: Option<Spread>,
    /// From a prompt given to its last token, ns.
    pub latency_ns: Option<Spread>,
    /// Tokens made / time from the first prompt given to the last token, summed over rounds.
    pub output_tokens_per_s: Option<f64>,
    /// Tokens made in decode steps / time of these steps.
    pub decode_tokens_per_s: Option<f64>,
    /// Time of forward passes, by phase, ns.
    pub phases_ns: BTreeMap<String, u64>,
    /// Rows that could not be read.
    pub lost_rows: usize,
    /// How percentiles are made.
    pub rule: &'static str,
    /// What is null, and why.
    pub not_computed: BTreeMap<&'static str, String>,
}

/// The headline numbers of what a pass left.
pub fn measured(rows: &Rows) -> Measured {
    let requests: Vec<&RequestRow> = rows.requests.iter().filter(|row| row.kind == MEASURED).collect();
    let steps: Vec<&StepRow> = rows.steps.iter().filter(|row| row.kind == MEASURED).collect();
    let spans = round_spans(&requests);
    let output_tokens = requests.iter().map(|row| row.output_tokens).sum();
    let decode: Vec<&&StepRow> = steps.iter().filter(|row| row.phase == "decode").collect();
    let mut measured = Measured {
        rounds: spans.len(),
        requests: requests.len(),
        prompt_tokens: requests.iter().map(|row| row.prompt_tokens).sum(),
        output_tokens,
        decode_steps: decode.len(),
        ttft_ns: Spread::of(requests.iter().filter_map(|row| ttft(row)).collect()),
        tpot_ns: Spread::of(requests.iter().filter_map(|row| tpot(row)).collect()),
        itl_ns: Spread::of(requests.iter().flat_map(|row| gaps(row)).collect()),
        latency_ns: Spread::of(requests.iter().filter_map(|row| latency(row)).collect()),
        output_tokens_per_s: rate(
            output_tokens,
            spans.values().map(|(from, to)| to.saturating_sub(*from)).sum(),
        ),
        decode_tokens_per_s: rate(
            decode.iter().map(|row| row.decode_tokens).sum(),
            decode.iter().map(|row| row.dur_ns).sum(),
        ),
        phases_ns: by_phase(&steps),
        lost_rows: rows.lost,
        rule: RULE,
        not_computed: BTreeMap::new(),
    };
    measured.not_computed = reasons(&measured);
    measured
}

fn ttft(row: &RequestRow) -> Option<f64> {
    Some(row.token_ns.first()?.checked_sub(row.start_ns)? as f64)
}

/// One token has no time per token after it.
fn tpot(row: &RequestRow) -> Option<f64> {
    let (first, last) = (row.token_ns.first()?, row.token_ns.last()?);
    let after = row.token_ns.len() - 1;
    (after > 0).then(|| last.saturating_sub(*first) as f64 / after as f64)
}

fn gaps(row: &RequestRow) -> impl Iterator<Item = f64> {
    row.token_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64)
}

fn latency(row: &RequestRow) -> Option<f64> {
    Some(row.token_ns.last()?.checked_sub(row.start_ns)? as f64)
}

/// Of each round: the first prompt given, the last token made.
fn round_spans(requests: &[&RequestRow]) -> BTreeMap<u64, (u64, u64)> {
    let mut spans = BTreeMap::new();
    for row in requests {
        let Some(last) = row.token_ns.last() else { continue };
        let span = spans.entry(row.round).or_insert((row.start_ns, *last));
        *span = (span.0.min(row.start_ns), span.1.max(*last));
    }
    spans
}

fn rate(tokens: u64, ns: u64) -> Option<f64> {
    (tokens > 0 && ns > 0).then(|| tokens as f64 * 1e9 / ns as f64)
}

fn by_phase(steps: &[&StepRow]) -> BTreeMap<String, u64> {
    let mut phases = BTreeMap::new();
    for row in steps {
        *phases.entry(row.phase.clone()).or_insert(0) += row.dur_ns;
    }
    phases
}

fn reasons(of: &Measured) -> BTreeMap<&'static str, String> {
    let none = "no measured request was completed";
    let single = "no request made more than one token";
    let no_decode = "no step only made tokens";
    let missing: [(&str, bool, &str); 6] = [
        ("ttft_ns", of.ttft_ns.is_none(), none),
        ("latency_ns", of.latency_ns.is_none(), none),
        ("output_tokens_per_s", of.output_tokens_per_s.is_none(), none),
        ("tpot_ns", of.tpot_ns.is_none(), if of.requests == 0 { none } else { single }),
        ("itl_ns", of.itl_ns.is_none(), if of.requests == 0 { none } else { single }),
        ("decode_tokens_per_s", of.decode_tokens_per_s.is_none(), no_decode),
    ];
    missing.into_iter().filter(|(_, is, _)| *is).map(|(name, _, why)| (name, why.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(round: u64, kind: &str, start_ns: u64, token_ns: &[u64]) -> RequestRow {
        RequestRow {
            round,
            kind: kind.to_owned(),
            prompt_tokens: 5,
            output_tokens: token_ns.len() as u64,
            start_ns,
            token_ns: token_ns.to_vec(),
        }
    }

    fn step(kind: &str, phase: &str, decode_tokens: u64, dur_ns: u64) -> StepRow {
        StepRow {
            kind: kind.to_owned(),
            phase: phase.to_owned(),
            decode_tokens,
            dur_ns,
            ..StepRow::default()
        }
    }

    /// Two measured rounds. First: tokens 100, 150, 210 after the start; second: 300, 340.
    fn rows() -> Rows {
        Rows {
            requests: vec![
                request(0, "warmup", 0, &[9_000]),
                request(1, "measured", 1_000, &[1_100, 1_150, 1_210]),
                request(2, "measured", 2_000, &[2_300, 2_340]),
            ],
            steps: vec![
                step("warmup", "prefill", 0, 9_000),
                step("measured", "prefill", 0, 100),
                step("measured", "decode", 1, 50),
                step("measured", "decode", 1, 60),
                step("measured", "prefill", 0, 300),
                step("measured", "decode", 1, 40),
            ],
            ..Rows::default()
        }
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
        assert!(measured.not_computed.is_empty());
    }

    #[test]
    fn what_is_not_known_is_null_with_a_reason() {
        let nothing = measured(&Rows::default());
        assert_eq!((nothing.ttft_ns.clone(), nothing.output_tokens_per_s), (None, None));
        assert_eq!(nothing.not_computed.len(), 6);
        let single = Rows { requests: vec![request(1, "measured", 0, &[7])], ..Rows::default() };
        let single = measured(&single);
        assert_eq!(single.tpot_ns, None);
        assert_eq!(single.not_computed["tpot_ns"], "no request made more than one token");
        assert_eq!(single.ttft_ns.unwrap().p50, 7.0);
    }
}
