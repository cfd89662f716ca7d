//! Do intervals hold the truth as often as they say, and do comparisons of blocks alarm as seldom as they must? On runs
//! whose truth is known: noise whose neighbours are alike, and a queue.

use super::blocks::blocks;
use super::interval::{mean_interval, quantile_interval};
use crate::compare::headline::{self, MeasuredRequest, MetricSample};
use crate::compare::random::Random;
use crate::compare::{Headline, LEVEL, rank_sum};

pub(super) fn exponential(random: &mut Random) -> f64 {
    -random.uniform().ln()
}

/// Normal values of variance 1, each of which keeps `phi` of the one before.
pub(super) fn autoregressive(random: &mut Random, phi: f64, count: usize) -> Vec<f64> {
    let mut value = random.normal();
    let mut next = || {
        value = phi * value + (1.0 - phi * phi).sqrt() * random.normal();
        value
    };
    (0..count).map(|_| next()).collect()
}

/// Times in an M/M/1 queue of this load, from its steady state on: exponential with the mean 1 / (1 − load).
fn queue(random: &mut Random, load: f64, count: usize) -> Vec<f64> {
    let mut wait = if random.uniform() < load { exponential(random) / (1.0 - load) } else { 0.0 };
    let mut next = || {
        let time = wait + exponential(random);
        wait = (time - exponential(random) / load).max(0.0);
        time
    };
    (0..count).map(|_| next()).collect()
}

#[derive(Debug, Clone, Copy)]
enum Process {
    Normal(f64),
    LogNormal(f64),
    Queue(f64),
}

impl Process {
    fn series(self, random: &mut Random, count: usize) -> Vec<f64> {
        match self {
            Process::Normal(phi) => {
                autoregressive(random, phi, count).iter().map(|noise| 10.0 + noise).collect()
            }
            Process::LogNormal(phi) => {
                autoregressive(random, phi, count).iter().map(|noise| (noise / 2.0).exp()).collect()
            }
            Process::Queue(load) => queue(random, load, count),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Process::Normal(_) => 10.0,
            Process::LogNormal(_) => 0.125_f64.exp(),
            Process::Queue(load) => 1.0 / (1.0 - load),
        }
    }

    fn quantile(self, share: f64) -> f64 {
        // Of the normal distribution.
        let z = if share == 0.5 { 0.0 } else { 2.326_347_874 };
        match self {
            Process::Normal(_) => 10.0 + z,
            Process::LogNormal(_) => (z / 2.0).exp(),
            Process::Queue(load) => -(1.0 - share).ln() / (1.0 - load),
        }
    }
}

fn held(process: Process, of: Estimate, count: usize, seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let (mut told, mut held) = (0, 0);
    for _ in 0..RUNS {
        let series = process.series(&mut random, count);
        let (found, truth) = match of {
            Estimate::Mean => (mean_interval(&series), process.mean()),
            Estimate::Percentile(share) => (quantile_interval(&series, share), process.quantile(share)),
        };
        let Some(interval) = found else { continue };
        assert!(interval.low <= interval.value && interval.value <= interval.high, "{interval:?}");
        told += 1;
        held += usize::from((interval.low..=interval.high).contains(&truth));
    }
    (told, held)
}

/// Enough that chance moves the share by less than half a percent.
const RUNS: usize = 3_000;

#[derive(Debug, Clone, Copy)]
enum Estimate {
    Mean,
    Percentile(f64),
}

const P50: Estimate = Estimate::Percentile(0.5);
const P99: Estimate = Estimate::Percentile(0.99);

fn check_held(cases: &[(Process, usize, u64)], estimates: &[Estimate]) {
    for ((process, count, seed), of) in
        cases.iter().flat_map(|case| estimates.iter().map(move |of| (*case, *of)))
    {
        let (told, held) = held(process, of, count, seed);
        assert!(told * 10 >= RUNS * 9, "{of:?} of {process:?}, {count}: only {told} of {RUNS} intervals");
        let rate = held as f64 / told as f64;
        assert!((0.93..=0.97).contains(&rate), "{of:?} of {process:?}, {count}: {held} of {told}");
    }
}

fn check_silent(cases: &[(Process, usize, u64)], estimates: &[Estimate]) {
    for ((process, count, seed), of) in
        cases.iter().flat_map(|case| estimates.iter().map(move |of| (*case, *of)))
    {
        let (told, held) = held(process, of, count, seed);
        assert!((told - held) * 10 <= RUNS, "{of:?} of {process:?}, {count}: {held} of {told}");
    }
}

