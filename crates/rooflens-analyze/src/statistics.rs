//! Exact statistics over durations.

use crate::percentile::{median_of, nearest_rank_index};

/// `part / whole` as a share; 0 where `whole` is not positive, so that it is always finite.
pub(crate) fn share(part: i64, whole: i64) -> f64 {
    if whole > 0 { part as f64 / whole as f64 } else { 0.0 }
}

/// `total / count`; 0 for none.
pub fn mean(total: i64, count: usize) -> f64 {
    if count == 0 { 0.0 } else { total as f64 / count as f64 }
}

/// Standard deviation of a sample (`n − 1`) around its mean; `None` for fewer than two values.
pub fn sample_deviation(values: impl ExactSizeIterator<Item = f64>, mean: f64) -> Option<f64> {
    let count = values.len();
    let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
    (count > 1).then(|| (squares / (count - 1) as f64).sqrt())
}

/// Durations of one name, kept whole for exact percentiles over any number of ranks.
///
/// New values wait as they come, four bytes each; [`Durations::compact`] turns them into sorted
/// (value, how often) pairs. Durations of one kernel repeat, so a thousand ranks take little more
/// room than a few.
#[derive(Debug, Clone, Default)]
pub(crate) struct Durations {
    pub(crate) count: usize,
    pub(crate) total_ns: i64,
    /// Waiting values that fit four bytes: up to 4.29 s.
    recent: Vec<u32>,
    /// Those that do not: longer, or negative.
    wide: Vec<i64>,
    runs: Vec<(u32, u32)>,
}

impl Durations {
    pub(crate) fn push(&mut self, dur_ns: i64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(dur_ns);
        match u32::try_from(dur_ns) {
            Ok(short) => self.recent.push(short),
            Err(_) => self.wide.push(dur_ns),
        }
    }

    pub(crate) fn waiting(&self) -> usize {
        self.recent.len()
    }

    /// Sorts the waiting values into the pairs.
    pub(crate) fn compact(&mut self) {
        self.recent.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(self.runs.len());
        let mut old = self.runs.drain(..).peekable();
        let mut add = |(value, times): (u32, u32)| match merged.last_mut() {
            // A count that would overflow starts another pair of the same value.
            Some(last) if last.0 == value && last.1.checked_add(times).is_some() => last.1 += times,
            _ => merged.push((value, times)),
        };
        for value in self.recent.drain(..) {
            while let Some(run) = old.next_if(|run| run.0 <= value) {
                add(run);
            }
            add((value, 1));
        }
        old.for_each(add);
        merged.shrink_to_fit();
        self.runs = merged;
        self.recent = Vec::new();
    }

    pub(crate) fn mean(&self) -> f64 {
        mean(self.total_ns, self.count)
    }

    pub(crate) fn median(&mut self) -> Option<f64> {
        let (lower, upper) = (self.count.checked_sub(1)? / 2, self.count / 2);
        if self.wide.is_empty() && self.runs.is_empty() {
            let values = &mut self.recent;
            let (_, &mut first, above) = values.select_nth_unstable(lower);
            let second = if upper == lower { Some(first) } else { above.iter().min().copied() };
            return Some(median_of(i64::from(first), i64::from(second.unwrap_or(first))));
        }
        self.compact();
        self.wide.sort_unstable();
        Some(median_of(self.nth(lower), self.nth(upper)))
    }

    /// Shortest, the percentiles asked for (ascending), longest. `None` without values.
    pub(crate) fn summary<const N: usize>(mut self, percents: [usize; N]) -> Option<DurationSummary<N>> {
        if self.count == 0 {
            return None;
        }
        let indices = percents.map(|percent| nearest_rank_index(self.count, percent));
        if self.wide.is_empty() && self.runs.is_empty() {
            // The common case, one or a few ranks: selection instead of sorting.
            let values = &mut self.recent;
            let min = values.iter().min().copied().unwrap_or_default();
            let max = values.iter().max().copied().unwrap_or_default();
            let mut done = 0;
            let picked = indices.map(|index| {
                // What lies below an earlier percentile need not be looked at again.
                let rest = &mut values[done..];
                let value = *rest.select_nth_unstable(index - done).1;
                done = index;
                i64::from(value)
            });
            return Some(DurationSummary { min: i64::from(min), percentiles: picked, max: i64::from(max) });
        }
        self.compact();
        self.wide.sort_unstable();
        Some(DurationSummary {
            min: self.nth(0),
            percentiles: indices.map(|index| self.nth(index)),
            max: self.nth(self.count - 1),
        })
    }

