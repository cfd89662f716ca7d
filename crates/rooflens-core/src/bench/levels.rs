//! The levels of a load test: how hard, one after the other.

use std::time::Duration;

use rooflens_load::plan::{ArrivalGaps, Arrivals, LoadLimits, Pace, Stage};

use super::document::LoadFacts;
use super::request::{LoadLevels, RateLevel};

#[derive(Debug, Clone)]
pub(crate) struct BenchLevel {
    pub(crate) pace: Pace,
    pub(crate) facts: LoadFacts,
}

pub(crate) fn known(load: &LoadLevels, limits: &LoadLimits, ramp: Duration, seed: u64) -> Vec<BenchLevel> {
    match load {
        LoadLevels::Concurrency(users) => {
            users.iter().map(|users| closed((*users).max(1), ramp, seed)).collect()
        }
        LoadLevels::Rate { rates, gaps, max_concurrency } => {
            rates.iter().map(|rate| open(*rate, *gaps, *max_concurrency, limits, seed)).collect()
        }
        LoadLevels::Replay { stretch, max_concurrency } => vec![replay(*stretch, *max_concurrency, seed)],
        LoadLevels::Search { .. } => Vec::new(),
    }
}

fn closed(users: usize, ramp: Duration, seed: u64) -> BenchLevel {
    let offered = if users == 1 { "1 user".to_owned() } else { format!("{users} users") };
    BenchLevel {
        pace: Pace::Closed { concurrency: users, ramp },
        facts: LoadFacts {
            offered,
            mode: "closed".to_owned(),
            concurrency: Some(users),
            seed,
            ..LoadFacts::default()
        },
    }
}

pub(crate) fn open(
    rate: RateLevel,
    gaps: ArrivalGaps,
    max_concurrency: Option<usize>,
    limits: &LoadLimits,
    seed: u64,
) -> BenchLevel {
    // A ramp takes the whole time of the level; without one, as long as its requests need at its mean rate.
    let mean = (rate.from + rate.to) / 2.0;
    let requests = limits.requests.unwrap_or(0) as f64;
    let seconds = limits.duration.map_or(requests / mean, |duration| duration.as_secs_f64());
    let is_ramp = rate.from != rate.to;
    let arrivals = match is_ramp {
        true => Arrivals {
            stages: vec![
                Stage { seconds, from_rate: rate.from, to_rate: rate.to },
                Stage { seconds: f64::INFINITY, from_rate: rate.to, to_rate: rate.to },
            ],
            gaps,
        },
        false => Arrivals::steady(rate.to, gaps),
    };
    let offered = match is_ramp {
        true => format!("{} to {} requests/s", rate.from, rate.to),
        false if rate.to == 1.0 => "1 request/s".to_owned(),
        false => format!("{} requests/s", shown(rate.to)),
    };
    BenchLevel {
        pace: Pace::Open { arrivals, max_concurrency },
        facts: LoadFacts {
            offered: with_limit(offered, max_concurrency),
            mode: "open".to_owned(),
            rate: Some(rate.to),
            max_concurrency,
            arrivals: Some(gaps_word(gaps)),
            seed,
            ..LoadFacts::default()
        },
    }
}

fn replay(stretch: f64, max_concurrency: Option<usize>, seed: u64) -> BenchLevel {
    let offered = match stretch {
        1.0 => "the arrivals of the trace".to_owned(),
        stretch => format!("the arrivals of the trace, times {stretch}"),
    };
    BenchLevel {
        pace: Pace::Replay { stretch, max_concurrency },
        facts: LoadFacts {
            offered: with_limit(offered, max_concurrency),
            mode: "replay".to_owned(),
            max_concurrency,
            seed,
            ..LoadFacts::default()
        },
    }
}

fn with_limit(offered: String, max_concurrency: Option<usize>) -> String {
    match max_concurrency {
        Some(limit) => format!("{offered}, at most {limit} in progress"),
        None => offered,
    }
}

fn shown(rate: f64) -> String {
    let text = format!("{rate:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn gaps_word(gaps: ArrivalGaps) -> String {
    match gaps {
        ArrivalGaps::Poisson => "poisson".to_owned(),
        ArrivalGaps::Constant => "constant".to_owned(),
        ArrivalGaps::Gamma(shape) => format!("gamma:{shape}"),
    }
}

impl BenchLevel {
    pub(crate) fn is_scheduled(&self) -> bool {
        !matches!(self.pace, Pace::Closed { .. })
    }

    pub(crate) fn folder_name(&self, number: usize) -> String {
        let word: String = self
            .facts
            .offered
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' })
            .collect();
        let word: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
        format!("{number:02}-{}", word.join("-"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> LoadLimits {
        LoadLimits { requests: Some(100), ..LoadLimits::default() }
    }

    #[test]
    fn a_ramp_takes_as_long_as_its_requests_need() {
        let level = open(RateLevel { from: 0.0, to: 20.0 }, ArrivalGaps::Poisson, Some(8), &limits(), 0);
        let Pace::Open { arrivals, .. } = &level.pace else { panic!("an open loop") };
        assert_eq!(arrivals.stages[0].seconds, 10.0);
        assert_eq!(level.facts.offered, "0 to 20 requests/s, at most 8 in progress");
        assert_eq!(level.folder_name(2), "02-0-to-20-requests-s-at-most-8-in-progress");
    }

    #[test]
    fn levels_in_their_order() {
        let levels = known(&LoadLevels::Concurrency(vec![1, 16]), &limits(), Duration::ZERO, 7);
        let offered: Vec<&str> = levels.iter().map(|level| level.facts.offered.as_str()).collect();
        assert_eq!(offered, ["1 user", "16 users"]);
        assert!(!levels[0].is_scheduled());
        assert_eq!(shown(2.5), "2.5");
        assert_eq!(shown(40.0), "40");
    }
}
