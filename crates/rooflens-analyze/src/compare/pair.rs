//! A comparison as a whole: what was asked before numbers are believed, the numbers, and where they come from.

use serde::Serialize;

use super::false_discovery::adjusted;
use super::lines::{LEVEL, PlaceChange};
use super::ratio::{FEWEST, Ratio, percentile, ratio};

/// A number of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// Its name, with the unit.
    pub metric: &'static str,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Median over the rounds of A; null where it was not measured.
    pub a: Option<f64>,
    /// Median over the rounds of B.
    pub b: Option<f64>,
    /// Rounds of A.
    pub a_rounds: usize,
    /// Rounds of B.
    pub b_rounds: usize,
    /// B / A; null where there are too few rounds.
    pub ratio: Option<Ratio>,
    /// Probability of such a difference by chance, corrected for the number of metrics; null where too few.
    pub p_adjusted: Option<f64>,
    /// Whether it is more than chance, and more than what a side did by itself.
    pub is_change: bool,
    /// Why it was not judged, where it was not.
    pub not_judged: Option<String>,
}

impl Headline {
    /// Of the values of the rounds of each side, in the order of time. Judged by itself; [`judge`] corrects for
    /// others.
    pub fn of(metric: &'static str, more_is_better: bool, a: &[f64], b: &[f64]) -> Self {
        let median = |values: &[f64]| {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            (!sorted.is_empty()).then(|| percentile(&sorted, 0.5))
        };
        let ratio = ratio(a, b);
        let fewest = a.len().min(b.len());
        let why = || format!("{} and {} rounds: at least {FEWEST} a side are needed", a.len(), b.len());
        let mut headline = Headline {
            metric,
            more_is_better,
            a: median(a),
            b: median(b),
            a_rounds: a.len(),
            b_rounds: b.len(),
            p_adjusted: None,
            is_change: false,
            ratio,
            not_judged: (fewest < FEWEST).then(why),
        };
        judge(std::slice::from_mut(&mut headline));
        headline
    }
}

/// Corrects for the number of metrics and says which changed.
pub fn judge(all: &mut [Headline]) {
    let p_values: Vec<f64> = all.iter().filter_map(|row| row.ratio.as_ref().map(|ratio| ratio.p)).collect();
    let judged = all.iter_mut().filter_map(|row| row.ratio.clone().map(|ratio| (row, ratio)));
    for ((row, ratio), p) in judged.zip(adjusted(&p_values)) {
        row.p_adjusted = Some(p);
        row.is_change = p < LEVEL && ratio.excludes_same() && ratio.exceeds_drift();
    }
}

/// Whether something is alike on both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What.
    pub what: String,
    /// In A; null where it is not known.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
    /// What that means.
    pub verdict: CheckVerdict,
}

/// What a check comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Alike.
    Same,
    /// Not alike, and that may be what is compared.
    Differs,
    /// Not alike: the comparison says nothing.
    Invalid,
    /// One side does not tell.
    Unknown,
}

impl CheckVerdict {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckVerdict::Same => "same",
            CheckVerdict::Differs => "differs",
            CheckVerdict::Invalid => "invalid",
            CheckVerdict::Unknown => "unknown",
        }
    }
}

/// A key of the config that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The key.
    pub key: String,
    /// In A; null where it is not there.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
}

/// Two sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The baseline.
    pub a: String,
    /// What is compared with it.
    pub b: String,
    /// Whether the checks hold.
    pub is_valid: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// What the user changed.
    pub differences: Vec<Difference>,
    /// Numbers of the rounds.
    pub headline: Vec<Headline>,
    /// Steps and what they are made of, by rank and device that both sides have: the one with the largest change
    /// first.
    pub places: Vec<PlaceChange>,
}
