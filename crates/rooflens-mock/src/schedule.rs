//! When each token is due.

use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Timing {
    pub(crate) ttft: Duration,
    pub(crate) itl: Duration,
    pub(crate) prefill_per_token: Duration,
    pub(crate) jitter: Duration,
    pub(crate) flat_out: bool,
    pub(crate) stalls: Option<StallTimes>,
}

/// Regular times in which a server stands still: the j-th (from 1) begins j times `every` after the first request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StallTimes {
    pub(crate) length: Duration,
    pub(crate) every: Duration,
}

impl StallTimes {
    pub(crate) fn deferred(&self, due: Duration) -> Duration {
        let every = self.every.as_nanos().max(1);
        let number = due.as_nanos() / every;
        let into = due.as_nanos() % every;
        if number == 0 || into >= self.length.as_nanos() {
            return due;
        }
        self.every * number as u32 + self.length
    }
}

pub(crate) struct TokenSchedule {
    timing: Timing,
    begin: Instant,
    first_request: Instant,
    first_token: Duration,
    jitter: ChaCha8Rng,
    last: Instant,
}

impl TokenSchedule {
    pub(crate) fn new(
        timing: Timing,
        begin: Instant,
        first_request: Instant,
        prompt_tokens: u64,
        draws: ChaCha8Rng,
    ) -> Self {
        let prefill = timing.prefill_per_token * u32::try_from(prompt_tokens).unwrap_or(u32::MAX);
        let first_token = timing.ttft + prefill;
        TokenSchedule { timing, begin, first_request, first_token, jitter: draws, last: begin }
    }

    /// When token `number` (from 0) is due. Has to be asked in order: no token overtakes another.
    pub(crate) fn due(&mut self, number: u64) -> Instant {
        if self.timing.flat_out {
            return self.begin;
        }
        let steps = self.timing.itl.as_nanos() * u128::from(number);
        let steps = Duration::from_nanos(u64::try_from(steps).unwrap_or(u64::MAX));
        let mut due = self.begin + self.first_token + steps;
        if !self.timing.jitter.is_zero() {
            due += self.timing.jitter.mul_f64(self.jitter.random::<f64>());
        }
        if let Some(stalls) = self.timing.stalls {
            due = self.first_request + stalls.deferred(due.saturating_duration_since(self.first_request));
        }
        self.last = self.last.max(due);
        self.last
    }
}

pub(crate) fn draws_of(seed: u64, request: u64) -> ChaCha8Rng {
    let mut draws = ChaCha8Rng::seed_from_u64(seed);
    draws.set_stream(request);
    draws
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn timing() -> Timing {
        let zero = Duration::ZERO;
        Timing {
            ttft: 50 * MS,
            itl: 5 * MS,
            prefill_per_token: zero,
            jitter: zero,
            flat_out: false,
            stalls: None,
        }
    }

    fn dues(timing: Timing, prompt: u64, count: u64) -> Vec<Duration> {
        let begin = Instant::now();
        let mut schedule = TokenSchedule::new(timing, begin, begin, prompt, draws_of(7, 3));
        (0..count).map(|number| schedule.due(number) - begin).collect()
    }

    #[test]
    fn tokens_are_due_by_their_number() {
        assert_eq!(dues(timing(), 10, 4), [50 * MS, 55 * MS, 60 * MS, 65 * MS]);
        assert_eq!(dues(timing(), 10, 2001)[2000], 10_050 * MS);
    }

    #[test]
    fn a_long_prompt_delays_the_first_token() {
        let timing = Timing { prefill_per_token: Duration::from_micros(100), ..timing() };
        assert_eq!(dues(timing, 1000, 2), [150 * MS, 155 * MS]);
    }

    #[test]
    fn what_is_due_in_a_stall_comes_at_its_end() {
        let stalls = StallTimes { length: 2000 * MS, every: 10_000 * MS };
        let of = |ms: u32| stalls.deferred(ms * MS).as_millis();
        assert_eq!([of(0), of(1500), of(9_999)], [0, 1500, 9_999]);
        assert_eq!([of(10_000), of(11_999), of(12_000)], [12_000, 12_000, 12_000]);
        assert_eq!([of(19_999), of(20_001)], [19_999, 22_000]);
        let stalls = StallTimes { length: 7 * MS, every: 60 * MS };
        assert_eq!(
            dues(Timing { stalls: Some(stalls), ..timing() }, 0, 5),
            [50 * MS, 55 * MS, 67 * MS, 67 * MS, 70 * MS]
        );
    }

    #[test]
    fn jitter_is_bounded_seeded_and_keeps_the_order() {
        let timing = Timing { jitter: 20 * MS, ..timing() };
        let times = dues(timing, 0, 200);
        assert_eq!(times, dues(timing, 0, 200));
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
        for (number, due) in times.iter().enumerate() {
            let exact = 50 * MS + number as u32 * 5 * MS;
            assert!(*due >= exact && *due < exact + 20 * MS);
        }
    }
}
