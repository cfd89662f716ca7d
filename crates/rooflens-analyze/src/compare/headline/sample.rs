//! What the rounds of a run tell of a metric.

use crate::percentile::{LinearRank, linear};

/// The parts of each round that a metric is computed from, in the order of time.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricSample {
    parts: Parts,
}

#[derive(Debug, Clone, PartialEq)]
enum Parts {
    /// A percentile of the values of all rounds. Values are sorted, each with the position of its round.
    Percentile { share: f64, values: Vec<(f64, usize)>, rounds: usize },
    /// A quotient of sums over rounds: amount and seconds of each.
    Rate(Vec<(f64, f64)>),
    /// The value alone: rounds were not kept.
    Value(f64),
}

impl MetricSample {
    /// A percentile over the values of all rounds; `None` without a value. Rounds without a value do not count.
    pub(crate) fn percentile(share: f64, rounds: Vec<Vec<f64>>) -> Option<Self> {
        let rounds: Vec<Vec<f64>> = rounds.into_iter().filter(|values| !values.is_empty()).collect();
        let mut values: Vec<(f64, usize)> = rounds
            .iter()
            .enumerate()
            .flat_map(|(round, values)| values.iter().map(move |value| (*value, round)))
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let parts = Parts::Percentile { share, values, rounds: rounds.len() };
        (!rounds.is_empty()).then_some(MetricSample { parts })
    }

    /// The median of rounds of one value each; `None` without a value.
    pub fn median(rounds: &[f64]) -> Option<Self> {
        Self::percentile(0.5, rounds.iter().map(|value| vec![*value]).collect())
    }

    pub(super) fn rate(rounds: Vec<(f64, f64)>) -> Option<Self> {
        let (amount, seconds) = rounds.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (amount > 0.0 && seconds > 0.0).then_some(MetricSample { parts: Parts::Rate(rounds) })
    }

    /// A fraction: how many of each round, of how many. It may be 0.
    pub(super) fn share(rounds: Vec<(f64, f64)>) -> Option<Self> {
        (!rounds.is_empty()).then_some(MetricSample { parts: Parts::Rate(rounds) })
    }

    /// Samples of the same metric one after the other, each of which becomes one round; `None` where one is missing, or
    /// is a value alone.
    pub fn joined(rounds: Vec<Option<Self>>) -> Option<Self> {
        let mut shares = Vec::new();
        let (mut values, mut rates) = (Vec::new(), Vec::new());
        for sample in rounds {
            match sample?.parts {
                Parts::Percentile { share, values: of_round, .. } => {
                    shares.push(share);
                    values.push(of_round.into_iter().map(|(value, _)| value).collect());
                }
                Parts::Rate(parts) => {
                    rates.push(parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1)));
                }
                Parts::Value(_) => return None,
            }
        }
        match shares.first() {
            Some(share) => Self::percentile(*share, values),
            None => Self::share(rates),
        }
    }

    /// A value whose rounds were not kept.
    pub fn value_alone(value: f64) -> Self {
        MetricSample { parts: Parts::Value(value) }
    }

    /// The metric, over all rounds.
    pub fn value(&self) -> f64 {
        self.of(&vec![1; self.count()])
    }

    /// How many rounds there are.
    pub fn count(&self) -> usize {
        match &self.parts {
            Parts::Percentile { rounds, .. } => *rounds,
            Parts::Rate(rounds) => rounds.len(),
            Parts::Value(_) => 0,
        }
    }

    pub(crate) fn size(&self) -> usize {
        match &self.parts {
            Parts::Percentile { values, .. } => values.len(),
            Parts::Rate(rounds) => rounds.len(),
            Parts::Value(_) => 1,
        }
    }

    /// The metric of each round alone.
    pub fn rounds(&self) -> Vec<f64> {
        match &self.parts {
            Parts::Percentile { share, values, rounds } => {
                let mut by_round = vec![Vec::new(); *rounds];
                values.iter().for_each(|(value, round)| by_round[*round].push(*value));
                by_round.iter().map(|values| linear(values, *share)).collect()
            }
            Parts::Rate(rounds) => rounds
                .iter()
                .map(|(amount, seconds)| if *seconds > 0.0 { amount / seconds } else { 0.0 })
                .collect(),
            Parts::Value(_) => Vec::new(),
        }
    }

    /// The metric where each round is there so many times: what a bootstrap over rounds asks.
    pub(crate) fn of(&self, times: &[u32]) -> f64 {
        match &self.parts {
            Parts::Percentile { share, values, .. } => weighted(values, times, *share),
            Parts::Rate(rounds) => {
                let sum = |of: fn(&(f64, f64)) -> f64| {
                    rounds.iter().zip(times).map(|(part, times)| of(part) * f64::from(*times)).sum::<f64>()
                };
                let seconds = sum(|part| part.1);
                if seconds > 0.0 { sum(|part| part.0) / seconds } else { 0.0 }
            }
            Parts::Value(value) => *value,
        }
    }
}