    /// The value at a position of the sorted whole; needs `compact` and sorted `wide`.
    fn nth(&self, index: usize) -> i64 {
        let negative = self.wide.partition_point(|value| *value < 0);
        if index < negative {
            return self.wide[index];
        }
        let mut below = negative;
        for &(value, times) in &self.runs {
            below += times as usize;
            if index < below {
                return i64::from(value);
            }
        }
        self.wide.get(negative + index - below).copied().unwrap_or(i64::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DurationSummary<const N: usize> {
    pub(crate) min: i64,
    pub(crate) percentiles: [i64; N],
    pub(crate) max: i64,
}

/// Fits one straight line to several series, each with its own level, and gives its rise from a
/// series' first value to its last. `None` where every series is shorter than two.
///
/// Position within a series runs from 0 to 1, so series of different length weigh by their values;
/// for one series this is ordinary least squares over the positions, times (n - 1).
pub(crate) fn rise<'a>(series: impl Iterator<Item = &'a [i64]>) -> Option<f64> {
    let (mut covariance, mut variance) = (0.0, 0.0);
    for values in series.filter(|values| values.len() > 1) {
        let last = (values.len() - 1) as f64;
        let level = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
        for (i, value) in values.iter().enumerate() {
            let x = i as f64 / last - 0.5;
            covariance += x * (*value as f64 - level);
            variance += x * x;
        }
    }
    (variance > 0.0).then(|| covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_whether_compacted_or_not() {
        // Deterministic values with repeats, two too long for four bytes and one negative.
        let mut values: Vec<i64> = (0..1000).map(|i: i64| (i * 7919) % 613).collect();
        values.extend([5_000_000_000, 6_000_000_000, -1]);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        for every in [1, 10, 400, 5000] {
            let mut durations = Durations::default();
            for (i, value) in values.iter().enumerate() {
                durations.push(*value);
                if i % every == every - 1 {
                    durations.compact();
                    assert_eq!(durations.waiting(), 0);
                }
            }
            assert_eq!(durations.count, 1003);
            assert_eq!(durations.total_ns, values.iter().sum::<i64>());
            let at = |percent| sorted[nearest_rank_index(1003, percent)];
            assert_eq!(
                durations.summary([50, 90, 99]),
                Some(DurationSummary { min: -1, percentiles: [at(50), at(90), at(99)], max: 6_000_000_000 })
            );
        }
        let mut short = Durations::default();
        values.iter().filter(|value| (0..1000).contains(*value)).for_each(|value| short.push(*value));
        let mut sorted: Vec<i64> = values.into_iter().filter(|value| (0..1000).contains(value)).collect();
        sorted.sort_unstable();
        let at = |percent| sorted[nearest_rank_index(1000, percent)];
        assert_eq!(
            short.summary([50, 50, 99]),
            Some(DurationSummary { min: 0, percentiles: [at(50), at(50), at(99)], max: 612 })
        );
        assert_eq!(Durations::default().summary([50]), None);
    }

    #[test]
    fn rise_of_a_line_is_its_height() {
        let rise_is = |series: &[&[i64]], expected: f64| {
            let found = rise(series.iter().copied());
            assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{found:?}");
        };
        rise_is(&[&[10, 12, 14, 16]], 6.0);
        // Two ranks with the same rise at different levels: the level does not matter.
        rise_is(&[&[10, 12, 14, 16], &[110, 112, 114, 116]], 6.0);
        // 1, 3, 2 over positions -1/2, 0, 1/2 from the level 2: (0.5 + 0 + 0) / 0.5.
        rise_is(&[&[1, 3, 2]], 1.0);
        assert_eq!(rise([[5].as_slice()].into_iter()), None);
    }

    #[test]
    fn shares_are_finite() {
        assert_eq!(share(5, 0), 0.0);
        assert_eq!(share(1, 4), 0.25);
        assert_eq!(mean(5, 0), 0.0);
    }
}
