//! Distributions of lengths and delays, and how they are written.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

/// No length is drawn above this: a distribution with a long tail must not ask for more memory than there is.
pub(crate) const MAX_LENGTH: u32 = 16_000_000;

/// A distribution of lengths in tokens, or of counts. Written as `100`, `100-200`, `normal:MEAN,STD`,
/// `lognormal:MEDIAN,SIGMA` (sigma of the logarithm), `hist:LENGTH=WEIGHT,…`; `normal` and `lognormal` may end with
/// `,MIN,MAX`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LengthSpec {
    /// Always the same.
    Fixed(u32),
    /// Every length of a range is as likely as the others.
    Uniform {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// Normal, rounded and clamped.
    Normal {
        /// Mean before clamping.
        mean: f64,
        /// Standard deviation before clamping.
        std: f64,
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// The logarithm is normal; rounded and clamped.
    LogNormal {
        /// Half of the lengths are below; the mean is `median · exp(sigma² / 2)`.
        median: f64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// Lengths and how likely each is, relative to the others.
    Histogram(Vec<(u32, f64)>),
}

impl TryFrom<String> for LengthSpec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<LengthSpec> for String {
    fn from(length: LengthSpec) -> String {
        length.to_string()
    }
}

impl fmt::Display for LengthSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = |min: u32, max: u32| match (min, max) {
            (1, MAX_LENGTH) => String::new(),
            (min, max) => format!(",{min},{max}"),
        };
        match self {
            LengthSpec::Fixed(length) => write!(formatter, "{length}"),
            LengthSpec::Uniform { min, max } => write!(formatter, "{min}-{max}"),
            LengthSpec::Normal { mean, std, min, max } => {
                write!(formatter, "normal:{mean},{std}{}", limits(*min, *max))
            }
            LengthSpec::LogNormal { median, sigma, min, max } => {
                write!(formatter, "lognormal:{median},{sigma}{}", limits(*min, *max))
            }
            LengthSpec::Histogram(bins) => {
                let bins: Vec<String> =
                    bins.iter().map(|(length, weight)| format!("{length}={weight}")).collect();
                write!(formatter, "hist:{}", bins.join(","))
            }
        }
    }
}

impl FromStr for LengthSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let length = match text.split_once(':') {
            Some(("normal", values)) => {
                let ([mean, std], min, max) = two_and_limits(values)?;
                LengthSpec::Normal { mean, std, min, max }
            }
            Some(("lognormal", values)) => {
                let ([median, sigma], min, max) = two_and_limits(values)?;
                LengthSpec::LogNormal { median, sigma, min, max }
            }
            Some(("hist", values)) => {
                LengthSpec::Histogram(values.split(',').map(bin).collect::<Result<_, _>>()?)
            }
            Some((kind, _)) => {
                return Err(format!("unknown distribution {kind}: use normal, lognormal or hist"));
            }
            None => match text.split_once('-') {
                Some((min, max)) => LengthSpec::Uniform { min: whole(min)?, max: whole(max)? },
                None => LengthSpec::Fixed(whole(text)?),
            },
        };
        length.check()?;
        Ok(length)
    }
}

fn two_and_limits(values: &str) -> Result<([f64; 2], u32, u32), String> {
    match values.split(',').collect::<Vec<_>>()[..] {
        [first, second] => Ok(([number(first)?, number(second)?], 1, MAX_LENGTH)),
        [first, second, min, max] => Ok(([number(first)?, number(second)?], whole(min)?, whole(max)?)),
        _ => Err(format!("{values} should be two numbers, or four: with the smallest and largest length")),
    }
}

fn bin(text: &str) -> Result<(u32, f64), String> {
    let (length, weight) =
        text.split_once('=').ok_or_else(|| format!("{text} should be LENGTH=WEIGHT, as 128=3"))?;
    Ok((whole(length)?, number(weight)?))
}

fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("{text:?} is not a number"))?;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(format!("{text:?} is not a finite number of at least 0"))
    }
}

fn whole(text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a whole number of at least 0"))
}