/// The percentile of [`linear`] where the values of a round are there so many times.
fn weighted(sorted: &[(f64, usize)], times: &[u32], share: f64) -> f64 {
    // A comparison draws thousands of times; with one value per round, which is the usual case, the sum is a short one.
    let count: usize = match sorted.len() == times.len() {
        true => times.iter().map(|times| *times as usize).sum(),
        false => sorted.iter().map(|(_, round)| times[*round] as usize).sum(),
    };
    let Some(rank) = LinearRank::of(count, share) else { return 0.0 };
    let (mut seen, mut below) = (0, f64::NAN);
    for (value, round) in sorted {
        seen += times[*round] as usize;
        if below.is_nan() && seen > rank.below {
            below = *value;
        }
        if seen > rank.above() {
            return rank.between(below, *value);
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_that_is_there_twice_counts_twice() {
        let sample = MetricSample::percentile(0.5, vec![vec![1.0, 9.0], vec![5.0], vec![]]).unwrap();
        assert_eq!((sample.count(), sample.value(), sample.rounds()), (2, 5.0, vec![5.0, 5.0]));
        // 1, 5, 5, 5, 9 and 1, 1, 9, 9.
        assert_eq!((sample.of(&[1, 3]), sample.of(&[2, 0])), (5.0, 5.0));
        // 1, 1, 5, 9, 9 at rank 0.9 × 4.
        let high = MetricSample::percentile(0.9, vec![vec![1.0, 9.0], vec![5.0]]).unwrap();
        assert_eq!(high.of(&[2, 1]), 9.0);
        let all: Vec<f64> = vec![1.0, 1.0, 5.0, 9.0, 9.0];
        assert_eq!(linear(&all, 0.9), 9.0);
        let rate = MetricSample::rate(vec![(10.0, 1.0), (30.0, 2.0)]).unwrap();
        assert_eq!((rate.value(), rate.of(&[2, 1]), rate.rounds()), (40.0 / 3.0, 12.5, vec![10.0, 15.0]));
        assert_eq!(MetricSample::value_alone(7.0).value(), 7.0);
        assert_eq!(MetricSample::median(&[]), None);
    }

    #[test]
    fn samples_become_rounds() {
        let of = |rounds: Vec<Vec<f64>>| MetricSample::percentile(0.5, rounds);
        let joined =
            MetricSample::joined(vec![of(vec![vec![1.0], vec![3.0]]), of(vec![vec![10.0]])]).unwrap();
        assert_eq!((joined.rounds(), joined.value()), (vec![2.0, 10.0], 3.0));
        let rate = |rounds: &[(f64, f64)]| MetricSample::rate(rounds.to_vec());
        let joined =
            MetricSample::joined(vec![rate(&[(10.0, 1.0), (20.0, 2.0)]), rate(&[(4.0, 2.0)])]).unwrap();
        assert_eq!((joined.rounds(), joined.value()), (vec![10.0, 2.0], 34.0 / 5.0));
        assert_eq!(MetricSample::joined(vec![rate(&[(1.0, 1.0)]), None]), None);
        assert_eq!(MetricSample::joined(Vec::new()), None);
    }
}
