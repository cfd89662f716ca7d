//! Since when is a number different? Change points of a series, one value a run.
//!
//! The deterministic E-divisive of Fleming and others ("Hunter", 2023), as Apache Otava 0.8 computes it: in
//! windows that overlap by half, the split that differs most is kept while a t-test finds it significant at a
//! loose level; then the weakest of all are taken out, one by one, until the rest hold at the level asked for.
//! `oracles/check_trend.py` holds it to Otava itself.

mod divisive;
pub(crate) mod student;

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::divisive::Distances;
use self::student::{Moments, p_value};

/// How change points are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendOptions {
    /// Values looked at together; at least 2.
    pub window: usize,
    /// Greatest p-value of a change.
    pub max_p: f64,
    /// Least change, as 0.02 for 2 %.
    pub min_change: f64,
}

impl Default for TrendOptions {
    fn default() -> Self {
        TrendOptions { window: 50, max_p: 0.001, min_change: 0.0 }
    }
}

/// A place where the mean changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangePoint {
    /// The first value that is different, counted from 0.
    pub index: usize,
    /// Mean from the change before.
    pub before: f64,
    /// Mean up to the next change.
    pub after: f64,
    /// `after / before − 1`; null where the mean before is 0.
    pub change: Option<f64>,
    /// Probability of so great a difference where nothing changed.
    pub p: f64,
}

impl ChangePoint {
    /// The larger of the changes forward and backward: a rise from 1 to 2 counts as its fall back.
    fn magnitude(&self) -> f64 {
        let relative = |from: f64, to: f64| if from == 0.0 { 0.0 } else { (to / from - 1.0).abs() };
        let (forward, backward) = (relative(self.before, self.after), relative(self.after, self.before));
        if backward > forward { backward } else { forward }
    }
}

/// The change points of a series, by index. Values must be finite; fewer than two have none.
pub fn change_points(series: &[f64], options: &TrendOptions) -> Vec<ChangePoint> {
    if series.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    // A first look that is less strict keeps points whose neighbours hide them.
    let loose = match options.max_p {
        p if p < 0.05 => p * 10.0,
        p if p < 0.5 => p * 2.0,
        p => p,
    };
    let weak = windows(series, options.window.max(2), loose);
    merged(series, weak, options)
}

fn windows(series: &[f64], window: usize, max_p: f64) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = (start + window).min(series.len());
        let points = divide(&series[start..end], max_p);
        let last = points.last().map_or(0, |point| point + start);
        found.extend(points.iter().map(|point| point + start));
        start = last.max(start + window / 2);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Splits a window where it differs most, as long as that is significant.
fn divide(series: &[f64], max_p: f64) -> Vec<usize> {
    let distances = Distances::of(series);
    let mut points: Vec<usize> = Vec::new();
    loop {
        let mut best: Option<(divisive::Split, Range<usize>)> = None;
        for part in parts(&points, series.len()) {
            if let Some(split) = distances.best(part.clone())
                && best.as_ref().is_none_or(|(most, _)| split.difference > most.difference)
            {
                best = Some((split, part));
            }
        }
        let Some((split, part)) = best else { return points };
        let p = point(series, part.start, split.at, part.end).p;
        if p > max_p || p.is_nan() {
            return points;
        }
        points.push(split.at);
        points.sort_unstable();
    }
}

fn merged(series: &[f64], weak: Vec<usize>, options: &TrendOptions) -> Vec<ChangePoint> {
    let describe = |at: &[usize], place: usize| {
        let start = place.checked_sub(1).map_or(0, |before| at[before]);
        point(series, start, at[place], at.get(place + 1).copied().unwrap_or(series.len()))
    };
    let mut points: Vec<ChangePoint> = (0..weak.len()).map(|place| describe(&weak, place)).collect();
    let mut at = weak;
    while let Some(mut weakest) = first_where(&points, |new, old| new.p > old.p) {
        if points[weakest].p < options.max_p {
            weakest = first_where(&points, |new, old| new.magnitude() < old.magnitude()).unwrap_or(weakest);
            if points[weakest].magnitude() > options.min_change {
                // What is told of each is of all values up to its neighbours.
                return (0..at.len()).map(|place| describe(&at, place)).collect();
            }
        }
        points.remove(weakest);
        at.remove(weakest);
        // Its neighbours reach further now. Otava looks at the one after it anew, and at the next, but not at
        // the one before it: so do we while points are chosen, to choose the same.
        for place in weakest..(weakest + 2).min(points.len()) {
            points[place] = describe(&at, place);
        }
    }
    points
}

fn first_where(points: &[ChangePoint], beats: impl Fn(&ChangePoint, &ChangePoint) -> bool) -> Option<usize> {
    (0..points.len()).reduce(|best, new| if beats(&points[new], &points[best]) { new } else { best })
}

fn point(series: &[f64], start: usize, at: usize, end: usize) -> ChangePoint {
    let (left, right) = (Moments::of(&series[start..at]), Moments::of(&series[at..end]));
    let change = (left.mean != 0.0).then(|| right.mean / left.mean - 1.0);
    ChangePoint { index: at, before: left.mean, after: right.mean, change, p: p_value(left, right) }
}

fn parts(points: &[usize], count: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(points.iter().copied());
    let ends = points.iter().copied().chain([count]);
    starts.zip(ends).map(|(start, end)| start..end).filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(series: &[f64]) -> Vec<usize> {
        change_points(series, &TrendOptions::default()).iter().map(|point| point.index).collect()
    }

    /// A saw of ±1 % around a level: noise without luck.
    fn level(level: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |i| level * (1.0 + 0.01 * [0.3, -1.0, 0.7, 1.0, -0.6, -0.4][i % 6]))
    }

    #[test]
    fn a_step_of_two_percent_is_found_in_noise_of_one() {
        let series: Vec<f64> = level(100.0, 30).chain(level(102.0, 30)).collect();
        let found = change_points(&series, &TrendOptions::default());
        assert_eq!(found.iter().map(|point| point.index).collect::<Vec<_>>(), [30]);
        assert!((found[0].change.unwrap() - 0.02).abs() < 1e-9);
        assert!((found[0].before - 100.0).abs() < 1e-9 && (found[0].after - 102.0).abs() < 1e-9);
        assert!(found[0].p < 1e-6);
        let larger = TrendOptions { min_change: 0.03, ..TrendOptions::default() };
        assert!(change_points(&series, &larger).is_empty());
    }

    #[test]
    fn nothing_is_found_where_nothing_changes() {
        assert!(indices(&level(100.0, 200).collect::<Vec<_>>()).is_empty());
        assert!(indices(&[0.1; 60]).is_empty());
        assert!(indices(&[]).is_empty() && indices(&[1.0]).is_empty());
        assert!(indices(&[1.0, f64::NAN, 2.0]).is_empty());
    }

    #[test]
    fn steps_up_and_down_over_many_windows() {
        let series: Vec<f64> =
            level(10.0, 70).chain(level(12.0, 45)).chain(level(9.0, 100)).chain(level(9.0, 20)).collect();
        assert_eq!(indices(&series), [70, 115]);
    }
}
