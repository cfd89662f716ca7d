//! Was the load steady? Two questions: does latency drift, and does the server keep up with arrivals?

use crate::percentile::linear;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::series::{batch_means, mean, unbiased_lag_one};
use crate::compare::rank_sum::normal_tails;
use crate::compare::ratio::sorted;

/// Most batches of the test for a drift.
const MAX_BATCHES: usize = 20;
/// Fewest batches, and fewest requests of each.
const MIN_BATCHES: usize = 8;
const MIN_REQUESTS: usize = 40;
/// Highest correlation of the means of neighbouring batches, about their trend.
const MAX_CORRELATION: f64 = 0.1;
const DRIFT_LEVEL: f64 = 0.01;
/// A drift by less than this share of the median over the whole test is none.
const MIN_DRIFT: f64 = 0.05;
const MOMENTS: usize = 20;
/// Least share of the arrivals that stays behind when the server does not keep up.
const MIN_BACKLOG: f64 = 0.02;

/// A request of a load test: when it was due, and when its response ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arrival {
    /// Scheduled time, or when it was sent.
    pub at_ns: i64,
    /// When it ended; `None` where it never did.
    pub end_ns: Option<i64>,
}

/// Whether a load test reached a steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SteadyVerdict {
    /// No drift was found, and the server kept up.
    Steady,
    /// Latency rises or falls over the test.
    Drifting,
    /// More requests arrive than are completed: the queue grows as long as the test lasts.
    Overloaded,
    /// Too few requests to tell.
    TooFew,
}

/// The answer, with what it follows from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steadiness {
    /// The answer.
    pub verdict: SteadyVerdict,
    /// Change of latency from the begin to the end of the test, as a share of its median; null where there is too
    /// little to tell.
    pub(crate) drift: Option<f64>,
    /// Probability of such a drift by chance.
    pub(crate) p: Option<f64>,
    /// Share of the arrivals by which the requests in the system grow; null in a closed loop.
    pub(crate) backlog: Option<f64>,
    /// In words.
    pub words: String,
}

/// Whether a load test was steady. In a closed loop requests are only sent as others end: it cannot be overloaded.
pub fn steadiness(requests: &[Arrival], is_open_loop: bool) -> Steadiness {
    let mut order = requests.to_vec();
    order.sort_by_key(|request| request.at_ns);
    let latency = |request: &Arrival| Some(request.end_ns?.saturating_sub(request.at_ns).max(0) as f64);
    let latencies: Vec<f64> = order.iter().filter_map(latency).collect();
    let growth = is_open_loop.then(|| backlog(&order)).flatten();
    let trend = drift(&latencies);
    let backlog = growth.map(|growth| growth.share);
    let (change, p) = (trend.map(|trend| trend.change), trend.map(|trend| trend.p));
    let say = |verdict, words: String| Steadiness { verdict, drift: change, p, backlog, words };
    if let Some(growth) = growth.filter(|growth| growth.is_overload) {
        let percent = growth.share * 100.0;
        let words = format!(
            "overloaded: the queue grows by {percent:.0} % of the arrivals, so latency depends on how long the test lasts"
        );
        return say(SteadyVerdict::Overloaded, words);
    }
    match trend {
        None => {
            say(SteadyVerdict::TooFew, format!("{} completed requests are too few to tell", latencies.len()))
        }
        Some(trend) if trend.p < DRIFT_LEVEL && trend.change.abs() >= MIN_DRIFT => {
            let way = if trend.change > 0.0 { "rises" } else { "falls" };
            let percent = trend.change.abs() * 100.0;
            say(SteadyVerdict::Drifting, format!("latency {way} by {percent:.0} % over the test"))
        }
        Some(_) => say(SteadyVerdict::Steady, "steady: latency has no trend".to_owned()),
    }
}

#[derive(Debug, Clone, Copy)]
struct Trend {
    change: f64,
    p: f64,
}

