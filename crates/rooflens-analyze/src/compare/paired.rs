//! Two runs whose rounds take turns: A, B, B, A, … Whatever the machine does by itself is in both rounds of a pair, so
//! that their ratio tells far more than two runs one after the other.
//!
//! The size of a change is the median of the means of all two pairs' logarithms (Hodges and Lehmann, 1963), its interval
//! is that of the signed-rank test of Wilcoxon. Two tests must agree: that one, which knows no distribution, and
//! Student's t, whose number of values is corrected for pairs that remember the one before.

use super::blocks::{of_neighbours, quantile};
use super::rank_sum::normal_tails;
use super::ratio::{FEWEST, Ratio};
use crate::compare::headline::MetricSample;
use crate::compare::trend::student::two_sided;

/// Fewest pairs: with fewer, no change of a single metric among many is more than chance, however large it is.
pub const FEWEST_PAIRS: usize = 10;
/// Pairs up to which the distribution of the sum of ranks is counted.
const EXACT: usize = 60;

/// Compares a metric round by round; the rounds of both are pairs. `None` where there are fewer than [`FEWEST`] pairs, not
/// as many rounds on both sides, or a round in which the metric is not positive.
pub fn paired_ratio_of(a: &MetricSample, b: &MetricSample) -> Option<Ratio> {
    let (rounds_a, rounds_b) = (a.rounds(), b.rounds());
    let is_fine = |value: &f64| value.is_finite() && *value > 0.0;
    if rounds_a.len() != rounds_b.len()
        || rounds_a.len() < FEWEST
        || !rounds_a.iter().chain(&rounds_b).all(is_fine)
    {
        return None;
    }
    let logs: Vec<f64> = rounds_a.iter().zip(&rounds_b).map(|(a, b)| (b / a).ln()).collect();
    let (center, [low, high]) = center(&logs);
    let (by_t, least) = student(&logs);
    Some(Ratio {
        ratio: center.exp(),
        low: low.exp(),
        high: high.exp(),
        p: signed_rank(&logs).max(by_t),
        least_change: Some(least.exp_m1()),
        drift: 0.0,
    })
}

/// The median of the means of two, each with itself too, and the 95 % interval of the signed-rank test.
fn center(values: &[f64]) -> (f64, [f64; 2]) {
    let mut means: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(place, x)| values[place..].iter().map(move |y| f64::midpoint(*x, *y)))
        .collect();
    means.sort_by(f64::total_cmp);
    let count = means.len();
    // So many means at either end are outside: the most whose tail is within 2.5 %.
    let tail = Tail::of(values.len());
    let outside = (0..count / 2).take_while(|sum| tail.at(*sum as f64) <= 0.025).count();
    let middle = f64::midpoint(means[(count - 1) / 2], means[count / 2]);
    (middle, [means[outside.saturating_sub(1)], means[count - outside.max(1)]])
}

/// The two-sided p-value of Wilcoxon's test that values lie around 0.
fn signed_rank(values: &[f64]) -> f64 {
    let mut sizes: Vec<(f64, bool)> =
        values.iter().filter(|value| **value != 0.0).map(|value| (value.abs(), *value > 0.0)).collect();
    sizes.sort_by(|x, y| x.0.total_cmp(&y.0));
    let count = sizes.len();
    let (mut above, mut at) = (0.0, 0);
    while at < count {
        let same = sizes[at..].iter().take_while(|size| size.0 == sizes[at].0).count();
        // Equal values share the mean of their ranks.
        let rank = at as f64 + (same as f64 + 1.0) / 2.0;
        above += rank * sizes[at..at + same].iter().filter(|size| size.1).count() as f64;
        at += same;
    }
    let whole = (count * (count + 1)) as f64 / 2.0;
    (2.0 * Tail::of(count).at(above.min(whole - above))).min(1.0)
}

/// The distribution of the sum of the ranks of one sign.
enum Tail {
    /// The probability of each sum, or less.
    Counted(Vec<f64>),
    /// Mean and standard deviation.
    Normal(f64, f64),
}

impl Tail {
    fn of(count: usize) -> Self {
        let whole = count * (count + 1) / 2;
        if count > EXACT {
            let variance = (whole * (2 * count + 1)) as f64 / 12.0;
            return Tail::Normal(whole as f64 / 2.0, variance.sqrt());
        }
        // The probability of each sum: that of the ranks so far, with and without the next.
        let mut sums = vec![0.0; whole + 1];
        sums[0] = 1.0;
        for rank in 1..=count {
            for at in (0..=whole).rev() {
                sums[at] = (sums[at] + if at >= rank { sums[at - rank] } else { 0.0 }) / 2.0;
            }
        }
        (1..=whole).for_each(|at| sums[at] += sums[at - 1]);
        Tail::Counted(sums)
    }