#[test]
fn intervals_of_means_hold_the_truth() {
    check_held(&[(Process::Normal(0.0), 500, 1), (Process::Queue(0.5), 1_000, 5)], &[Estimate::Mean]);
}

#[test]
fn intervals_of_medians_hold_the_truth() {
    check_held(&[(Process::LogNormal(0.8), 1_000, 3)], &[P50]);
}

#[test]
#[ignore = "takes minutes"]
fn nightly_intervals_hold_the_truth() {
    let short = [
        (Process::Normal(0.0), 500, 1),
        (Process::Normal(0.4), 1_000, 2),
        (Process::Normal(0.8), 1_000, 3),
        (Process::LogNormal(0.6), 1_000, 4),
        (Process::Queue(0.5), 1_000, 5),
        (Process::Queue(0.5), 5_000, 16),
        (Process::Queue(0.7), 5_000, 17),
    ];
    check_held(&short, &[Estimate::Mean, P50]);
    let long = [
        (Process::Normal(0.0), 5_000, 11),
        (Process::Normal(0.4), 5_000, 12),
        (Process::Normal(0.8), 5_000, 13),
        (Process::LogNormal(0.4), 5_000, 14),
        (Process::LogNormal(0.8), 5_000, 15),
    ];
    check_held(&long, &[Estimate::Mean, P50, P99]);
}

#[test]
#[ignore = "takes minutes"]
fn nightly_runs_that_are_too_short_are_told() {
    // A busy queue remembers for as long as these runs last.
    let busy = [(Process::Queue(0.8), 1_000, 18), (Process::Queue(0.9), 2_000, 19)];
    check_silent(&busy, &[Estimate::Mean, P50, P99]);
    check_silent(&[(Process::Queue(0.5), 5_000, 16), (Process::Normal(0.8), 1_000, 3)], &[P99]);
}

#[test]
fn a_busy_queue_has_too_little_to_say() {
    let series = queue(&mut Random::new(1), 0.95, 1_000);
    assert_eq!(mean_interval(&series), None);
}

/// Times per token of the requests of a load test, ns: noise of each request, and a machine that changes slowly.
fn times_per_token(random: &mut Random, phi: f64, factor: f64) -> Vec<f64> {
    let slow = autoregressive(random, phi, 600);
    slow.iter().map(|slow| factor * 5e6 * (0.02 * slow + 0.03 * random.normal()).exp()).collect()
}

fn sample(times: &[f64]) -> MetricSample {
    // Twenty tokens each, one request every 10 ms.
    let tokens: Vec<[i64; 2]> = times
        .iter()
        .zip(0_i64..)
        .map(|(tpot, at)| [at * 10_000_000, at * 10_000_000 + (19.0 * tpot) as i64])
        .collect();
    let due: Vec<(i64, f64)> = tokens.iter().map(|ns| (ns[0], (ns[1] - ns[0]) as f64)).collect();
    let requests: Vec<MeasuredRequest<'_>> = tokens
        .iter()
        .zip(blocks(&due))
        .map(|(token_ns, round)| MeasuredRequest {
            round,
            prompt_tokens: 10,
            output_tokens: 20,
            scheduled_ns: Some(token_ns[0]),
            start_ns: token_ns[0],
            token_ns,
            is_load_test: true,
            ..MeasuredRequest::default()
        })
        .collect();
    headline::find("tpot_p50").unwrap().of(&requests).unwrap()
}

fn alarms(seed: u64, pairs: usize, phi: f64, factor: f64) -> usize {
    let mut random = Random::new(seed);
    let is_called = |_: &usize| {
        let (a, b) = (
            sample(&times_per_token(&mut random, phi, 1.0)),
            sample(&times_per_token(&mut random, phi, factor)),
        );
        // The interval is not needed where the ranks say no: that keeps this quick.
        rank_sum(&a.rounds(), &b.rounds()).is_some_and(|p| p < LEVEL)
            && Headline::of("tpot_p50_ns", false, Some(&a), Some(&b)).is_change
    };
    (0..pairs).filter(is_called).count()
}

#[test]
fn load_tests_of_the_same_thing_seldom_alarm() {
    for (seed, phi) in [(61, 0.8), (62, 0.95)] {
        let found = alarms(seed, 400, phi, 1.0);
        assert!(found <= 20, "{found} of 400 at {phi}");
    }
}

#[test]
fn five_percent_of_tpot_are_found() {
    let found = alarms(63, 50, 0.8, 1.05);
    assert!(found >= 45, "{found} of 50");
}