/// Mann and Kendall's test on means of batches that are nearly independent about their trend.
fn drift(latencies: &[f64]) -> Option<Trend> {
    if latencies.len() < MIN_REQUESTS {
        return None;
    }
    let mut count = MAX_BATCHES.min(latencies.len() / 5);
    let means = loop {
        let means = batch_means(latencies, count);
        let next = count * 4 / 5;
        if next < MIN_BATCHES || unbiased_lag_one(&detrended(&means)) <= MAX_CORRELATION {
            break means;
        }
        count = next;
    };
    let median = linear(&sorted(latencies), 0.5);
    let change = slope(&means) * (means.len() - 1) as f64;
    Some(Trend { change: if median > 0.0 { change / median } else { 0.0 }, p: mann_kendall(&means) })
}

fn detrended(values: &[f64]) -> Vec<f64> {
    let (middle, mean) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
    let off = |at: usize| at as f64 - middle;
    let squares: f64 = (0..values.len()).map(|at| off(at) * off(at)).sum();
    let slope = values.iter().enumerate().map(|(at, value)| off(at) * (value - mean)).sum::<f64>() / squares;
    values.iter().enumerate().map(|(at, value)| value - mean - slope * off(at)).collect()
}

fn slope(values: &[f64]) -> f64 {
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let slopes: Vec<f64> = pairs.map(|(i, j)| (values[j] - values[i]) / (j - i) as f64).collect();
    linear(&sorted(&slopes), 0.5)
}

fn mann_kendall(values: &[f64]) -> f64 {
    let pairs = (0..values.len()).flat_map(|i| (i + 1..values.len()).map(move |j| (i, j)));
    let score: i64 = pairs
        .map(|(i, j)| match values[j].total_cmp(&values[i]) {
            std::cmp::Ordering::Greater => 1,
            std::cmp::Ordering::Less => -1,
            std::cmp::Ordering::Equal => 0,
        })
        .sum();
    let n = values.len() as f64;
    let variance = n * (n - 1.0) * (2.0 * n + 5.0) / 18.0;
    normal_tails(((score.abs() - 1).max(0)) as f64 / variance.sqrt())
}

#[derive(Debug, Clone, Copy)]
struct Backlog {
    share: f64,
    is_overload: bool,
}

/// How requests in the system grow while requests arrive, once the first ones have ended. They are due to chance where
/// they stay within twice the square root of the arrivals, as Poisson arrivals vary.
fn backlog(order: &[Arrival]) -> Option<Backlog> {
    let (begin, last) = (order.first()?.at_ns, order.last()?.at_ns);
    let first = begin.checked_add(first_latency(order)?)?;
    let span = last.checked_sub(first).filter(|span| *span > 0 && order.len() >= MIN_REQUESTS)?;
    let whole = last.checked_sub(begin)?;
    if span < whole / 2 {
        return None;
    }
    let mut ends: Vec<i64> = order.iter().filter_map(|request| request.end_ns).collect();
    ends.sort_unstable();
    let in_system = |moment: usize| {
        let until = first + (span as i128 * moment as i128 / MOMENTS as i128) as i64;
        let arrived = order.partition_point(|request| request.at_ns <= until);
        arrived as f64 - ends.partition_point(|end| *end <= until) as f64
    };
    let counts: Vec<f64> = (0..=MOMENTS).map(in_system).collect();
    let growth = slope(&counts) * MOMENTS as f64;
    let arrivals = order.iter().filter(|request| request.at_ns > first).count() as f64;
    let share = growth / arrivals;
    let is_overload =
        share > MIN_BACKLOG && growth > 2.0 * arrivals.sqrt() && mann_kendall(&counts) < DRIFT_LEVEL;
    Some(Backlog { share, is_overload })
}

