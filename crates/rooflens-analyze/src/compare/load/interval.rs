//! How sure is a mean or a percentile of a load test? 95 % intervals that respect that neighbours are alike.
//!
//! A mean: batch means, as many batches as have means that are nearly independent, with a correction for what
//! correlation is left and for skewness (as in Skart: Tafazzoli and Wilson, 2011). A percentile: the same of "is at most
//! the percentile", which gives how sure its rank is, and the values at the ends of the ranks (Wilson's interval).
//! Simulated runs whose truth is known check both: `calibration.rs` beside this file.

use crate::percentile::linear;

use super::series::{batch_means, long_memory, mean, t_quantile, unbiased_lag_one};
use crate::compare::ratio::sorted;

/// Most batches: more of them would be too short to be independent.
const MAX_BATCHES: usize = 32;
/// Fewest batches: fewer make an interval of little use.
const MIN_BATCHES: usize = 8;
/// Highest correlation of the means of neighbouring batches.
const MAX_CORRELATION: f64 = 0.15;
/// Fewest independent values that the series must be worth.
const MIN_INDEPENDENT: f64 = 50.0;
/// Percentiles beyond this one, or below its complement, ask for separate groups of extremes.
const TAIL: f64 = 0.8;
/// Fewest groups of values beyond a percentile.
const MIN_GROUPS: usize = 18;

/// A 95 % confidence interval.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfidenceInterval {
    pub(crate) value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    pub(crate) batches: usize,
}

/// Of the mean of values in the order of time.
pub fn mean_interval(values: &[f64]) -> Option<ConfidenceInterval> {
    independent(values)?;
    let spread = Spread::of(values)?;
    let value = mean(values);
    let t = t_quantile(spread.batches - 1);
    let skewed =
        |t: f64| value - unskewed(t, spread.skewness / (6.0 * (spread.batches as f64).sqrt())) * spread.error;
    Some(ConfidenceInterval { value, low: skewed(t), high: skewed(-t), batches: spread.batches })
}

/// Of a percentile of values in the order of time; `share` is 0.99 for the 99th.
pub fn quantile_interval(values: &[f64], share: f64) -> Option<ConfidenceInterval> {
    let memory = independent(values)?;
    let sorted = sorted(values);
    let value = linear(&sorted, share);
    let groups = extreme_groups(values, value, share >= 0.5, memory);
    if share.max(1.0 - share) > TAIL && groups < MIN_GROUPS {
        return None;
    }
    let below: Vec<f64> = values.iter().map(|one| f64::from(u8::from(*one <= value))).collect();
    let spread = Spread::of(&below)?;
    let (low, high) = wilson(share, spread.error, t_quantile(spread.batches - 1));
    let count = values.len() as f64;
    let (from, to) = ((low * count).floor(), (high * count).ceil());
    if from < 1.0 || to > count {
        return None;
    }
    let at = |rank: f64| sorted[(rank as usize).clamp(1, sorted.len()) - 1];
    // Where all are equal, rounding must not move the ends past the value.
    Some(ConfidenceInterval {
        value,
        low: at(from).min(value),
        high: at(to).max(value),
        batches: spread.batches,
    })
}

/// How long the series remembers; `None` if it is not worth enough independent values.
fn independent(values: &[f64]) -> Option<f64> {
    let (count, is_finite) = (values.len() as f64, values.iter().all(|value| value.is_finite()));
    let memory = (is_finite && count >= MIN_INDEPENDENT).then(|| long_memory(values))?;
    (count / memory >= MIN_INDEPENDENT).then_some(memory)
}

struct Spread {
    batches: usize,
    error: f64,
    skewness: f64,
}

impl Spread {
    /// `None` if means of batches stay alike however long the batches are.
    fn of(values: &[f64]) -> Option<Self> {
        let mut count = MAX_BATCHES;
        while count >= MIN_BATCHES {
            let means = batch_means(values, count);
            let left = unbiased_lag_one(&means);
            if left <= MAX_CORRELATION {
                return Some(Spread::of_means(&means, left.max(0.0)));
            }
            count = count * 4 / 5;
        }
        None
    }

