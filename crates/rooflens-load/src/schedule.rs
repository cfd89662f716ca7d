//! When sessions arrive: the same times in every process for the same seed.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Exp1, Gamma};

use crate::plan::{ArrivalGaps, Arrivals, Stage};

/// The arrival times of an open loop, in nanoseconds since the begin. Gaps are drawn at a mean rate of 1 and stretched
/// by the inverse of the cumulative rate, so that ramps keep the statistics of the gaps.
#[derive(Debug)]
pub(crate) struct ArrivalTimes {
    stages: Vec<Stage>,
    unit: UnitGaps,
    random: ChaCha8Rng,
    expected: f64,
    /// The stage in which that lies, what was expected before it, and when it begins.
    stage: usize,
    stage_expected: f64,
    stage_begin: f64,
}

#[derive(Debug)]
enum UnitGaps {
    Constant,
    Exponential,
    Gamma(Gamma<f64>),
}

impl ArrivalTimes {
    pub(crate) fn new(arrivals: &Arrivals, seed: u64) -> Result<Self, String> {
        check(&arrivals.stages)?;
        let unit = match arrivals.gaps {
            ArrivalGaps::Constant => UnitGaps::Constant,
            ArrivalGaps::Poisson => UnitGaps::Exponential,
            ArrivalGaps::Gamma(shape) => {
                let gamma = (shape > 0.0).then(|| Gamma::new(shape, 1.0 / shape).ok()).flatten();
                UnitGaps::Gamma(gamma.ok_or_else(|| format!("burstiness must be above 0, not {shape}"))?)
            }
        };
        Ok(ArrivalTimes {
            stages: arrivals.stages.clone(),
            unit,
            random: ChaCha8Rng::seed_from_u64(seed),
            expected: 0.0,
            stage: 0,
            stage_expected: 0.0,
            stage_begin: 0.0,
        })
    }

    fn gap(&mut self) -> f64 {
        match &self.unit {
            UnitGaps::Constant => 1.0,
            UnitGaps::Exponential => Exp1.sample(&mut self.random),
            UnitGaps::Gamma(gamma) => gamma.sample(&mut self.random),
        }
    }
}

impl Iterator for ArrivalTimes {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        // Constant gaps begin at 0; random ones with a gap.
        let gap =
            if matches!(self.unit, UnitGaps::Constant) && self.expected == 0.0 && self.stage_begin == 0.0 {
                f64::MIN_POSITIVE
            } else {
                self.gap()
            };
        self.expected += gap;
        loop {
            let stage = self.stages.get(self.stage)?;
            let within = self.expected - self.stage_expected;
            if within <= expected_in(stage) {
                let seconds = self.stage_begin + seconds_until(stage, within)?;
                return Some((seconds * 1e9).round() as i64);
            }
            self.stage_expected += expected_in(stage);
            self.stage_begin += stage.seconds;
            self.stage += 1;
        }
    }
}

fn check(stages: &[Stage]) -> Result<(), &'static str> {
    let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
    if !stages.iter().all(|stage| is_rate(stage.from_rate) && is_rate(stage.to_rate))
        || !stages.iter().any(|stage| stage.from_rate > 0.0 || stage.to_rate > 0.0)
    {
        return Err("arrival rates must not be negative, and one must be above 0");
    }
    for (at, stage) in stages.iter().enumerate() {
        let is_last = at + 1 == stages.len();
        let has_length = stage.seconds > 0.0 && (stage.seconds.is_finite() || is_last);
        if !has_length {
            return Err("a stage must have a length above 0, and only the last may be infinite");
        }
        if stage.seconds.is_infinite() && stage.from_rate != stage.to_rate {
            return Err("the rate of a stage without end must be constant");
        }
    }
    Ok(())
}

fn expected_in(stage: &Stage) -> f64 {
    if stage.from_rate == 0.0 && stage.to_rate == 0.0 {
        return 0.0;
    }
    (stage.from_rate + stage.to_rate) / 2.0 * stage.seconds
}

