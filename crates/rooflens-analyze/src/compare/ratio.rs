//! How much larger is the median (or another percentile) of one sample than that of another, how sure is
//! that, and could it be chance?
//!
//! The interval is that of the percentile bootstrap. Not BCa: its acceleration comes from leaving out one
//! value at a time, which tells nothing about a median. The interval alone would call too many equal samples
//! different where they are small, so a change must also pass a test of its own: of ranks for medians, of
//! exchanged labels for other percentiles, both of which hold their level for any distribution.

use serde::Serialize;

use super::random::Random;
use super::rank_sum::rank_sum;

/// Fewest values a side: with three a side, the rarest order has p = 0.1.
pub const FEWEST: usize = 4;
/// How often samples are drawn anew.
const DRAWS: usize = 2_000;
/// How often labels are exchanged.
const EXCHANGES: usize = 1_999;
/// Probability that the interval holds the ratio.
const CONFIDENCE: f64 = 0.95;

/// The ratio B / A of a percentile.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// B / A.
    pub ratio: f64,
    /// 95 % interval of it.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Probability of so great a difference between samples of the same thing.
    pub p: f64,
}

impl Ratio {
    /// Whether the interval is on one side of "the same".
    pub fn excludes_same(&self) -> bool {
        self.low > 1.0 || self.high < 1.0
    }
}

/// Compares a percentile, as 0.5 for the median. `None` where a side has fewer than [`FEWEST`] values or the
/// percentile of A is not positive.
pub fn ratio(a: &[f64], b: &[f64], share: f64) -> Option<Ratio> {
    if a.len().min(b.len()) < FEWEST || a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let (a, b) = (sorted(a), sorted(b));
    let (of_a, of_b) = (percentile(&a, share), percentile(&b, share));
    if of_a <= 0.0 {
        return None;
    }
    // The same samples give the same draws.
    let mut random = Random::new(0x005e_ed0f_c0fa_11e5 ^ ((a.len() as u64) << 32) ^ b.len() as u64);
    let mut counts = Vec::new();
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let below = drawn(&a, share, &mut random, &mut counts);
            let above = drawn(&b, share, &mut random, &mut counts);
            if below > 0.0 { above / below } else { f64::INFINITY }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let outside = (1.0 - CONFIDENCE) / 2.0;
    let p = if share == 0.5 { rank_sum(&a, &b)? } else { exchanged(&a, &b, share, &mut random) };
    Some(Ratio {
        ratio: of_b / of_a,
        low: percentile(&ratios, outside),
        high: percentile(&ratios, 1.0 - outside),
        p,
    })
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Of sorted values: rank `share × (n − 1)`, and between two values on the straight line through them, as in
/// `metrics.json`. 0 for none.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let rank = share.clamp(0.0, 1.0) * last as f64;
    let below = (rank.floor() as usize).min(last);
    let above = (below + 1).min(last);
    let part = rank - below as f64;
    if part == 0.0 { sorted[below] } else { sorted[below] + (sorted[above] - sorted[below]) * part }
}

/// The percentile of as many values drawn from a sorted sample. They need not be sorted again: how often each
/// was drawn is enough.
fn drawn(sorted: &[f64], share: f64, random: &mut Random, counts: &mut Vec<u32>) -> f64 {
    let n = sorted.len();
    counts.clear();
    counts.resize(n, 0);
    (0..n).for_each(|_| counts[random.below(n)] += 1);
    let rank = share * (n - 1) as f64;
    let below = rank.floor() as usize;
    let above = (below + 1).min(n - 1);
    let (mut low, mut high, mut seen) = (sorted[0], sorted[n - 1], 0);
    for (value, times) in sorted.iter().zip(&*counts).filter(|(_, times)| **times > 0) {
        let to = seen + *times as usize;
        if (seen..to).contains(&below) {
            low = *value;
        }
        if (seen..to).contains(&above) {
            high = *value;
            break;
        }
        seen = to;
    }
    low + (high - low) * (rank - below as f64)
}

