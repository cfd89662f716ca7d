//! Medians of values that do not depend on each other, as of one value per run: their order tells nothing, so each is
//! drawn on its own and the test of ranks decides.

use std::collections::BTreeMap;

use super::random::Random;
use super::rank_sum::rank_sum;
use super::ratio::{DRAWS, FEWEST, Ratio, drawn_ratio, limits, median, seed, sorted};

/// Places of the two values whose midpoint is the median of a draw, for each side.
type DrawnMedians = Vec<[(usize, usize); 2]>;

/// Compares many pairs of samples. Which places of the sorted values the median of a draw comes from depends only on
/// how many values there are, so pairs of the same sizes share their draws: a thousand kernels of the same runs cost
/// one set of draws.
#[derive(Default)]
pub struct IndependentRatios {
    draws: BTreeMap<(usize, usize), DrawnMedians>,
}

impl IndependentRatios {
    /// `None` where a side has fewer than [`FEWEST`] values or the median of A is not positive.
    pub fn of(&mut self, a: &[f64], b: &[f64]) -> Option<Ratio> {
        if a.len().min(b.len()) < FEWEST || a.iter().chain(b).any(|value| !value.is_finite()) {
            return None;
        }
        let sides = [sorted(a), sorted(b)];
        let of_a = median(&sides[0]);
        if of_a <= 0.0 {
            return None;
        }
        let draws = self.draws.entry((a.len(), b.len())).or_insert_with(|| drawn(a.len(), b.len()));
        let at = |side: usize, (low, high): (usize, usize)| midpoint(sides[side][low], sides[side][high]);
        let ratio = |[in_a, in_b]: &[(usize, usize); 2]| drawn_ratio(at(0, *in_a), at(1, *in_b));
        let (low, high) = limits(&mut draws.iter().map(ratio).collect::<Vec<f64>>());
        let ratio = median(&sides[1]) / of_a;
        Some(Ratio { ratio, low, high, p: rank_sum(a, b)?, least_change: None, drift: 0.0 })
    }
}

fn drawn(a: usize, b: usize) -> DrawnMedians {
    let mut random = Random::new(seed(a, b));
    let mut side = |n: usize| {
        let mut counts = vec![0; n];
        (0..n).for_each(|_| counts[random.below(n)] += 1);
        middle(&counts)
    };
    (0..DRAWS).map(|_| [side(a), side(b)]).collect()
}

/// The places of the two values whose midpoint is the median, where each value was drawn so often. They are the same
/// place for an odd number of values.
fn middle(counts: &[u32]) -> (usize, usize) {
    let n = counts.len();
    let (below, above) = ((n - 1) / 2, n / 2);
    let (mut low, mut seen) = (None, 0);
    for (place, times) in counts.iter().enumerate() {
        seen += *times as usize;
        if seen > below && low.is_none() {
            low = Some(place);
        }
        if seen > above {
            return (low.unwrap_or(place), place);
        }
    }
    (0, n - 1)
}

fn midpoint(low: f64, high: f64) -> f64 {
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::ratio;

    #[test]
    fn few_values_that_do_not_overlap_differ() {
        let a = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 101.2, 98.8];
        let b: Vec<f64> = a.iter().map(|value| value * 1.12).collect();
        let mut ratios = IndependentRatios::default();
        let found = ratios.of(&a, &b).unwrap();
        // 2 of the 48,620 orders of nine and nine values.
        assert!((found.p - 2.0 / 48_620.0).abs() < 1e-12, "{}", found.p);
        assert!((found.ratio - 1.12).abs() < 1e-9 && found.excludes_same() && found.exceeds_drift());
        // As a series in time they are too few to tell.
        assert!(ratio(&a, &b).unwrap().p > found.p);
        // Neither the order nor what was compared before matters.
        let mut turned = a;
        turned.reverse();
        assert_eq!(ratios.of(&turned, &b).unwrap(), found);
        assert_eq!(IndependentRatios::default().of(&turned, &b).unwrap(), found);
        assert_eq!(ratios.of(&a[..3], &b), None);
        assert_eq!(ratios.of(&[0.0; 4], &b), None);
    }

    /// The limits are those of the exact distribution: the median of five values drawn of five is the third of the
    /// sorted values with the probability that at least three of five draws are at or below it, less that of the second.
    #[test]
    fn limits_are_those_of_the_binomial_distribution() {
        let at_most = |place: i32| {
            let share = f64::from(place + 1) / 5.0;
            let of = |hits: i32, ways: f64| ways * share.powi(hits) * (1.0 - share).powi(5 - hits);
            of(3, 10.0) + of(4, 5.0) + of(5, 1.0)
        };
        let draws = drawn(5, 5);
        for place in 0..4 {
            let found =
                draws.iter().filter(|[(low, _), _]| *low as i32 <= place).count() as f64 / DRAWS as f64;
            let expected = at_most(place);
            let deviation = (expected * (1.0 - expected) / DRAWS as f64).sqrt();
            assert!((found - expected).abs() < 4.0 * deviation, "{place}: {found} and {expected}");
        }
    }

    #[test]
    fn an_even_number_of_values_has_two_in_the_middle() {
        assert_eq!(middle(&[1, 1, 1, 1]), (1, 2));
        assert_eq!(middle(&[0, 2, 2, 0]), (1, 2));
        assert_eq!(middle(&[0, 3, 0, 1]), (1, 1));
        assert_eq!(middle(&[1, 0, 2]), (2, 2));
    }
}