impl LengthSpec {
    /// Whether lengths can be drawn from it; lengths of 0 are allowed.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (least, most) = self.limits();
        if most > MAX_LENGTH {
            return Err(format!("{most} is above the largest length, {MAX_LENGTH}"));
        }
        if least > most {
            return Err(format!("the smallest length, {least}, is above the largest, {most}"));
        }
        match self {
            LengthSpec::Normal { mean: first, std: second, .. }
            | LengthSpec::LogNormal { median: first, sigma: second, .. } => {
                let is_usable = |value: &f64| value.is_finite() && *value >= 0.0;
                if !is_usable(first) || !is_usable(second) {
                    return Err(format!("{first} and {second} should be finite and at least 0"));
                }
            }
            LengthSpec::Histogram(bins) => {
                let is_usable = |(_, weight): &(u32, f64)| weight.is_finite() && *weight >= 0.0;
                let total: f64 = bins.iter().map(|(_, weight)| weight).sum();
                let is_total_usable = total > 0.0 && total.is_finite();
                if !is_total_usable || !bins.iter().all(is_usable) {
                    return Err("a histogram needs weights of at least 0 with a sum above 0".to_owned());
                }
            }
            LengthSpec::Fixed(_) | LengthSpec::Uniform { .. } => {}
        }
        Ok(())
    }

    pub(crate) fn limits(&self) -> (u32, u32) {
        match self {
            LengthSpec::Fixed(length) => (*length, *length),
            LengthSpec::Uniform { min, max }
            | LengthSpec::Normal { min, max, .. }
            | LengthSpec::LogNormal { min, max, .. } => (*min, *max),
            LengthSpec::Histogram(bins) => {
                let lengths = || bins.iter().filter(|(_, weight)| *weight > 0.0).map(|(length, _)| *length);
                (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
            }
        }
    }

    pub(crate) fn draw(&self, rng: &mut ChaCha8Rng) -> u32 {
        match self {
            LengthSpec::Fixed(length) => *length,
            LengthSpec::Uniform { min, max } => rng.random_range(*min..=*max.max(min)),
            LengthSpec::Normal { mean, std, min, max } => {
                let deviate: f64 = StandardNormal.sample(rng);
                rounded(mean + std * deviate, *min, *max)
            }
            LengthSpec::LogNormal { median, sigma, min, max } => {
                let deviate: f64 = StandardNormal.sample(rng);
                rounded(median * (sigma * deviate).exp(), *min, *max)
            }
            LengthSpec::Histogram(bins) => {
                let weights = bins.iter().map(|(_, weight)| *weight);
                bins.get(weighted(weights, rng)).map_or(0, |(length, _)| *length)
            }
        }
    }
}

fn weighted(weights: impl Iterator<Item = f64> + Clone, rng: &mut ChaCha8Rng) -> usize {
    let mut rest = rng.random::<f64>() * weights.clone().sum::<f64>();
    let mut last = 0;
    for (index, weight) in weights.enumerate().filter(|(_, weight)| *weight > 0.0) {
        last = index;
        if rest < weight {
            break;
        }
        rest -= weight;
    }
    last
}

/// A cast of a float saturates, so that no deviate is out of range.
fn rounded(value: f64, min: u32, max: u32) -> u32 {
    (value.round() as u32).clamp(min, max.max(min))
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn mean_of(text: &str) -> f64 {
        let length: LengthSpec = text.parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        (0..100_000).map(|_| f64::from(length.draw(&mut rng))).sum::<f64>() / 100_000.0
    }

    #[test]
    fn every_written_form_is_read_and_written_back() {
        for text in [
            "100",
            "100-200",
            "normal:512,100",
            "normal:512,100,16,1024",
            "lognormal:512,0.8",
            "hist:128=3,1024=1",
        ] {
            let length: LengthSpec = text.parse().unwrap();
            assert_eq!(length.to_string(), text);
            let json = serde_json::to_string(&length).unwrap();
            assert_eq!(serde_json::from_str::<LengthSpec>(&json).unwrap(), length);
        }
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        assert_eq!(mean_of("100"), 100.0);
        // Standard errors: 29.2 / 316 = 0.09, 100 / 316 = 0.32, 388 / 316 = 1.23, 775 · 0.43 / 316 = 1.2.
        assert!((mean_of("100-200") - 150.0).abs() < 0.6);
        assert!((mean_of("normal:512,100") - 512.0).abs() < 2.0);
        assert!((mean_of("hist:128=3,1024=1") - 352.0).abs() < 8.0);
        let expected = 512.0 * (0.32_f64).exp();
        assert!((mean_of("lognormal:512,0.8") - expected).abs() < 15.0, "{expected}");
    }

    #[test]
    fn half_of_a_log_normal_is_below_its_median() {
        let length: LengthSpec = "lognormal:512,0.8".parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let below = (0..10_000).filter(|_| length.draw(&mut rng) < 512).count();
        assert!((4_800..5_200).contains(&below), "{below}");
    }

    #[test]
    fn a_uniform_range_reaches_both_ends_and_nothing_else() {
        let length: LengthSpec = "3-5".parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut drawn: Vec<u32> = (0..100).map(|_| length.draw(&mut rng)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [3, 4, 5]);
    }

    #[test]
    fn a_bin_of_weight_0_is_never_drawn() {
        let length: LengthSpec = "hist:1=0,2=1,3=0".parse().unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!((0..1_000).all(|_| length.draw(&mut rng) == 2));
        assert_eq!(length.limits(), (2, 2));
    }

    #[test]
    fn nonsense_is_refused() {
        let nonsense = "-5 5- 9-3 1.5 nan normal:1 normal:nan,1 normal:inf,1 normal:1,-1 normal:5,1,9,3 lognormal:1,2,3 hist: \
            hist:1 hist:1=0 hist:1=-1 hist:1=nan zipf:3 99999999999 17000000 normal:5,1,1,17000000";
        for text in nonsense.split(' ').chain([""]) {
            assert!(text.parse::<LengthSpec>().is_err(), "{text}");
        }
    }
}
