//! A comparison as a whole: what was asked before numbers are believed, the numbers, and where they come from.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::account::Account;
use super::lines::{LEVEL, PlaceChange};
use super::paired::paired_ratio_of;
use super::rank_sum::{adjusted, rank_sum};
use super::ratio::{FEWEST, Ratio, ratio_of};
use crate::compare::headline::MetricSample;

/// A number of both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headline {
    /// Its name, with the unit.
    pub metric: Cow<'static, str>,
    /// Whether more is better.
    pub more_is_better: bool,
    /// Its value in A, over all measured requests as in `metrics.json`; null where it was not measured.
    pub a: Option<f64>,
    /// The same in B.
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

/// What a side tells of a metric.
type Side<'a> = Option<&'a MetricSample>;

impl Headline {
    /// Of what each side tells. Judged by itself; [`judge`] corrects for others.
    pub fn of(metric: &'static str, more_is_better: bool, a: Side<'_>, b: Side<'_>) -> Self {
        Self::with(metric, more_is_better, (a, b), ratio_of)
    }

    /// The same where rounds take turns: each of B is compared with its neighbour of A, if all have the metric.
    pub fn of_pairs(metric: &'static str, more_is_better: bool, a: Side<'_>, b: Side<'_>) -> Self {
        let pairs = |a: &MetricSample, b: &MetricSample| paired_ratio_of(a, b).or_else(|| ratio_of(a, b));
        Self::with(metric, more_is_better, (a, b), pairs)
    }

    fn with(
        metric: &'static str,
        more_is_better: bool,
        (a, b): (Side<'_>, Side<'_>),
        ratio_of: impl Fn(&MetricSample, &MetricSample) -> Option<Ratio>,
    ) -> Self {
        let [a_rounds, b_rounds] = [a, b].map(|side| side.map_or(0, MetricSample::count));
        let ratio = a.zip(b).and_then(|(a, b)| ratio_of(a, b));
        let fewest = a_rounds.min(b_rounds);
        let why = || {
            format!(
                "{a_rounds} and {b_rounds} measured rounds, at least {FEWEST} per side are needed: `repeats` sets them, --rounds those of a load test"
            )
        };
        // A share that is 0 in A has no ratio, but its rounds have ranks.
        let of_ranks = || a.zip(b).and_then(|(a, b)| rank_sum(&a.rounds(), &b.rounds()));
        let p_alone = if ratio.is_none() && fewest >= FEWEST { of_ranks() } else { None };
        let mut headline = Headline {
            metric: metric.into(),
            more_is_better,
            a: a.map(MetricSample::value),
            b: b.map(MetricSample::value),
            a_rounds,
            b_rounds,
            p_adjusted: p_alone,
            is_change: p_alone.is_some_and(|p| p < LEVEL),
            ratio,
            not_judged: (fewest < FEWEST).then(why),
        };
        judge(std::slice::from_mut(&mut headline));
        headline
    }
}

/// Corrects for the number of metrics and says which changed. Metrics that are the same by nature, as requests and tokens
/// per second where all requests have the same length, are one question.
pub fn judge(all: &mut [Headline]) {
    let question = |ratio: &Ratio| ((ratio.ratio * 1e9).round() as i64, (ratio.p * 1e12).round() as i64);
    let mut questions: BTreeMap<(i64, i64), f64> = BTreeMap::new();
    all.iter().filter_map(|row| row.ratio.as_ref()).for_each(|ratio| {
        questions.insert(question(ratio), ratio.p);
    });
    let p_values: Vec<f64> = questions.values().copied().collect();
    for (known, p) in questions.values_mut().zip(adjusted(&p_values)) {
        *known = p;
    }
    let judged = all.iter_mut().filter_map(|row| row.ratio.clone().map(|ratio| (row, ratio)));
    for (row, ratio) in judged {
        let p = questions[&question(&ratio)];
        row.p_adjusted = Some(p);
        row.is_change = p < LEVEL && ratio.excludes_same() && ratio.exceeds_drift();
    }
}

/// Whether something is alike on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Alike.
    Same,
    /// Not alike, and that may explain a difference.
    Differs,
    /// Another device, workload or engine: what is compared, and no regression test.
    DiffersOnPurpose,
    /// The comparison is meaningless.
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
            CheckVerdict::DiffersOnPurpose => "different setup",
            CheckVerdict::Invalid => "invalid",
            CheckVerdict::Unknown => "unknown",
        }
    }
}

/// A key of the config that differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigDifference {
    /// The key.
    pub key: String,
    /// In A; null if it is missing.
    pub a: Option<String>,
    /// In B.
    pub b: Option<String>,
}

/// Two sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// The baseline.
    pub a: String,
    /// What is compared with it.
    pub b: String,
    /// Whether the comparison means anything.
    pub is_valid: bool,
    /// Whether device, workload and model are the same, so that a difference is a regression or a gain. Gates ask
    /// for that.
    #[serde(default)]
    pub is_like_for_like: bool,
    /// Whether the rounds of A and B took turns, so that each of B is compared with its neighbour of A: ratios are those
    /// of a typical pair.
    #[serde(default)]
    pub is_interleaved: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// What the user changed.
    pub differences: Vec<ConfigDifference>,
    /// Headline metrics.
    pub headline: Vec<Headline>,
    /// Where the time of all ranks and devices that both sides have went: the mean per device, or per step.
    #[serde(default)]
    pub accounts: Vec<Account>,
    /// Steps and what they are made of, by rank and device that both sides have: the one with the largest change
    /// first.
    pub places: Vec<PlaceChange>,
}
