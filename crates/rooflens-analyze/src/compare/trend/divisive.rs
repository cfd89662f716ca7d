//! Where does a series split best? The energy statistic of Matteson and James (arXiv 1306.4933).

use std::ops::Range;

/// A series of which all distances are known, to be asked for the best split of its parts.
pub(super) struct Distances {
    count: usize,
    /// `|x_i − x_j|`, row by row.
    between: Vec<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Split {
    /// First value of the right side.
    pub(crate) at: usize,
    pub(crate) difference: f64,
}

impl Distances {
    pub(crate) fn of(series: &[f64]) -> Self {
        let between = series.iter().flat_map(|a| series.iter().map(move |b| (a - b).abs())).collect();
        Distances { count: series.len(), between }
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        self.between[row * self.count + column]
    }

    /// The split of `part` whose left side differs most from what follows it, up to any end: `None` for
    /// fewer than two values.
    ///
    /// With X before `at`, Y from there to any `end`, n and m their lengths, the difference is
    /// `2/(m+n) · (Σ|x−y| − m/(n−1) · Σ|x−x'| − n/(m−1) · Σ|y−y'|)`. All sums come from two kinds: of each
    /// value to those before it, and to those after it up to `end`.
    pub(crate) fn best(&self, part: Range<usize>) -> Option<Split> {
        let (start, size) = (part.start, part.len().checked_sub(1).filter(|size| *size > 0)?);
        // before[i]: from value start+i+1 to all before it. Summed over all, so that rounding is the same
        // whatever the part.
        let before = |i: usize| {
            let column = start + i + 1;
            let all: f64 = (0..column).map(|row| self.at(row, column)).sum();
            all - (0..start).map(|row| self.at(row, column)).sum::<f64>()
        };
        // after[i][j]: from value start+i to those after it, up to start+j+1.
        let mut after = vec![0.0; size * size];
        for i in 0..size {
            let mut sum = 0.0;
            for j in i..size {
                sum += self.at(start + i, start + j + 1);
                after[i * size + j] = sum;
            }
        }
        // inside_right[i][j]: distances among values from start+i+1 to start+j+1.
        let mut inside_right = vec![0.0; size * size];
        for i in (0..size.saturating_sub(1)).rev() {
            for j in 0..size {
                inside_right[i * size + j] = inside_right[(i + 1) * size + j] + after[(i + 1) * size + j];
            }
        }
        let mut best = Split { at: start + 1, difference: f64::NEG_INFINITY };
        let mut inside_left = 0.0;
        let mut across = vec![0.0; size];
        for i in 0..size {
            (0..size).for_each(|j| across[j] += after[i * size + j]);
            // An end before the split counts as no difference, where every split is worse than that.
            if i > 0 && best.difference < 0.0 {
                best = Split { at: start + i + 1, difference: 0.0 };
            }
            for j in i..size {
                let (left, right, both) = ((i + 1) as f64, (j - i + 1) as f64, (j + 2) as f64);
                let a = 2.0 / both * (across[j] - inside_left);
                let b = if i > 0 { 2.0 * right / (both * i as f64) * inside_left } else { 0.0 };
                let c = if j > i {
                    2.0 * left / (both * (j - i) as f64) * inside_right[i * size + j]
                } else {
                    0.0
                };
                let difference = a - b - c;
                if difference > best.difference {
                    best = Split { at: start + i + 1, difference };
                }
            }
            inside_left += before(i);
        }
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(left: &[f64], right: &[f64]) -> f64 {
        let across: f64 = left.iter().flat_map(|a| right.iter().map(move |b| (a - b).abs())).sum();
        let inside = |side: &[f64]| -> f64 {
            (0..side.len()).flat_map(|i| (0..i).map(move |j| (side[i] - side[j]).abs())).sum()
        };
        let (n, m) = (left.len() as f64, right.len() as f64);
        let share = |other: f64, own: f64, sum: f64| if own > 1.0 { other / (own - 1.0) * sum } else { 0.0 };
        2.0 / (n + m) * (across - share(m, n, inside(left)) - share(n, m, inside(right)))
    }

    #[test]
    fn best_is_the_best_of_the_definition() {
        let series = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0, 8.0];
        for part in [0..12, 3..12, 2..9, 0..2] {
            let found = Distances::of(&series).best(part.clone()).unwrap();
            let all = (part.start + 1..part.end)
                .flat_map(|at| (at + 1..=part.end).map(move |end| (at, end)))
                .map(|(at, end)| difference(&series[part.start..at], &series[at..end]));
            let most = all.fold(f64::NEG_INFINITY, f64::max);
            assert!((found.difference - most).abs() < 1e-12, "{part:?}: {found:?} and {most}");
        }
        // 0 0 0 | 6 6 6: 2/6 · 54 = 18.
        let found = Distances::of(&[0.0, 0.0, 0.0, 6.0, 6.0, 6.0]).best(0..6);
        assert_eq!(found, Some(Split { at: 3, difference: 18.0 }));
        assert_eq!(Distances::of(&[1.0]).best(0..1), None);
    }
}