    fn of_means(means: &[f64], correlation: f64) -> Self {
        let (count, middle) = (means.len() as f64, mean(means));
        let moment = |power: i32| means.iter().map(|mean| (mean - middle).powi(power)).sum::<f64>();
        let variance = moment(2) / (count - 1.0);
        let left = (1.0 + correlation) / (1.0 - correlation);
        let skewness = count * moment(3) / ((count - 1.0) * (count - 2.0) * variance.powf(1.5));
        Spread {
            batches: means.len(),
            error: (variance / count * left).sqrt(),
            skewness: if variance > 0.0 { skewness } else { 0.0 },
        }
    }
}

/// Student's t for a skewed mean (Willink, 2005); `skew` is skewness / (6 √n).
fn unskewed(t: f64, skew: f64) -> f64 {
    if skew.abs() < 1e-3 { t } else { ((1.0 + 6.0 * skew * (t - skew)).cbrt() - 1.0) / (2.0 * skew) }
}

fn wilson(share: f64, error: f64, t: f64) -> (f64, f64) {
    let variance = share * (1.0 - share);
    if error <= 0.0 || variance <= 0.0 {
        return (share, share);
    }
    let per_value = error * error / variance;
    let scale = 1.0 + t * t * per_value;
    let middle = (share + t * t * per_value / 2.0) / scale;
    let half = t / scale * (error * error + t * t * per_value * per_value / 4.0).sqrt();
    (middle - half, middle + half)
}

/// Groups of values beyond a percentile that lie further apart than the series remembers.
fn extreme_groups(values: &[f64], limit: f64, is_upper: bool, memory: f64) -> usize {
    let apart = memory.ceil() as usize - 1;
    let is_beyond = |value: &f64| if is_upper { *value > limit } else { *value < limit };
    let beyond = values.iter().enumerate().filter(|(_, value)| is_beyond(value)).map(|(at, _)| at);
    let (mut groups, mut last) = (0, None);
    for at in beyond {
        groups += usize::from(last.is_none_or(|last| at - last > apart));
        last = Some(at);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // 32 batches of two, whose means are 1 and −1 in turn: their variance is 32 / 31.
        let saw: Vec<f64> = (0..64).map(|at| [3.0, -1.0, -3.0, 1.0][at % 4]).collect();
        let found = mean_interval(&saw).unwrap();
        let expected = t_quantile(31) * (1.0_f64 / 31.0).sqrt();
        assert_eq!((found.value, found.batches), (0.0, 32));
        assert!((found.high - expected).abs() < 1e-9 && (found.low + expected).abs() < 1e-9, "{found:?}");
        let same = quantile_interval(&[7.0; 100], 0.5).unwrap();
        assert_eq!((same.low, same.value, same.high), (7.0, 7.0, 7.0));
        // An independent share: p̂ = 0.5 of 100, the textbook's Wilson interval at z = 1.96.
        let (low, high) = wilson(0.5, 0.05, 1.96);
        assert!((low - 0.403_83).abs() < 1e-4 && (high - 0.596_17).abs() < 1e-4, "{low} {high}");
        assert_eq!(unskewed(2.0, 0.0), 2.0);
        let values = [9.0, 9.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 9.0];
        assert_eq!(extreme_groups(&values, 5.0, true, 1.0), 4);
        assert_eq!(extreme_groups(&values, 5.0, true, 4.0), 2);
    }

    #[test]
    fn too_little_is_said() {
        for few in [&[1.0; 49][..], &[], &[f64::NAN; 99]] {
            assert_eq!(mean_interval(few), None);
        }
        // One long ramp is worth few values.
        let ramp: Vec<f64> = (0..500).map(f64::from).collect();
        assert_eq!(mean_interval(&ramp), None);
        let saw: Vec<f64> = (0..500).map(|at| f64::from((at * 37) % 101)).collect();
        // At most 5 of 500 lie beyond the 99th percentile.
        assert_eq!(quantile_interval(&saw, 0.99), None);
        assert!(quantile_interval(&saw, 0.5).is_some());
    }
}
