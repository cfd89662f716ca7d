//! How often are equal runs called different, and how often is a change found? On made noise, on noise whose
//! neighbours are alike, and on the rounds of a real run.

use crate::percentile::linear;

use super::random::Random;
use super::*;
use crate::compare::headline::MetricSample;

/// Thirty times as they are measured: log-normal around `median`, and one in twenty is up to a half longer.
fn times(random: &mut Random, median: f64, deviation: f64) -> Vec<f64> {
    (0..30)
        .map(|_| {
            let slow = if random.below(20) == 0 { 1.0 + random.below(50) as f64 / 100.0 } else { 1.0 };
            median * (deviation * random.normal()).exp() * slow
        })
        .collect()
}

/// Thirty times, each of which keeps `kept` of how the one before was off.
fn alike(random: &mut Random, kept: f64) -> Vec<f64> {
    let mut off = random.normal();
    (0..30)
        .map(|_| {
            off = kept * off + (1.0 - kept * kept).sqrt() * random.normal();
            1e6 * (0.05 * off).exp()
        })
        .collect()
}

fn of(metric: &'static str, a: &[f64], b: &[f64]) -> Headline {
    Headline::of(metric, false, MetricSample::median(a).as_ref(), MetricSample::median(b).as_ref())
}

fn is_change(a: &[f64], b: &[f64]) -> bool {
    of("tpot_p50_ns", a, b).is_change
}

fn called(seed: u64, pairs: usize, mut pair: impl FnMut(&mut Random) -> (Vec<f64>, Vec<f64>)) -> usize {
    let mut random = Random::new(seed);
    let is_called = |_: &usize| {
        let (a, b) = pair(&mut random);
        // The interval is not needed where a test says no: that keeps this quick.
        rank_sum(&a, &b).is_some_and(|p| p < LEVEL)
            && blocks::compare(&a, &b, blocks::memory(&a, &b)).p < LEVEL
            && is_change(&a, &b)
    };
    (0..pairs).filter(is_called).count()
}

#[test]
fn equal_samples_are_rarely_called_different() {
    for (seed, deviation) in [(11, 0.01), (12, 0.02), (13, 0.10)] {
        let alarms =
            called(seed, 1_000, |random| (times(random, 1e6, deviation), times(random, 1e6, deviation)));
        assert!(alarms <= 50, "{alarms} of 1,000 at {deviation}");
        assert!(alarms >= 5, "{alarms} of 1,000: the test never fires");
    }
}

#[test]
fn nor_where_neighbours_are_alike() {
    for (seed, kept) in [(14, 0.3), (15, 0.6), (16, 0.8)] {
        let alarms = called(seed, 1_000, |random| (alike(random, kept), alike(random, kept)));
        assert!(alarms <= 50, "{alarms} of 1,000 where {kept} is kept");
    }
    // The ranks alone would call one in four.
    let mut random = Random::new(15);
    let alarms = (0..1_000)
        .filter(|_| rank_sum(&alike(&mut random, 0.6), &alike(&mut random, 0.6)).is_some_and(|p| p < LEVEL));
    let alarms = alarms.count();
    assert!(alarms > 200, "{alarms} of 1,000: the noise is too tame to test with");
}

#[test]
fn three_percent_are_found() {
    for (seed, deviation) in [(21, 0.01), (22, 0.02)] {
        let found =
            called(seed, 300, |random| (times(random, 1e6, deviation), times(random, 1.03e6, deviation)));
        assert!(found >= 270, "{found} of 300 at {deviation}");
    }
}

#[test]
fn intervals_hold_the_ratio() {
    let mut random = Random::new(31);
    let held = (0..200).filter(|_| {
        let (a, b) = (times(&mut random, 1e6, 0.02), times(&mut random, 1.1e6, 0.02));
        ratio(&a, &b).is_some_and(|ratio| (ratio.low..=ratio.high).contains(&1.1))
    });
    let held = held.count();
    assert!(held >= 176, "{held} of 200 at 95 %");
}