/// The p-value by exchanging labels: how often the percentiles of two random halves differ by so much.
fn exchanged(a: &[f64], b: &[f64], share: f64, random: &mut Random) -> f64 {
    let differ = |a: f64, b: f64| if a > 0.0 && b > 0.0 { (b / a).ln().abs() } else { (b - a).abs() };
    let found = differ(percentile(a, share), percentile(b, share));
    // Sorted as a whole, each half stays sorted when it is picked out in order.
    let all = sorted(&[a, b].concat());
    let mut is_a: Vec<bool> = (0..all.len()).map(|i| i < a.len()).collect();
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let mut as_much = 1;
    for _ in 0..EXCHANGES {
        for i in (1..is_a.len()).rev() {
            is_a.swap(i, random.below(i + 1));
        }
        left.clear();
        right.clear();
        for (value, of_a) in all.iter().zip(&is_a) {
            if *of_a { left.push(*value) } else { right.push(*value) }
        }
        as_much += usize::from(differ(percentile(&left, share), percentile(&right, share)) >= found - 1e-12);
    }
    as_much as f64 / (EXCHANGES + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A normal deviate, by Box and Muller.
    fn normal(random: &mut Random) -> f64 {
        let uniform = |random: &mut Random| ((random.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        (-2.0 * uniform(random).ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform(random)).cos()
    }

    /// Times as they are measured: log-normal around `median`, and one in twenty is up to a half longer.
    fn times(random: &mut Random, count: usize, median: f64, deviation: f64) -> Vec<f64> {
        (0..count)
            .map(|_| {
                let slow = if random.below(20) == 0 { 1.0 + random.below(50) as f64 / 100.0 } else { 1.0 };
                median * (deviation * normal(random)).exp() * slow
            })
            .collect()
    }

    fn is_change(a: &[f64], b: &[f64], share: f64) -> bool {
        ratio(a, b, share).is_some_and(|ratio| ratio.p < 0.05 && ratio.excludes_same())
    }

    /// How many of so many pairs of 30 and 30 are called different.
    fn called(seed: u64, pairs: usize, shift: f64, deviation: f64) -> usize {
        let mut random = Random::new(seed);
        let pair = |random: &mut Random| {
            (times(random, 30, 1e6, deviation), times(random, 30, 1e6 * shift, deviation))
        };
        (0..pairs)
            .filter(|_| {
                let (a, b) = pair(&mut random);
                // The interval is not needed where the ranks say no: that keeps the test quick.
                rank_sum(&a, &b).is_some_and(|p| p < 0.05) && is_change(&a, &b, 0.5)
            })
            .count()
    }

    #[test]
    fn equal_samples_are_rarely_called_different() {
        for (seed, deviation) in [(11, 0.01), (12, 0.02), (13, 0.10)] {
            let alarms = called(seed, 1_000, 1.0, deviation);
            assert!(alarms <= 50, "{alarms} of 1,000 at {deviation}");
            assert!(alarms >= 10, "{alarms} of 1,000: the test never fires");
        }
    }

    #[test]
    fn three_percent_are_found() {
        for (seed, deviation) in [(21, 0.01), (22, 0.02)] {
            let found = called(seed, 200, 1.03, deviation);
            assert!(found >= 180, "{found} of 200 at {deviation}");
        }
    }

    #[test]
    fn intervals_hold_the_ratio() {
        let mut random = Random::new(31);
        let held = (0..200).filter(|_| {
            let (a, b) = (times(&mut random, 30, 1e6, 0.02), times(&mut random, 30, 1.1e6, 0.02));
            ratio(&a, &b, 0.5).is_some_and(|ratio| (ratio.low..=ratio.high).contains(&1.1))
        });
        let held = held.count();
        assert!(held >= 183, "{held} of 200 at 95 %");
    }

    #[test]
    fn by_hand() {
        let (a, b) = ([10.0, 20.0, 30.0, 40.0], [20.0, 40.0, 60.0, 80.0]);
        let found = ratio(&a, &b, 0.5).unwrap();
        assert_eq!(found.ratio, 2.0); // 50 / 25
        assert!(found.low >= 0.5 && found.high <= 8.0 && found.low < found.high);
        assert_eq!(found, ratio(&a, &b, 0.5).unwrap(), "the same each time");
        let same = ratio(&[5.0; 6], &[5.0; 6], 0.5).unwrap();
        assert_eq!((same.ratio, same.low, same.high, same.p), (1.0, 1.0, 1.0, 1.0));
        assert_eq!(ratio(&a[..3], &b, 0.5), None);
        assert_eq!(ratio(&[0.0; 4], &b, 0.5), None);
        assert_eq!(ratio(&[f64::NAN; 4], &b, 0.5), None);
        // Rank 0.9 × 3 = 2.7.
        assert!((percentile(&a, 0.9) - 37.0).abs() < 1e-9);
    }

    #[test]
    fn other_percentiles_by_exchanged_labels() {
        let mut random = Random::new(41);
        let alarms = (0..100).filter(|_| {
            let (a, b) = (times(&mut random, 40, 1e6, 0.02), times(&mut random, 40, 1e6, 0.02));
            is_change(&a, &b, 0.9)
        });
        let alarms = alarms.count();
        assert!(alarms <= 10, "{alarms} of 100"); // 5 and more than two deviations of 2.2
        let (a, b) = (times(&mut random, 100, 1e6, 0.02), times(&mut random, 100, 2e6, 0.02));
        assert_eq!(ratio(&a, &b, 0.99).unwrap().p, 1.0 / 2000.0);
    }
}
