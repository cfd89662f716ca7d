//! Amounts per second, and the fraction of requests that failed.

use super::request::{MeasuredRequest, between};
use super::sample::MetricSample;

/// What is counted of a completed request.
pub(super) struct Amount {
    /// Of a request; `None` where nobody counted it.
    of: fn(&MeasuredRequest<'_>) -> Option<f64>,
    /// Only load tests have such a rate.
    is_of_load_tests: bool,
    /// The unit of the rate.
    pub(super) per_second: &'static str,
}

/// Output tokens.
pub(super) const OUTPUT_TOKENS: Amount =
    Amount { of: output, is_of_load_tests: false, per_second: "tokens/s" };
/// Prompt tokens.
pub(super) const INPUT_TOKENS: Amount = Amount { of: input, is_of_load_tests: true, per_second: "tokens/s" };
/// Both.
pub(super) const TOTAL_TOKENS: Amount = Amount {
    of: |request| Some(output(request)? + input(request)?),
    is_of_load_tests: true,
    per_second: "tokens/s",
};
/// The request itself.
pub(super) const COMPLETED: Amount =
    Amount { of: |_| Some(1.0), is_of_load_tests: true, per_second: "requests/s" };

fn output(request: &MeasuredRequest<'_>) -> Option<f64> {
    (!request.is_uncounted()).then(|| request.output() as f64)
}

/// No prompt is empty: 0 is one that nobody counted.
fn input(request: &MeasuredRequest<'_>) -> Option<f64> {
    (request.prompt_tokens > 0).then_some(request.prompt_tokens as f64)
}

/// Requests that are due within so many mean gaps after a round continue it.
const CONTINUES: f64 = 10.0;

/// Amount / time from the first prompt given to the last token, both summed over rounds. `None` where one request
/// does not tell its amount: the sum would be too small.
pub(super) fn rate(rounds: &[Vec<&MeasuredRequest<'_>>], amount: &Amount) -> Option<MetricSample> {
    let rounds: Vec<Vec<&MeasuredRequest<'_>>> = rounds
        .iter()
        .map(|round| round.iter().copied().filter(|request| request.is_done()).collect())
        .filter(|round: &Vec<_>| !round.is_empty())
        .collect();
    if amount.is_of_load_tests && !rounds.iter().flatten().all(|request| request.is_load_test) {
        return None;
    }
    let part = |(at, round): (usize, &Vec<&MeasuredRequest<'_>>)| {
        let sum = round.iter().map(|request| (amount.of)(request)).sum::<Option<f64>>()?;
        Some((sum, seconds(round, rounds.get(at + 1).map(Vec::as_slice))?))
    };
    MetricSample::rate(rounds.iter().enumerate().map(part).collect::<Option<Vec<_>>>()?)
}

/// How long a round took. Blocks of time of a load test end where the next begins, though requests last longer.
fn seconds(round: &[&MeasuredRequest<'_>], next: Option<&[&MeasuredRequest<'_>]>) -> Option<f64> {
    let first_of = |round: &[&MeasuredRequest<'_>]| round.iter().map(|request| request.origin_ns()).min();
    let first = first_of(round)?;
    let last = round.iter().filter_map(|request| request.finish_ns()).max()?;
    let own = between(first, last);
    let is_load_test = round.iter().all(|request| request.is_load_test);
    let until_next = next.filter(|_| is_load_test).and_then(first_of).map(|next| between(first, next));
    let arrivals = round.iter().map(|request| request.origin_ns()).max()?;
    let gap = between(first, arrivals) / (round.len() - 1).max(1) as f64;
    // After a long pause comes another repetition of the load test.
    let block = until_next.filter(|until| *until > 0.0 && *until <= own + CONTINUES * gap);
    Some(block.unwrap_or(own) / 1e9)
}

/// Requests that failed / all, of a load test.
pub(super) fn error_rate(rounds: &[Vec<&MeasuredRequest<'_>>]) -> Option<MetricSample> {
    let is_load_test = rounds.iter().flatten().all(|request| request.is_load_test);
    let part = |round: &Vec<&MeasuredRequest<'_>>| {
        (round.iter().filter(|request| request.is_failed).count() as f64, round.len() as f64)
    };
    MetricSample::share(rounds.iter().filter(|_| is_load_test).map(part).collect())
}
