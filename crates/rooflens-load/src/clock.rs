//! The clock of a load test, and how the kernel's wall-clock timestamps are put on it.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall clock and run clock drift apart, and the wall clock may be set: their difference is measured anew this often.
const OFFSET_AGE_NS: i64 = 1_000_000_000;

/// Nanoseconds since the begin of a load test, on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunClock {
    base: Instant,
    base_unix_ns: i64,
}

impl RunClock {
    /// Begins after this time; until then its times are negative.
    pub(crate) fn start_in(wait: Duration) -> Self {
        let base = Instant::now() + wait;
        RunClock { base, base_unix_ns: unix_offset(base) }
    }

    pub(crate) fn now_ns(&self) -> i64 {
        since(self.base)
    }

    pub(crate) fn base_unix_ns(&self) -> i64 {
        self.base_unix_ns
    }
}

fn since(base: Instant) -> i64 {
    let now = Instant::now();
    match now.checked_duration_since(base) {
        Some(since) => nanoseconds(since),
        None => -nanoseconds(base.duration_since(now)),
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Wall-clock time of the base: of several readings the one that was taken quickest, which is the most exact.
fn unix_offset(base: Instant) -> i64 {
    let readings = (0..5).map(|_| {
        let before = since(base);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, nanoseconds);
        let after = since(base);
        (after - before, unix - before - (after - before) / 2)
    });
    readings.min_by_key(|(took, _)| *took).map_or(0, |(_, offset)| offset)
}

/// Puts wall-clock timestamps on the clock of the load test; one per thread.
#[derive(Debug)]
pub(crate) struct WallClock {
    clock: RunClock,
    offset: Cell<i64>,
    measured_at: Cell<i64>,
}

impl WallClock {
    pub(crate) fn new(clock: RunClock) -> Self {
        WallClock { clock, offset: Cell::new(clock.base_unix_ns), measured_at: Cell::new(clock.now_ns()) }
    }

    /// A wall-clock time, which was read at `now_ns` of the run's clock, on the run's clock.
    pub(crate) fn to_run(&self, unix_ns: i64, now_ns: i64) -> i64 {
        if now_ns - self.measured_at.get() > OFFSET_AGE_NS {
            self.offset.set(unix_offset(self.clock.base));
            self.measured_at.set(now_ns);
        }
        unix_ns - self.offset.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_clock_times_land_between_the_readings_around_them() {
        let clock = RunClock::start_in(Duration::ZERO);
        let wall = WallClock::new(clock);
        let before = clock.now_ns();
        let unix = nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap());
        let after = clock.now_ns();
        let run = wall.to_run(unix, after);
        // Half a second is far beyond any pause of a test machine, and far below a mistake of units or sign.
        assert!(run > before - 500_000_000 && run < after + 500_000_000, "{before} {run} {after}");
    }
}
