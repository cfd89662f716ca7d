//! A side whose rounds are runs of their own: two servers that took turns, as `rooflens bench --against` leaves them.

use std::path::{Path, PathBuf};

use rooflens_analyze::compare::headline::{self, MeasuredRequest, MetricSample};
use rooflens_analyze::compare::{FEWEST_PAIRS, Headline};
use rooflens_ingest::formats::workload::WorkloadRecords;
use rooflens_schema::RunDir;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Runs;

use super::side::{Side, read_run};
use crate::error::Error;
use crate::observer::SharedObserver;
use crate::run::{Run, workload};

/// The folder of the rounds.
pub(crate) const ROUNDS: &str = "rounds";

/// The runs of a side, in their order; none where it is a single run.
pub(crate) fn of(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path.join(ROUNDS)).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|run| RunDir::new(run).table("requests").is_file())
        .collect();
    runs.sort();
    runs
}

/// Reads all of them; what is known besides is that of the first.
pub fn read(path: &Path, runs: &[PathBuf], observer: &SharedObserver) -> Result<Side, Error> {
    let whole: Vec<RunDir> =
        runs.iter().map(RunDir::new).filter(|run| Run::of(run.clone()).is_whole()).collect();
    let records: Vec<WorkloadRecords> = whole.iter().map(workload::measured).collect();
    let rounds: Vec<Vec<MeasuredRequest<'_>>> =
        records.iter().map(|ran| headline::measured_requests(&ran.requests, &ran.tokens)).collect();
    // In an open loop the schedule sets the rates: what differs in a short round is how long its last requests take.
    let is_open = rounds.iter().flatten().any(|request| request.scheduled_ns.is_some());
    let sample = |metric: &headline::HeadlineMetric| {
        if is_open && metric.is_rate() {
            return None;
        }
        let of_rounds = rounds.iter().map(|requests| metric.of(requests)).collect();
        Some((metric.key, MetricSample::joined(of_rounds)?))
    };
    let first = read_run(&runs[0], observer)?;
    Ok(Side {
        path: path.to_owned(),
        samples: headline::ALL.iter().filter_map(sample).collect(),
        turns: whole.iter().filter_map(turn).collect(),
        ..first
    })
}

/// From the begin of a run to its end.
fn turn(run: &RunDir) -> Option<(i64, i64)> {
    let row = read_table::<Runs>(&run.table("runs")).ok()?.row(0)?;
    let begin = row.base_unix_ns.get()?;
    Some((begin, begin.saturating_add(row.span_ns)))
}

/// Says of each metric that there is too little to judge it.
pub(crate) fn leave_unjudged(headline: &mut [Headline]) {
    for row in headline {
        row.not_judged = Some(format!(
            "{} and {} rounds; at least {FEWEST_PAIRS} of each server, in turns, are needed: --rounds sets them",
            row.a_rounds, row.b_rounds
        ));
        (row.ratio, row.p_adjusted, row.is_change) = (None, None, false);
    }
}

/// Whether rounds took turns: those of each pair are over before the next pair begins.
pub(crate) fn took_turns(a: &[(i64, i64)], b: &[(i64, i64)]) -> bool {
    let pairs: Vec<[(i64, i64); 2]> = a.iter().zip(b).map(|(a, b)| [*a, *b]).collect();
    let is_apart = |[a, b]: &[(i64, i64); 2]| a.1 <= b.0 || b.1 <= a.0;
    let is_before = |pair: &[[(i64, i64); 2]]| {
        pair[0].iter().map(|turn| turn.1).max() <= pair[1].iter().map(|turn| turn.0).min()
    };
    a.len() == b.len()
        && a.len() >= FEWEST_PAIRS
        && pairs.iter().all(is_apart)
        && pairs.windows(2).all(is_before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns() {
        // Every 40: A from 0 to 10, B from 20 to 30, and the other way round.
        let turns = |offset: i64, flip: i64| -> Vec<(i64, i64)> {
            (0..10)
                .map(|at| at * 40 + (offset + flip * (at % 2)) % 40)
                .map(|from| (from, from + 10))
                .collect()
        };
        let (a, b) = (turns(0, 20), turns(20, 20));
        assert!(took_turns(&a, &b) && took_turns(&b, &a));
        // One after the other, both at once, a round that is missing, and too few.
        let after: Vec<(i64, i64)> = a.iter().map(|(from, to)| (from + 1000, to + 1000)).collect();
        assert!(!took_turns(&a, &after) && !took_turns(&a, &a) && !took_turns(&a, &b[..9]));
        assert!(!took_turns(&a[..9], &b[..9]));
    }
}