/// When in a stage so many arrivals are expected: the root of `from·t + slope·t²/2 = expected`.
fn seconds_until(stage: &Stage, expected: f64) -> Option<f64> {
    let slope =
        if stage.seconds.is_finite() { (stage.to_rate - stage.from_rate) / stage.seconds } else { 0.0 };
    if slope == 0.0 {
        return (stage.from_rate > 0.0).then(|| expected / stage.from_rate);
    }
    // In the form without a difference of nearly equal numbers.
    let root = (stage.from_rate * stage.from_rate + 2.0 * slope * expected).max(0.0).sqrt();
    Some(2.0 * expected / (stage.from_rate + root))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(stages: &[(f64, f64, f64)], gaps: ArrivalGaps, seed: u64, count: usize) -> Vec<i64> {
        let stages = stages
            .iter()
            .map(|&(seconds, from_rate, to_rate)| Stage { seconds, from_rate, to_rate })
            .collect();
        ArrivalTimes::new(&Arrivals { stages, gaps }, seed).unwrap().take(count).collect()
    }

    #[test]
    fn constant_gaps_are_all_the_same() {
        let times = times(&[(f64::INFINITY, 4.0, 4.0)], ArrivalGaps::Constant, 0, 4);
        assert_eq!(times, [0, 250_000_000, 500_000_000, 750_000_000]);
    }

    #[test]
    fn a_ramp_follows_the_integral_of_its_rate() {
        // Rate 2t: the k-th of constant gaps (from 0) is due at the square root of k.
        let times = times(&[(3.0, 0.0, 6.0)], ArrivalGaps::Constant, 0, 100);
        let expected: Vec<i64> = (0..=9).map(|k| ((k as f64).sqrt() * 1e9).round() as i64).collect();
        assert_eq!(times, expected);
    }

    #[test]
    fn stages_follow_each_other_and_the_last_ends_it() {
        let times =
            times(&[(1.0, 2.0, 2.0), (2.0, 0.0, 0.0), (1.0, 4.0, 4.0)], ArrivalGaps::Constant, 0, 100);
        let expected = [0.0, 0.5, 1.0, 3.25, 3.5, 3.75, 4.0].map(|seconds: f64| (seconds * 1e9) as i64);
        assert_eq!(times, expected);
    }

    #[test]
    fn mean_and_variation_of_random_gaps_are_as_asked() {
        for (gaps, variation) in [
            (ArrivalGaps::Poisson, 1.0),
            (ArrivalGaps::Gamma(0.25), 2.0),
            (ArrivalGaps::Gamma(4.0), 0.5),
            (ArrivalGaps::Gamma(1.0), 1.0),
        ] {
            let count = 200_000;
            let times = times(&[(f64::INFINITY, 1000.0, 1000.0)], gaps, 7, count);
            let gaps_of: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6).collect();
            let mean = gaps_of.iter().sum::<f64>() / gaps_of.len() as f64;
            let variance = gaps_of.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps_of.len() as f64;
            assert!((mean - 1.0).abs() < 0.02, "{gaps:?}: mean {mean}");
            assert!((variance.sqrt() / mean / variation - 1.0).abs() < 0.03, "{gaps:?}: {}", variance.sqrt());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_times_and_another_seed_others() {
        let draw = |seed| times(&[(f64::INFINITY, 10.0, 10.0)], ArrivalGaps::Poisson, seed, 50);
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert!(draw(3).windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |stage: (f64, f64, f64), gaps| {
            let stages = vec![Stage { seconds: stage.0, from_rate: stage.1, to_rate: stage.2 }];
            ArrivalTimes::new(&Arrivals { stages, gaps }, 0).unwrap_err()
        };
        for (stage, gaps, problem) in [
            ((1.0, 0.0, 0.0), ArrivalGaps::Poisson, "arrival rates"),
            ((1.0, -1.0, 1.0), ArrivalGaps::Poisson, "arrival rates"),
            ((1.0, f64::NAN, 1.0), ArrivalGaps::Poisson, "arrival rates"),
            ((0.0, 1.0, 1.0), ArrivalGaps::Poisson, "a length above 0"),
            ((f64::INFINITY, 0.0, 1.0), ArrivalGaps::Poisson, "must be constant"),
            ((1.0, 1.0, 1.0), ArrivalGaps::Gamma(0.0), "burstiness"),
        ] {
            assert!(refused(stage, gaps).contains(problem), "{stage:?}");
        }
        let none = Arrivals { stages: vec![], gaps: ArrivalGaps::Poisson };
        assert!(ArrivalTimes::new(&none, 0).is_err());
    }
}
