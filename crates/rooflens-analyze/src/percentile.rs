//! Percentiles and medians. There are three rules, because each number is compared with what another tool prints:
//!
//! - [`nearest_rank`] for durations in a trace (kernels, operators, launches, gaps, steps): a percentile is one of the
//!   durations that were measured, so whole nanoseconds stay whole and its event can be found in the trace.
//! - [`linear`] for TTFT, TPOT and the other metrics of requests and rounds, in `metrics.json` and in comparisons: the
//!   default of NumPy and pandas, by which the benchmarks of vLLM and SGLang compute theirs.
//! - [`median_of`] for kernels by name, as `nsys stats` prints them.
//!
//! [`upper_median`] is for decisions inside of an analysis, where the exact rule does not matter.

/// The position of a percentile among `count` sorted values: the nearest rank, `⌈p·n/100⌉ - 1`.
///
/// It is always one of the values, and the 50th of an even number is the lower of the two middles.
pub(crate) fn nearest_rank_index(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).saturating_sub(1).min(count.saturating_sub(1))
}

/// A percentile by nearest rank, in linear time; `None` for no values. Re-orders them.
pub(crate) fn nearest_rank<T: Copy + Ord>(values: &mut [T], percent: usize) -> Option<T> {
    if values.is_empty() {
        return None;
    }
    let index = nearest_rank_index(values.len(), percent);
    Some(*values.select_nth_unstable(index).1)
}

/// The upper of the two middles, in linear time; `None` for no values. Re-orders them.
pub(crate) fn upper_median<T: Copy + Ord>(values: &mut [T]) -> Option<T> {
    let middle = values.len() / 2;
    (middle < values.len()).then(|| *values.select_nth_unstable(middle).1)
}

/// The median of sorted values whose middles these are: of an even number, between the two.
pub(crate) fn median_of(lower: i64, upper: i64) -> f64 {
    (lower as f64 + upper as f64) / 2.0
}

/// A percentile of sorted values by linear interpolation (type 7 of Hyndman and Fan); 0 for no values. `share` is
/// 0.99 for the 99th.
pub fn linear(sorted: &[f64], share: f64) -> f64 {
    let Some(rank) = LinearRank::of(sorted.len(), share) else { return 0.0 };
    rank.between(sorted[rank.below], sorted[rank.above()])
}

/// Where [`linear`] finds a percentile: at rank `share × (n − 1)`, from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LinearRank {
    pub(crate) below: usize,
    /// How much of the way to the next rank it is further, 0 to 1.
    pub(crate) part: f64,
}

impl LinearRank {
    /// Among so many values; `None` for none.
    pub(crate) fn of(count: usize, share: f64) -> Option<Self> {
        let last = count.checked_sub(1)?;
        let rank = share.clamp(0.0, 1.0) * last as f64;
        let below = (rank.floor() as usize).min(last);
        Some(LinearRank { below, part: rank - below as f64 })
    }

    pub(crate) fn above(self) -> usize {
        if self.part == 0.0 { self.below } else { self.below + 1 }
    }

    pub(crate) fn between(self, below: f64, above: f64) -> f64 {
        // Infinite values have no difference.
        if self.part == 0.0 { below } else { below + (above - below) * self.part }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nearest_rank_is_one_of_the_values() {
        let mut four = [40, 10, 30, 20];
        assert_eq!(nearest_rank(&mut four, 50), Some(20)); // the lower middle
        assert_eq!(upper_median(&mut four), Some(30));
        assert_eq!(nearest_rank(&mut four, 99), Some(40)); // ⌈3.96⌉ = 4th
        assert_eq!((nearest_rank(&mut [7], 50), upper_median(&mut [7])), (Some(7), Some(7)));
        assert_eq!((nearest_rank::<i64>(&mut [], 50), upper_median::<i64>(&mut [])), (None, None));
        let mut hundred: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(nearest_rank(&mut hundred, 90), Some(90));
        assert_eq!(nearest_rank(&mut hundred, 99), Some(99));
    }

    #[test]
    fn a_linear_percentile_may_lie_between_two_values() {
        let four = [10.0, 20.0, 30.0, 40.0];
        // Rank 0.9 × 3 = 2.7.
        assert!((linear(&four, 0.9) - 37.0).abs() < 1e-9);
        assert_eq!([0.0, 0.5, 1.0, 2.0].map(|share| linear(&four, share)), [10.0, 25.0, 40.0, 40.0]);
        assert_eq!((linear(&[], 0.5), linear(&[7.0], 0.5)), (0.0, 7.0));
        assert_eq!(linear(&[f64::INFINITY; 3], 0.5), f64::INFINITY);
    }
}
