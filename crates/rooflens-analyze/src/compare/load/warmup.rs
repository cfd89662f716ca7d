//! How many requests at the beginning of a load test are warm-up? MSER-5 (White, 1997): of means of five, leave out
//! as many as make the standard error of the mean of the rest least.

use super::series::mean;

const BATCH_LENGTH: usize = 5;
/// Fewest requests: below, there is nothing to tell a beginning from.
const MIN_REQUESTS: usize = 20;

/// A warm-up whose mean differs from that of the rest by less than this share changes nothing.
const MIN_CHANGE: f64 = 0.02;

/// The beginning of a load test that is left out.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmUp {
    /// Requests to leave out, from the first.
    pub excluded: usize,
    /// Whether the rest is steady: false where the best cut lies in the second half, or there are too few requests.
    pub(crate) is_found: bool,
    /// In words.
    pub words: String,
}

/// Of latencies in the order of their scheduled times. At most half is left out.
pub fn warm_up(latencies: &[f64]) -> WarmUp {
    let count = latencies.len();
    if count < MIN_REQUESTS || latencies.iter().any(|value| !value.is_finite()) {
        let words = format!("{count} requests: too few to find a warm-up, none is excluded");
        return WarmUp { excluded: 0, is_found: false, words };
    }
    let means: Vec<f64> = latencies.chunks_exact(BATCH_LENGTH).map(mean).collect();
    let half = means.len() / 2;
    let best = least_error(&means, half);
    if best == half {
        let words = "latency changes until the end: no steady part was found, none is excluded".to_owned();
        return WarmUp { excluded: 0, is_found: false, words };
    }
    let excluded = best * BATCH_LENGTH;
    // A beginning that is like the rest is none: the least error of noise lies anywhere.
    let is_like_the_rest = excluded > 0 && {
        let (before, after) = (mean(&latencies[..excluded]), mean(&latencies[excluded..]));
        (before - after).abs() <= MIN_CHANGE * after.abs()
    };
    let excluded = if is_like_the_rest { 0 } else { excluded };
    let words = match excluded {
        0 => "no warm-up was found".to_owned(),
        excluded => format!("the first {excluded} of {count} requests are warm-up"),
    };
    WarmUp { excluded, is_found: true, words }
}

fn least_error(values: &[f64], most: usize) -> usize {
    // From the end, by Welford's update: sums of squares of large numbers would lose digits.
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, value) in values.iter().enumerate().rev() {
        count += 1.0;
        let off = value - mean;
        mean += off / count;
        squares += off * (value - mean);
        let error = squares / (count * count);
        if cut <= most && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::super::calibration::autoregressive;
    use super::*;
    use crate::compare::random::Random;

    #[test]
    fn by_hand() {
        // Means of five: 9, 1, 2, 1, 2 …: without the first, the error is least.
        let series: Vec<f64> = [9.0].into_iter().chain([1.0, 2.0].into_iter().cycle().take(9)).collect();
        assert_eq!(least_error(&series, 5), 1);
        let requests: Vec<f64> = series.iter().flat_map(|mean| [*mean; 5]).collect();
        let found = warm_up(&requests);
        assert_eq!((found.excluded, found.is_found), (5, true));
        assert_eq!(found.words, "the first 5 of 50 requests are warm-up");
        assert_eq!(warm_up(&[3.0; 60]).excluded, 0);
    }

    #[test]
    fn a_planted_warm_up_is_found() {
        let mut random = Random::new(5);
        for _ in 0..50 {
            let noise = autoregressive(&mut random, 0.6, 1_000);
            // Three times as slow at first, as if 50 requests had to compile; it fades.
            let requests: Vec<f64> = noise
                .iter()
                .enumerate()
                .map(|(at, noise)| 100.0 + 5.0 * noise + 200.0 * (-(at as f64) / 50.0).exp())
                .collect();
            let found = warm_up(&requests);
            assert!(found.is_found && (100..=500).contains(&found.excluded), "{found:?}");
        }
    }

    #[test]
    fn a_drift_has_no_steady_part() {
        let mut random = Random::new(6);
        let requests: Vec<f64> = (0..500).map(|at| f64::from(at) + 3.0 * random.normal()).collect();
        let found = warm_up(&requests);
        assert_eq!((found.excluded, found.is_found), (0, false));
        assert!(!warm_up(&[1.0; 19]).is_found && !warm_up(&[f64::NAN; 50]).is_found);
    }
}
