//! Student's t-test of two samples from their means and deviations.
//!
//! As Apache Otava asks SciPy: deviations are those of a population, yet weighed as those of samples.

use libm::lgamma;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moments {
    pub(crate) count: f64,
    pub(crate) mean: f64,
    pub(crate) std: f64,
}

impl Moments {
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = sum(values) / count;
        let squares: Vec<f64> = values.iter().map(|value| (value - mean) * (value - mean)).collect();
        Moments { count, mean, std: (sum(&squares) / count).sqrt() }
    }
}

/// The sum in the order of numpy's: values of a plateau have the same mean there and here, to the last bit,
/// so no test of two equal plateaus hangs on rounding.
fn sum(values: &[f64]) -> f64 {
    const LANES: usize = 8;
    const BLOCK: usize = 128;
    let count = values.len();
    if count < LANES {
        return values.iter().sum();
    }
    if count > BLOCK {
        let half = count / 2 - (count / 2) % LANES;
        return sum(&values[..half]) + sum(&values[half..]);
    }
    let mut lanes = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, value)| *lane += value);
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let whole = ((a + b) + (c + d)) + ((e + f) + (g + h));
    rest.iter().fold(whole, |sum, value| sum + value)
}

/// The two-sided p-value that two samples have the same mean; NaN for two equal plateaus, 0 for unequal ones.
pub(super) fn p_value(a: Moments, b: Moments) -> f64 {
    let freedom = a.count + b.count - 2.0;
    if freedom <= 0.0 {
        return 1.0;
    }
    let pooled = ((a.count - 1.0) * a.std * a.std + (b.count - 1.0) * b.std * b.std) / freedom;
    let t = (a.mean - b.mean) / (pooled * (1.0 / a.count + 1.0 / b.count)).sqrt();
    match t {
        t if t.is_nan() => f64::NAN,
        t if t.is_infinite() => 0.0,
        t => two_sided(t, freedom),
    }
}

/// The probability of a `t` so far from 0, on either side.
pub(crate) fn two_sided(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The regularised incomplete beta function, by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast only on its own side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut whole = d;
    for step in 1..500 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            whole *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_forms() {
        let moments = |count, mean, std| Moments { count, mean, std };
        // Two degrees of freedom: p = 1 − t / √(2 + t²). Deviations 1, pooled 1: t = 1.
        let p = p_value(moments(2.0, 1.0, 1.0), moments(2.0, 0.0, 1.0));
        assert!((p - (1.0 - 1.0 / 3.0_f64.sqrt())).abs() < 1e-14, "{p}");
        // One degree: p = 1 − 2 atan(t) / π. Pooled variance 3, times 1/1 + 1/2: t = 3 / √4.5 = √2.
        let p = p_value(moments(1.0, 3.0, 0.0), moments(2.0, 0.0, 3.0_f64.sqrt()));
        let expected = 1.0 - 2.0 * 2.0_f64.sqrt().atan() / std::f64::consts::PI;
        assert!((p - expected).abs() < 1e-14, "{p}");
        assert_eq!(p_value(moments(5.0, 1.0, 0.0), moments(5.0, 2.0, 0.0)), 0.0);
        assert!(p_value(moments(5.0, 1.0, 0.0), moments(5.0, 1.0, 0.0)).is_nan());
        assert_eq!(p_value(moments(1.0, 1.0, 0.0), moments(1.0, 2.0, 0.0)), 1.0);
    }

    #[test]
    fn tails_are_those_of_scipy() {
        // 2 * scipy.stats.t.sf(t, freedom)
        for (t, freedom, expected) in [
            (0.5, 1.0, 0.704_832_764_699_133_6),
            (0.001, 4.0, 0.999_250_000_156_25),
            (2.0, 2.5, 0.157_391_495_757_966),
            (12.0, 7.3, 4.555_785_229_570_545_5e-6),
            (3.0, 29.0, 0.005_499_192_133_903_406_6),
            (6.0, 400.0, 4.422_400_681_811_496e-9),
            (1.96, 1e6, 0.049_996_067_585_269_78),
        ] {
            let found = two_sided(t, freedom);
            assert!((found / expected - 1.0).abs() < 1e-9, "{t}, {freedom}: {found} is not {expected}");
        }
    }

    #[test]
    fn moments_by_hand() {
        let found = Moments::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((found.mean, found.std), (5.0, 2.0));
        let many: Vec<f64> = (0..300).map(f64::from).collect();
        assert_eq!(sum(&many), 44_850.0);
    }
}