#[test]
fn many_metrics_are_one_question() {
    // Nine metrics of noise: where none changed, at most one comparison in twenty may say that any did.
    let mut random = Random::new(41);
    let alarms = (0..100).filter(|_| {
        let mut all: Vec<Headline> =
            (0..9).map(|_| of("x", &times(&mut random, 1e6, 0.02), &times(&mut random, 1e6, 0.02))).collect();
        judge(&mut all);
        all.iter().any(|row| row.is_change)
    });
    let alarms = alarms.count();
    assert!(alarms <= 5, "{alarms} of 100");
}

/// Times per token of the rounds of two real runs, in their order; how they were made is in fixtures/README.md.
fn real(run: &str) -> Vec<f64> {
    let text = include_str!("../../../../fixtures/compare/rounds.csv");
    let rows = text.lines().filter_map(|line| line.split_once(',')).filter(|(name, _)| *name == run);
    let values: Vec<f64> = rows.filter_map(|(_, ns)| ns.parse().ok()).collect();
    assert_eq!(values.len(), 150, "{run}");
    values
}

/// Thirty rounds for each side at random, in an order at random: repeats that know nothing of each other.
fn drawn(random: &mut Random, all: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (mut all, count) = (all.to_vec(), all.len());
    (0..60).for_each(|i| all.swap(i, i + random.below(count - i)));
    (all[..30].to_vec(), all[30..60].to_vec())
}

/// Thirty rounds in a row for each side, as of two runs after each other.
fn windows(random: &mut Random, all: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let first = random.below(all.len() - 59);
    let second = first + 30 + random.below(all.len() - 59 - first);
    let side = |at: usize| all[at..at + 30].to_vec();
    if random.below(2) == 0 { (side(first), side(second)) } else { (side(second), side(first)) }
}

const RUNS: &[(u64, &str)] = &[(51, "loaded"), (52, "preferred")];

#[test]
fn real_rounds_against_themselves() {
    for (seed, run) in RUNS {
        let all = real(run);
        let alarms = called(*seed, 1_000, |random| drawn(random, &all));
        assert!(alarms <= 50, "{alarms} of 1,000, {run}, at random");
        // In a row, the machine itself changed in between: other programs began and ended. One run a side cannot
        // tell that from a change of its own; the check of load is there for it. Ranks alone call most of these.
        let alarms = called(seed + 10, 1_000, |random| windows(random, &all));
        let mut random = Random::new(seed + 10);
        let by_ranks = (0..1_000).filter(|_| {
            let (a, b) = windows(&mut random, &all);
            rank_sum(&a, &b).is_some_and(|p| p < LEVEL)
        });
        let by_ranks = by_ranks.count();
        assert!(alarms * 3 <= by_ranks, "{run}: {alarms} of 1,000 in a row, {by_ranks} by ranks alone");
    }
}

/// The same rounds as on a calmer machine: their order and the form of their noise, with half of it within 1.35 %
/// either side of the median, as two percent of normal noise has.
fn calmed(all: &[f64]) -> Vec<f64> {
    let mut off: Vec<f64> = all.to_vec();
    off.sort_by(f64::total_cmp);
    let middle = linear(&off, 0.5);
    let spread = (linear(&off, 0.75) / linear(&off, 0.25)).ln();
    all.iter().map(|ns| middle * ((ns / middle).ln() * 2.0 * 0.0135 / spread).exp()).collect()
}

#[test]
fn three_percent_are_found_in_real_rounds() {
    for (seed, run) in RUNS {
        let all = calmed(&real(run));
        let found = called(seed + 20, 300, |random| {
            let (a, mut b) = drawn(random, &all);
            b.iter_mut().for_each(|ns| *ns *= 1.03);
            (a, b)
        });
        assert!(found >= 270, "{run}: {found} of 300");
    }
}
