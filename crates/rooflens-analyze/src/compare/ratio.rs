//! How much larger is the median of one sample than that of another, how sure is that, and could it be chance?
//!
//! The interval is that of the percentile bootstrap over blocks of neighbours. Not BCa: its acceleration comes from
//! leaving out one value at a time, which tells nothing about a median. The interval alone would call too many
//! equal samples different where they are small, so a change must also pass two tests: of ranks, which holds its
//! level for any distribution, and of [`blocks`], which holds it where neighbours are alike.

use crate::percentile::linear;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::blocks;
use super::random::Random;
use super::rank_sum::rank_sum;
use crate::compare::headline::MetricSample;

/// Fewest values a side: with three a side, the rarest order has p = 0.1.
pub const FEWEST: usize = 4;
pub(super) const DRAWS: usize = 2_000;
/// The least of it, where a sample has very many values.
const FEWEST_DRAWS: usize = 200;
const MOST_WORK: usize = 20_000_000;
/// Probability that the interval holds the ratio.
const CONFIDENCE: f64 = 0.95;

/// The ratio B / A of medians.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// B / A.
    pub ratio: f64,
    /// 95 % interval of it.
    pub low: f64,
    /// Its upper end; null in JSON where it is infinite, since A may be 0.
    #[serde(deserialize_with = "null_is_infinite")]
    #[schemars(with = "Option<f64>")]
    pub high: f64,
    /// Probability of so great a difference between samples of one distribution: the larger value of both tests.
    pub p: f64,
    /// The least change that the spread between blocks of each side lets one tell, as 0.03; null where times are 0.
    pub least_change: Option<f64>,
    /// By how much the halves of one side differ, as 0.03: a change that came without a change. 0 where rounds took turns:
    /// both sides then have it.
    pub drift: f64,
}

/// JSON has no infinity: it is written as null.
fn null_is_infinite<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

impl Ratio {
    /// Whether the interval is on one side of "the same".
    pub fn excludes_same(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }

    /// Whether it is more than what a side did by itself.
    pub fn exceeds_drift(&self) -> bool {
        self.ratio.max(1.0 / self.ratio) > 1.0 + self.drift
    }
}

/// Compares medians of values in the order of time. `None` where a side has fewer than [`FEWEST`] values or the
/// median of A is not positive.
pub fn ratio(a: &[f64], b: &[f64]) -> Option<Ratio> {
    let samples = (MetricSample::median(a)?, MetricSample::median(b)?);
    compared((&samples.0, &samples.1), (a, b), DRAWS)
}

pub(super) fn limits(ratios: &mut [f64]) -> (f64, f64) {
    ratios.sort_unstable_by(f64::total_cmp);
    let outside = (1.0 - CONFIDENCE) / 2.0;
    (linear(ratios, outside), linear(ratios, 1.0 - outside))
}

/// Compares a metric of two runs: its size is that of the values, how sure it is follows from the rounds, which are
/// drawn anew as a whole. `None` where a side has fewer than [`FEWEST`] rounds or the value of A is not positive.
pub fn ratio_of(a: &MetricSample, b: &MetricSample) -> Option<Ratio> {
    // Many values per round need fewer draws for an interval of the same precision than they would take time.
    let draws = (MOST_WORK / (a.size() + b.size())).clamp(FEWEST_DRAWS, DRAWS);
    compared((a, b), (&a.rounds(), &b.rounds()), draws)
}

fn compared(
    (a, b): (&MetricSample, &MetricSample),
    (rounds_a, rounds_b): (&[f64], &[f64]),
    draws: usize,
) -> Option<Ratio> {
    let (of_a, of_b) = (a.value(), b.value());
    let all = || rounds_a.iter().chain(rounds_b).chain([&of_a, &of_b]);
    if rounds_a.len().min(rounds_b.len()) < FEWEST || all().any(|value| !value.is_finite()) || of_a <= 0.0 {
        return None;
    }
    let memory = blocks::memory(rounds_a, rounds_b);
    // The same samples give the same draws.
    let mut random = Random::new(seed(a.size(), b.size()));
    let mut times = Vec::new();
    let mut drawn = |sample: &MetricSample| {
        let rounds = sample.count();
        draw(&mut times, rounds, blocks::length(rounds, memory), &mut random);
        sample.of(&times)
    };
    let mut ratios: Vec<f64> = (0..draws).map(|_| drawn_ratio(drawn(a), drawn(b))).collect();
    let (low, high) = limits(&mut ratios);
    let by_blocks = blocks::compare(rounds_a, rounds_b, memory);
    Some(Ratio {
        ratio: of_b / of_a,
        low,
        high,
        p: rank_sum(rounds_a, rounds_b)?.max(by_blocks.p),
        least_change: by_blocks.least,
        drift: blocks::drift(rounds_a).max(blocks::drift(rounds_b)).exp_m1(),
    })
}

pub(super) fn seed(a: usize, b: usize) -> u64 {
    0x005e_ed0f_c0fa_11e5 ^ ((a as u64) << 32) ^ b as u64
}

pub(super) fn drawn_ratio(below: f64, above: f64) -> f64 {
    if below > 0.0 { above / below } else { f64::INFINITY }
}

/// How often each round was drawn, in blocks of neighbours; after the last comes the first.
fn draw(times: &mut Vec<u32>, rounds: usize, block: usize, random: &mut Random) {
    times.clear();
    times.resize(rounds, 0);
    let mut left = rounds;
    while left > 0 {
        let first = random.below(rounds);
        let taken = block.min(left);
        (first..first + taken).for_each(|at| times[at % rounds] += 1);
        left -= taken;
    }
}

pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The median of values in order.
pub fn median(sorted: &[f64]) -> f64 {
    linear(sorted, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let (a, b) = ([10.0, 20.0, 30.0, 40.0], [20.0, 40.0, 60.0, 80.0]);
        let found = ratio(&a, &b).unwrap();
        assert_eq!(found.ratio, 2.0); // 50 / 25
        assert!(found.low >= 0.5 && found.high <= 8.0 && found.low < found.high);
        assert_eq!(found, ratio(&a, &b).unwrap(), "the same each time");
        // Halves of A have the medians 15 and 35.
        assert!((found.drift - (35.0 / 15.0 - 1.0)).abs() < 1e-12 && !found.exceeds_drift());
        let same = ratio(&[5.0; 6], &[5.0; 6]).unwrap();
        assert_eq!((same.ratio, same.low, same.high, same.p), (1.0, 1.0, 1.0, 1.0));
        assert_eq!(ratio(&a[..3], &b), None);
        assert_eq!(ratio(&[0.0; 4], &b), None);
        assert_eq!(ratio(&[f64::NAN; 4], &b), None);
    }
}
