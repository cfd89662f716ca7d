//! What a count that only grows has grown by, over stretches that begin and end between samples.

const ONE_SAMPLE: &str = "it was reported less than twice; a shorter sampler.interval_ms takes more samples";
const OUTSIDE: &str = "the samples do not cover it";
const WENT_BACK: &str = "its counter decreased, as when one of several processes ends";

fn grown(from: f64, to: f64) -> Result<f64, &'static str> {
    if to >= from { Ok(to - from) } else { Err(WENT_BACK) }
}

/// A count at the moments it was sampled, by time.
pub(super) struct Growth {
    points: Vec<(i64, f64)>,
}

impl Growth {
    pub(crate) fn of_count(points: Vec<(i64, f64)>) -> Self {
        Growth { points }
    }

    /// Of a rate a second: between two samples it is taken to change evenly.
    pub(crate) fn of_rate(points: &[(i64, f64)]) -> Self {
        let mut sum = 0.0;
        let mut before: Option<(i64, f64)> = None;
        let summed = points.iter().map(|&(ts_ns, rate)| {
            if let Some((before_ns, before_rate)) = before {
                sum += (rate + before_rate) / 2.0 * (ts_ns - before_ns) as f64 / 1e9;
            }
            before = Some((ts_ns, rate));
            (ts_ns, sum)
        });
        Growth { points: summed.collect() }
    }

    pub(crate) fn in_all(&self) -> Result<f64, &'static str> {
        match (self.points.first(), self.points.last()) {
            (Some(first), Some(last)) if first.0 < last.0 => grown(first.1, last.1),
            _ => Err(ONE_SAMPLE),
        }
    }

    pub(crate) fn within(&self, stretches: &[(i64, i64)]) -> Result<f64, &'static str> {
        stretches.iter().try_fold(0.0, |sum, &(from, to)| {
            let (from, to) = self.at(from).zip(self.at(to)).ok_or(OUTSIDE)?;
            Ok(sum + grown(from, to)?)
        })
    }

    /// The count at a moment; between two samples it is taken to grow evenly.
    fn at(&self, ts_ns: i64) -> Option<f64> {
        let after = self.points.partition_point(|point| point.0 < ts_ns);
        let right = self.points.get(after)?;
        if right.0 == ts_ns {
            return Some(right.1);
        }
        let left = self.points.get(after.checked_sub(1)?)?;
        let part = (ts_ns - left.0) as f64 / (right.0 - left.0) as f64;
        Some(left.1 + (right.1 - left.1) * part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_by_hand() {
        let growth = Growth::of_count(vec![(0, 100.0), (10, 200.0), (20, 240.0)]);
        assert_eq!(growth.in_all(), Ok(140.0));
        // At 5: 150. At 15: 220.
        assert_eq!(growth.within(&[(5, 15)]), Ok(70.0));
        assert_eq!(growth.within(&[(0, 5), (10, 20)]), Ok(90.0));
        assert_eq!(growth.within(&[(5, 21)]), Err(OUTSIDE), "nothing is known of what came after");
        assert_eq!(growth.within(&[(-1, 5)]), Err(OUTSIDE));
    }

    #[test]
    fn a_rate_by_hand() {
        // 100 W, then 300 W after a second, then 300 W for another: 200 J and 300 J.
        let growth = Growth::of_rate(&[(0, 100.0), (1_000_000_000, 300.0), (2_000_000_000, 300.0)]);
        assert_eq!(growth.in_all(), Ok(500.0));
        assert_eq!(growth.within(&[(1_000_000_000, 1_500_000_000)]), Ok(150.0));
    }

    #[test]
    fn what_is_not_known() {
        assert_eq!(Growth::of_count(vec![]).in_all(), Err(ONE_SAMPLE));
        assert_eq!(Growth::of_count(vec![(5, 1.0)]).in_all(), Err(ONE_SAMPLE));
        assert_eq!(Growth::of_count(vec![(5, 9.0), (6, 1.0)]).in_all(), Err(WENT_BACK));
        assert_eq!(Growth::of_rate(&[]).within(&[(0, 1)]), Err(OUTSIDE));
    }
}
