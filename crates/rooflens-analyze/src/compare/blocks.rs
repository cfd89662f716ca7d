//! Values that follow each other in a run are alike: other programs come and go, a processor warms up. Taken for
//! independent, they look surer than they are. So a run is cut into blocks of neighbours, whose medians are nearly
//! independent, and Welch's t-test compares these: the method of batch means of simulations (Conway, 1963; Law and
//! Carson, 1979). The longer a run remembers, the longer are its blocks.

use super::ratio::{median, sorted};
use crate::compare::trend::student::two_sided;

/// Most blocks: more of them would be too short to be independent.
const MOST: usize = 10;
/// Level of [`Blocks::least`].
const LEVEL: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Blocks {
    /// Probability of so great a difference between samples of the same thing.
    pub(crate) p: f64,
    /// The least ratio, minus 1, that has `p` < 0.05. `None` where a median is not positive.
    pub(crate) least: Option<f64>,
}

/// Blocks are so many times as long as a run remembers.
const MEMORIES: f64 = 4.0;

/// How many values tell as much as one that is independent: (1 + r) / (1 − r) for the correlation r of the ranks of
/// neighbours, which both sides share.
pub(super) fn memory(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    // Of n independent values, the estimate is 1 / n too small.
    let r = (n * of_neighbours(a) + m * of_neighbours(b)) / (n + m) + 1.0 / n.min(m);
    let r = r.clamp(0.0, 0.95);
    (1.0 + r) / (1.0 - r)
}

pub(super) fn of_neighbours(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let rank = |value: &f64| {
        // Equal values share the mean of their ranks.
        (sorted.partition_point(|other| other < value) + sorted.partition_point(|other| other <= value))
            as f64
    };
    let ranks: Vec<f64> = values.iter().map(rank).collect();
    let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
    let squares: f64 = ranks.iter().map(|rank| (rank - mean) * (rank - mean)).sum();
    let products: f64 = ranks.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// How many blocks so many values make: about as many as each has values, fewer where they remember for long.
fn count(values: usize, memory: f64) -> usize {
    let by_memory = (values as f64 / (MEMORIES * memory)) as usize;
    values.isqrt().min(by_memory).clamp(2, MOST)
}

/// How long the blocks of so many values are, the last ones rather shorter.
pub(super) fn length(values: usize, memory: f64) -> usize {
    values.div_ceil(count(values, memory)).max(1)
}

/// Medians of consecutive blocks whose lengths differ by one at most.
fn medians(values: &[f64], memory: f64) -> Vec<f64> {
    let blocks = count(values.len(), memory);
    let at = |block: usize| block * values.len() / blocks;
    (0..blocks).map(|block| median(&sorted(&values[at(block)..at(block + 1)]))).collect()
}

/// Compares two samples, each in the order of time and of at least four values.
pub(super) fn compare(a: &[f64], b: &[f64], memory: f64) -> Blocks {
    let (mut a, mut b) = (medians(a, memory), medians(b, memory));
    // Noise of times is relative.
    let is_log = a.iter().chain(&b).all(|value| *value > 0.0);
    if is_log {
        a.iter_mut().chain(&mut b).for_each(|value| *value = value.ln());
    }
    let ((mean_a, error_a), (mean_b, error_b)) = (moments(&a), moments(&b));
    let error = error_a + error_b;
    if error <= 0.0 {
        let is_same = mean_a == mean_b;
        return Blocks { p: if is_same { 1.0 } else { 0.0 }, least: is_log.then_some(0.0) };
    }
    let share = |error: f64, blocks: usize| error * error / (blocks as f64 - 1.0);
    let freedom = error * error / (share(error_a, a.len()) + share(error_b, b.len()));
    Blocks {
        p: two_sided((mean_b - mean_a) / error.sqrt(), freedom),
        least: is_log.then(|| (quantile(freedom) * error.sqrt()).exp_m1()),
    }
}

/// The mean, and the square of its standard error.
fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// The `t` beyond which 5 % lie, by halving.
pub(super) fn quantile(freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > LEVEL { low = middle } else { high = middle }
    }
    high
}

/// How much the median of the second half differs from that of the first, as |ln|. Rounds do the same work, so
/// this is what the machine did by itself. 0 where a median is not positive.
pub(super) fn drift(values: &[f64]) -> f64 {
    let (first, second) = values.split_at(values.len() / 2);
    let (first, second) = (median(&sorted(first)), median(&sorted(second)));
    if first > 0.0 && second > 0.0 { (second / first).ln().abs() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!((count(4, 1.0), count(16, 1.0), count(30, 1.0), count(500, 1.0)), (2, 4, 5, 10));
        assert_eq!((count(30, 2.5), count(30, 9.0)), (3, 2)); // 30 / 10, 30 / 36
        assert_eq!((length(4, 1.0), length(30, 1.0), length(0, 1.0)), (2, 6, 1));
        assert_eq!(medians(&[1.0, 3.0, 10.0, 30.0], 1.0), [2.0, 20.0]);
        // Ranks −1.5, −0.5, 0.5, 1.5 about their mean: (0.75 − 0.25 + 0.75) / 5.
        assert!((of_neighbours(&[1.0, 2.0, 3.0, 9.0]) - 0.25).abs() < 1e-12);
        assert_eq!(memory(&[5.0; 4], &[5.0; 4]), 1.25 / 0.75);
        // Means 0 and 2, each with an error² of 1: t = 2 / √2 at 2 degrees of freedom, whose p is 1 − t / √(t² + 2).
        let by_raw = compare(&[-1.0, -1.0, 1.0, 1.0], &[1.0, 1.0, 3.0, 3.0], 1.0);
        assert!(
            (by_raw.p - (1.0 - 2.0_f64.sqrt() / 2.0)).abs() < 1e-9 && by_raw.least.is_none(),
            "{by_raw:?}"
        );
        let same = compare(&[5.0; 6], &[5.0; 6], 1.0);
        assert_eq!((same.p, same.least), (1.0, Some(0.0)));
        assert_eq!(compare(&[5.0; 6], &[6.0; 6], 1.0).p, 0.0);
        // A table of t: 2.306 at 8, 4.303 at 2.
        assert!((quantile(8.0) - 2.306).abs() < 1e-3 && (quantile(2.0) - 4.303).abs() < 1e-3);
        assert!((drift(&[10.0, 10.0, 12.0, 12.0]) - 1.2_f64.ln()).abs() < 1e-12);
    }
}
