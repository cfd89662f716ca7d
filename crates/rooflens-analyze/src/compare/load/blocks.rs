//! The rounds of a load test: blocks of time, so that comparisons, gates and trends treat it as any other run.
//!
//! Requests that follow each other are alike, so that each request as a round would alarm too often. Blocks are as many
//! as have medians that are nearly independent, 20 to 30 where there are enough requests: a test of fewer finds little.

use rooflens_schema::Opt;
use rooflens_schema::tables::Requests;

use super::series::{batches, median, unbiased_lag_one};
use crate::compare::headline::MEASURED;

const MAX_BLOCKS: usize = 30;
/// Fewest blocks that correlation may ask for.
const MIN_BLOCKS: usize = 20;
/// Fewest requests of a block.
const MIN_BLOCK_REQUESTS: usize = 4;
/// Highest correlation of the medians of neighbouring blocks.
const MAX_CORRELATION: f64 = 0.15;

/// The block of each request, 0 upwards in the order of time, from when each was due and its latency. Requests may come
/// in any order; blocks have the same number of them, but for one.
pub fn blocks(requests: &[(i64, f64)]) -> Vec<i64> {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&at| requests[at].0);
    let latencies: Vec<f64> = order.iter().map(|&at| requests[at].1).collect();
    let mut rounds = vec![0; requests.len()];
    for (block, range) in (0..).zip(batches(order.len(), count(&latencies))) {
        order[range].iter().for_each(|&at| rounds[at] = block);
    }
    rounds
}

/// Makes blocks of the measured requests of a load test. Those that failed are in the block of their time.
pub fn assign_blocks(requests: &mut Requests) {
    let is_measured = |row: &usize| {
        requests.round_kind[*row].as_deref() == Some(MEASURED) && requests.stage[*row].is_none()
    };
    let rows: Vec<usize> = (0..requests.len()).filter(is_measured).collect();
    let due = |row: usize| requests.scheduled_ts_ns[row].get().or(requests.sent_ts_ns[row].get());
    let latency = |row: usize| {
        let end = requests.last_token_ts_ns[row].get().or(requests.end_ts_ns[row].get())?;
        Some(end.saturating_sub(due(row)?) as f64)
    };
    // One that was never sent has no time of its own.
    let times: Vec<(i64, f64)> = rows
        .iter()
        .map(|&row| (due(row).or(requests.end_ts_ns[row].get()).unwrap_or(0), latency(row).unwrap_or(0.0)))
        .collect();
    let of_blocks = blocks(&times);
    rows.into_iter().zip(of_blocks).for_each(|(row, block)| requests.round[row] = Opt::some(block));
}

fn count(latencies: &[f64]) -> usize {
    let most = (latencies.len() / MIN_BLOCK_REQUESTS).min(MAX_BLOCKS);
    if most <= MIN_BLOCKS {
        return most.max(1);
    }
    let medians = |count: usize| {
        batches(latencies.len(), count).map(|range| median(&latencies[range])).collect::<Vec<f64>>()
    };
    let is_independent = |count: &usize| unbiased_lag_one(&medians(*count)) <= MAX_CORRELATION;
    (MIN_BLOCKS..=most).rev().find(is_independent).unwrap_or(MIN_BLOCKS)
}

#[cfg(test)]
mod tests {
    use rooflens_schema::tables::{RequestRow, RequestStatus};

    use super::super::calibration::autoregressive;
    use super::*;
    use crate::compare::random::Random;

    #[test]
    fn by_hand() {
        // 24 requests make 6 blocks of 4, though they come backwards.
        let requests: Vec<(i64, f64)> = (0..24).rev().map(|at| (at, 1.0)).collect();
        let found = blocks(&requests);
        assert_eq!(found[..5], [5, 5, 5, 5, 4]);
        assert_eq!((found[23], blocks(&[]), blocks(&[(0, 1.0), (1, 1.0)])), (0, vec![], vec![0, 0]));
    }

    #[test]
    fn the_longer_a_run_remembers_the_fewer_blocks() {
        let mut random = Random::new(4);
        let mut mean = |phi: f64| {
            let sum: usize = (0..100).map(|_| count(&autoregressive(&mut random, phi, 300))).sum();
            sum as f64 / 100.0
        };
        let (none, long) = (mean(0.0), mean(0.95));
        assert!(none > 27.0 && long < 24.0, "{none} {long}");
        let slow: Vec<f64> = (0..600).map(f64::from).collect();
        assert_eq!(count(&slow), MIN_BLOCKS);
    }

    #[test]
    fn rows_of_the_table() {
        let mut requests = Requests::default();
        for id in 0..10 {
            requests.push(RequestRow {
                round: Opt::some(7),
                round_kind: Some(if id < 2 { "warmup" } else { "measured" }.to_owned()),
                sent_ts_ns: Opt::some(id),
                end_ts_ns: Opt::some(id + 5),
                ..RequestRow::new(id, RequestStatus::Completed)
            });
        }
        assign_blocks(&mut requests);
        let rounds: Vec<i64> = requests.round.iter().filter_map(|round| round.get()).collect();
        assert_eq!(rounds, [7, 7, 0, 0, 0, 0, 1, 1, 1, 1]);
    }
}