fn first_latency(order: &[Arrival]) -> Option<i64> {
    let first = order.iter().take(order.len().div_ceil(10));
    let latencies: Vec<f64> =
        first.filter_map(|one| Some(one.end_ns?.saturating_sub(one.at_ns).max(0) as f64)).collect();
    (!latencies.is_empty()).then(|| linear(&sorted(&latencies), 0.5) as i64)
}

#[cfg(test)]
mod tests {
    use super::super::calibration::{autoregressive, exponential};
    use super::*;
    use crate::compare::random::Random;

    #[test]
    fn by_hand() {
        // 1, 3, 2, 4: five pairs rise, one falls: S = 4, variance 4 × 3 × 13 / 18, z = 3 / 2.944.
        assert!((mann_kendall(&[1.0, 3.0, 2.0, 4.0]) - 0.308_180).abs() < 1e-5);
        assert_eq!(slope(&[1.0, 3.0, 5.0, 7.0]), 2.0);
        assert!(detrended(&[1.0, 3.0, 5.0, 7.0]).iter().all(|value| value.abs() < 1e-12));
        assert_eq!(steadiness(&[], true).verdict, SteadyVerdict::TooFew);
    }

    fn arrivals(latencies: &[f64]) -> Vec<Arrival> {
        (0..)
            .zip(latencies)
            .map(|(at, latency)| Arrival { at_ns: at * 10_000, end_ns: Some(at * 10_000 + *latency as i64) })
            .collect()
    }

    #[test]
    fn noise_seldom_drifts_and_a_drift_is_found() {
        let mut random = Random::new(8);
        for phi in [0.0, 0.5, 0.8] {
            let mut made = |slope: f64| {
                let noise = autoregressive(&mut random, phi, 1_000);
                let latency =
                    |(at, noise): (usize, &f64)| 1e6 * (1.0 + 0.1 * noise + slope * at as f64 / 1e3);
                steadiness(&arrivals(&noise.iter().enumerate().map(latency).collect::<Vec<_>>()), true)
                    .verdict
            };
            let alarms = (0..200).filter(|_| made(0.0) != SteadyVerdict::Steady).count();
            assert!(alarms <= 10, "{alarms} of 200 at {phi}");
            let found = (0..50).filter(|_| made(0.3) == SteadyVerdict::Drifting).count();
            assert!(found >= 45, "{found} of 50 at {phi}");
        }
    }

    fn queue(random: &mut Random, load: f64, count: usize) -> Vec<Arrival> {
        let (mut at, mut free) = (0.0, 0.0_f64);
        let mut made = Vec::new();
        for _ in 0..count {
            at += 1e6 * exponential(random) / load;
            free = free.max(at) + 1e6 * exponential(random);
            made.push(Arrival { at_ns: at as i64, end_ns: Some(free as i64) });
        }
        made
    }

    #[test]
    fn a_queue_that_grows_is_overload() {
        let mut random = Random::new(9);
        let mut overloaded = |load: f64| {
            let verdict = |_: &usize| {
                let found = steadiness(&queue(&mut random, load, 1_000), true);
                found.verdict == SteadyVerdict::Overloaded
            };
            (0..100).filter(verdict).count()
        };
        assert!(overloaded(0.7) == 0 && overloaded(0.9) <= 5);
        assert!(overloaded(1.3) >= 95);
        // One arrives every millisecond, one ends every two: half of the arrivals stay behind.
        let even: Vec<Arrival> = (0..1_000)
            .map(|at| Arrival { at_ns: at * 1_000_000, end_ns: Some((2 * at + 2) * 1_000_000) })
            .collect();
        let found = steadiness(&even, true);
        assert_eq!(found.verdict, SteadyVerdict::Overloaded);
        assert!((found.backlog.unwrap() - 0.5).abs() < 0.01, "{found:?}");
        assert!(found.words.contains("grows by 50 % of the arrivals"), "{}", found.words);
        assert_eq!(steadiness(&queue(&mut random, 2.0, 2_000), false).backlog, None);
    }
}
