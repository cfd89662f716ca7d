//! The numbers of a run that are compared: one value a measured round.
//!
//! Sequences of a batch share their times, so they are no independent values; rounds are.

use std::collections::BTreeMap;

use rooflens_analyze::compare::percentile;

use crate::run::metrics::{RequestRow, Rows};

/// A number of a run.
pub struct Metric {
    /// Name for programs, with the unit.
    pub key: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Of the requests of a round.
    of: fn(&[&RequestRow]) -> Option<f64>,
}

/// All of them, the most telling first.
pub const ALL: &[Metric] = &[
    Metric { key: "tpot_p50_ns", more_is_better: false, of: |rows| at(rows, 0.5, tpot) },
    Metric { key: "ttft_p50_ns", more_is_better: false, of: |rows| at(rows, 0.5, ttft) },
    Metric { key: "latency_p50_ns", more_is_better: false, of: |rows| at(rows, 0.5, latency) },
    Metric { key: "itl_p50_ns", more_is_better: false, of: |rows| at(rows, 0.5, gaps) },
    Metric { key: "tpot_p99_ns", more_is_better: false, of: |rows| at(rows, 0.99, tpot) },
    Metric { key: "ttft_p99_ns", more_is_better: false, of: |rows| at(rows, 0.99, ttft) },
    Metric { key: "latency_p99_ns", more_is_better: false, of: |rows| at(rows, 0.99, latency) },
    Metric { key: "itl_p99_ns", more_is_better: false, of: |rows| at(rows, 0.99, gaps) },
    Metric { key: "output_tokens_per_s", more_is_better: true, of: rate },
];

/// The metric of a name, with or without its unit.
pub fn find(name: &str) -> Option<&'static Metric> {
    ALL.iter().find(|metric| metric.key == name || metric.key.strip_suffix("_ns") == Some(name))
}

/// Each metric, a value a round, in the order of rounds.
pub fn samples(rows: &Rows) -> BTreeMap<&'static str, Vec<f64>> {
    let mut rounds: BTreeMap<u64, Vec<&RequestRow>> = BTreeMap::new();
    for row in rows.requests.iter().filter(|row| row.kind == "measured") {
        rounds.entry(row.round).or_default().push(row);
    }
    let values = |metric: &Metric| rounds.values().filter_map(|rows| (metric.of)(rows)).collect::<Vec<f64>>();
    ALL.iter().map(|metric| (metric.key, values(metric))).filter(|(_, values)| !values.is_empty()).collect()
}

fn at(rows: &[&RequestRow], share: f64, of: fn(&RequestRow) -> Vec<f64>) -> Option<f64> {
    let mut values: Vec<f64> = rows.iter().flat_map(|row| of(row)).collect();
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| percentile(&values, share))
}

fn since_start(row: &RequestRow, token: Option<&u64>) -> Vec<f64> {
    token.and_then(|token| token.checked_sub(row.start_ns)).map(|ns| ns as f64).into_iter().collect()
}

fn ttft(row: &RequestRow) -> Vec<f64> {
    since_start(row, row.token_ns.first())
}

fn latency(row: &RequestRow) -> Vec<f64> {
    since_start(row, row.token_ns.last())
}

fn gaps(row: &RequestRow) -> Vec<f64> {
    row.token_ns.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64).collect()
}

fn tpot(row: &RequestRow) -> Vec<f64> {
    let gaps = gaps(row);
    if gaps.is_empty() { vec![] } else { vec![gaps.iter().sum::<f64>() / gaps.len() as f64] }
}

fn rate(rows: &[&RequestRow]) -> Option<f64> {
    let first = rows.iter().map(|row| row.start_ns).min()?;
    let last = rows.iter().filter_map(|row| row.token_ns.last()).max()?;
    let tokens: usize = rows.iter().map(|row| row.token_ns.len()).sum();
    last.checked_sub(first).filter(|ns| *ns > 0).map(|ns| tokens as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let row = |round, start_ns, token_ns: &[u64]| RequestRow {
            round,
            kind: if round == 0 { "warmup" } else { "measured" }.to_owned(),
            prompt_tokens: 5,
            output_tokens: token_ns.len() as u64,
            start_ns,
            token_ns: token_ns.to_vec(),
        };
        let requests = vec![
            row(0, 0, &[9]),
            row(1, 100, &[150, 170, 200]),
            row(1, 100, &[160]),
            row(2, 300, &[310, 330]),
        ];
        let found = samples(&Rows { requests, ..Rows::default() });
        assert_eq!(found["tpot_p50_ns"], [25.0, 20.0]); // (20 + 30) / 2; one token has none
        assert_eq!(found["ttft_p50_ns"], [55.0, 10.0]);
        assert_eq!(found["output_tokens_per_s"], [4e9 / 100.0, 2e9 / 30.0]);
        assert!(find("tpot_p50").is_some() && find("tpot").is_none());
    }
}