    /// The probability of this sum, or less.
    fn at(&self, sum: f64) -> f64 {
        match self {
            // A half is between two sums: of ranks that were shared.
            Tail::Counted(sums) => sums[(sum.floor() as usize).min(sums.len() - 1)],
            Tail::Normal(mean, deviation) => normal_tails(((mean - sum - 0.5) / deviation).max(0.0)) / 2.0,
        }
    }
}

/// The two-sided p-value of Student's test that values lie around 0, and the mean that would have 5 %.
fn student(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (count - 1.0);
    let r = of_neighbours(values).clamp(0.0, 0.9);
    let independent = (count * (1.0 - r) / (1.0 + r)).max(2.0);
    let error = (variance / independent).sqrt();
    if error <= 0.0 {
        return (if mean == 0.0 { 1.0 } else { 0.0 }, 0.0);
    }
    (two_sided(mean / error, independent - 1.0), quantile(independent - 1.0) * error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::random::Random;

    fn is(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn by_hand() {
        // All five above 0: one of 32 orders of signs, and its mirror.
        is(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
        // The smallest is below: two of 32 sums are at most 1.
        is(signed_rank(&[-1.0, 2.0, 3.0, 4.0, 5.0]), 4.0 / 32.0);
        is(signed_rank(&[0.0; 4]), 1.0);
        // scipy.stats.wilcoxon([1, 2, 3, 4, 5, 6, 7, -8]).pvalue: sums up to 8 are 25 of 256.
        is(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -8.0]), 2.0 * 25.0 / 256.0);
        // Means of two of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
        is(center(&[1.0, 2.0, 6.0]).0, 2.75);
        // Six values: the outermost mean alone has 1 / 64.
        let (_, interval) = center(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(interval, [1.0, 6.0]);
        // Mean 2, error 1 / √3 of 3 values: t = 2 √3 at 2 degrees, whose p is 1 − t / √(t² + 2).
        let t = 2.0 * 3.0_f64.sqrt();
        is(student(&[1.0, 3.0, 2.0]).0, 1.0 - t / (t * t + 2.0).sqrt());
    }

    #[test]
    fn a_ratio_of_pairs() {
        // The machine is ten times slower in the second half; B is always 5 % above A.
        let a = [10.0, 11.0, 10.5, 100.0, 103.0, 108.0, 99.0];
        let b = a.map(|value| value * 1.05);
        let sample = |rounds: &[f64]| MetricSample::median(rounds).unwrap();
        let found = paired_ratio_of(&sample(&a), &sample(&b)).unwrap();
        is(found.ratio, 1.05);
        is(found.p, 2.0 / 128.0);
        assert!(found.excludes_same() && found.exceeds_drift());
        assert_eq!(paired_ratio_of(&sample(&a), &sample(&b[..6])), None);
        assert_eq!(paired_ratio_of(&sample(&a[..3]), &sample(&b[..3])), None);
    }

    /// Sixteen pairs: the machine drifts for both, each round has noise of its own.
    fn pairs(random: &mut Random, change: f64, own: f64) -> (MetricSample, MetricSample) {
        let mut machine = 0.0;
        let mut side = |factor: f64, machine: f64| 1e7 * factor * (machine + own * random.normal()).exp();
        let rounds: Vec<(f64, f64)> = (0..16)
            .map(|round| {
                machine = 0.9 * machine + 0.03 * f64::from(round % 3 - 1);
                (side(1.0, machine), side(change, machine))
            })
            .collect();
        let of = |pick: fn(&(f64, f64)) -> f64| rounds.iter().map(pick).collect::<Vec<f64>>();
        (MetricSample::median(&of(|one| one.0)).unwrap(), MetricSample::median(&of(|one| one.1)).unwrap())
    }

    #[test]
    fn equal_servers_are_rarely_called_different_and_five_percent_are_found() {
        let mut random = Random::new(7);
        let mut called = |change: f64, own: f64| {
            (0..1000)
                .filter(|_| {
                    let (a, b) = pairs(&mut random, change, own);
                    paired_ratio_of(&a, &b).is_some_and(|ratio| ratio.p < 0.05 && ratio.excludes_same())
                })
                .count()
        };
        for own in [0.005, 0.02, 0.1] {
            let alarms = called(1.0, own);
            assert!((10..=50).contains(&alarms), "{alarms} of 1,000 at {own}");
        }
        for own in [0.01, 0.03] {
            let found = called(1.05, own);
            assert!(found >= 950, "{found} of 1,000 at {own}");
        }
    }
}
