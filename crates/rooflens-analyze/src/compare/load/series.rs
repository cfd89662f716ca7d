//! Values in the order of time.

use crate::compare::ratio::sorted;

/// The `t` beyond which 5 % lie on both sides together, for 1 to 31 degrees of freedom.
const T_QUANTILES: [f64; 31] = [
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985, 2.178813, 2.160369, 2.144787, 2.13145, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.04523, 2.042272,
    2.039513,
];

/// Student's t of a 95 % interval.
pub(super) fn t_quantile(freedom: usize) -> f64 {
    T_QUANTILES[freedom.clamp(1, T_QUANTILES.len()) - 1]
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Where consecutive batches begin and end whose lengths differ by one at most.
pub(super) fn batches(count: usize, batches: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..batches).map(move |batch| batch * count / batches..(batch + 1) * count / batches)
}

pub(super) fn batch_means(values: &[f64], count: usize) -> Vec<f64> {
    batches(values.len(), count).map(|batch| mean(&values[batch])).collect()
}

/// Correlation of neighbours; 0 where all are equal.
pub(super) fn lag_one(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// The correlation of neighbours of so many batches, without the bias of 1 / n that independent values have.
pub(super) fn unbiased_lag_one(values: &[f64]) -> f64 {
    lag_one(values) + 1.0 / values.len() as f64
}

/// Ranks from 0; equal values share the mean of theirs.
pub(super) fn ranks(values: &[f64]) -> Vec<f64> {
    let sorted = sorted(values);
    let rank = |value: &f64| {
        let below = sorted.partition_point(|other| other < value);
        (below + sorted.partition_point(|other| other <= value) - 1) as f64 / 2.0
    };
    values.iter().map(rank).collect()
}

/// How many values tell as much as one that is independent: 1 + 2 × the sum of correlations, up to where pairs of them
/// are no longer positive (Geyer's initial monotone sequence, 1992).
pub(super) fn memory(values: &[f64]) -> f64 {
    let mean = mean(values);
    let off: Vec<f64> = values.iter().map(|value| value - mean).collect();
    let squares: f64 = off.iter().map(|value| value * value).sum();
    if squares <= 0.0 {
        return 1.0;
    }
    let correlation =
        |lag: usize| off[lag..].iter().zip(&off).map(|(later, value)| later * value).sum::<f64>() / squares;
    let (mut sum, mut before) = (-1.0, f64::INFINITY);
    for lag in (0..(values.len() / 3).saturating_sub(1)).step_by(2) {
        let pair = (correlation(lag) + correlation(lag + 1)).min(before);
        if pair <= 0.0 {
            break;
        }
        sum += 2.0 * pair;
        before = pair;
    }
    sum.max(1.0)
}

/// The same, by the values or by their ranks: whichever is longer. A few large values hide the memory of the rest.
pub(super) fn long_memory(values: &[f64]) -> f64 {
    memory(values).max(memory(&ranks(values)))
}

pub(super) fn median(values: &[f64]) -> f64 {
    crate::compare::ratio::median(&sorted(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::trend::student::two_sided;

    #[test]
    fn by_hand() {
        for (freedom, t) in (1..).zip(T_QUANTILES) {
            assert!((two_sided(t, f64::from(freedom)) - 0.05).abs() < 1e-6, "{freedom}");
        }
        assert_eq!(batches(7, 3).collect::<Vec<_>>(), [0..2, 2..4, 4..7]);
        assert_eq!(batch_means(&[1.0, 3.0, 5.0, 7.0], 2), [2.0, 6.0]);
        // About their mean: −1.5, −0.5, 0.5, 1.5: (0.75 − 0.25 + 0.75) / 5.
        assert_eq!(lag_one(&[1.0, 2.0, 3.0, 4.0]), 0.25);
        assert_eq!((lag_one(&[2.0; 5]), memory(&[2.0; 9])), (0.0, 1.0));
        assert_eq!(ranks(&[5.0, 1.0, 5.0]), [1.5, 0.0, 1.5]);
        // Alternating values are no longer alike than independent ones.
        let saw: Vec<f64> = (0..30).map(|at| f64::from(at % 2)).collect();
        assert_eq!(memory(&saw), 1.0);
    }

    #[test]
    fn memory_of_noise_that_is_alike() {
        // (1 + 0.8) / (1 − 0.8) = 9.
        let series = super::super::calibration::autoregressive(
            &mut crate::compare::random::Random::new(3),
            0.8,
            20_000,
        );
        let found = memory(&series);
        assert!((7.5..10.5).contains(&found), "{found}");
    }
}
