//! Statistics of a list of times.

use rooflens_analyze::percentile::linear;
use rooflens_analyze::statistics::sample_deviation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How percentiles are made, for whoever reads the numbers.
pub const RULE: &str =
    "percentiles: linear interpolation between the two nearest ranks (type 7); std: of a sample (n − 1)";

/// A list of times in a few numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many.
    pub(crate) count: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of a sample; null for one value.
    pub(crate) std: Option<f64>,
    /// Least.
    pub(crate) min: f64,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub(crate) p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Most.
    pub(crate) max: f64,
}

impl Spread {
    /// Of some values; nothing where there are none.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        Some(Spread {
            count,
            mean,
            std: sample_deviation(values.iter().copied(), mean),
            min,
            p50: linear(&values, 0.5),
            p90: linear(&values, 0.9),
            p99: linear(&values, 0.99),
            max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Ranks of 4 values: p50 at 1.5, p90 at 2.7, p99 at 2.97.
        let spread = Spread::of(vec![40.0, 10.0, 20.0, 30.0]).unwrap();
        assert_eq!((spread.count, spread.min, spread.max), (4, 10.0, 40.0));
        assert_eq!((spread.mean, spread.p50), (25.0, 25.0));
        assert!((spread.p90 - 37.0).abs() < 1e-9);
        assert!((spread.p99 - 39.7).abs() < 1e-9);
        // (225 + 25 + 25 + 225) / 3
        assert!((spread.std.unwrap() - (500.0_f64 / 3.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_deviation_and_none_has_nothing() {
        let one = Spread::of(vec![7.0]).unwrap();
        assert_eq!((one.p50, one.p99, one.std), (7.0, 7.0, None));
        assert_eq!(Spread::of(vec![]), None);
    }
}
