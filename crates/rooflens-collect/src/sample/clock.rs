//! Time: one clock for all that is sampled, how it stands to the time of day, and a beat that does not drift.

use rustix::time::{ClockId, Timespec, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const SECOND_NS: i64 = 1_000_000_000;
/// How often an anchor is tried for: a reading that was not interrupted is among them.
const ANCHOR_TRIES: usize = 16;
/// A beat that is further behind gives up what it missed: so far behind is a machine that slept.
const CATCH_UP_NS: i64 = SECOND_NS;

fn ns(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(SECOND_NS).saturating_add(time.tv_nsec)
}

/// Nanoseconds of the clock that only goes forward: `CLOCK_MONOTONIC`, Python's `time.monotonic_ns()`.
pub fn monotonic_ns() -> i64 {
    ns(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds since 1970 by the system's clock.
pub fn unix_ns() -> i64 {
    ns(clock_gettime(ClockId::Realtime))
}

pub(crate) fn thread_cpu_ns() -> i64 {
    ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Anchor {
    /// The moment on the clock that only goes forward.
    pub monotonic_ns: i64,
    /// The same moment since 1970.
    pub unix_ns: i64,
    /// The two are the same moment to within this.
    pub uncertainty_ns: i64,
}

impl Anchor {
    /// Reads the time of day between two readings of the other clock, several times, and keeps the
    /// narrowest.
    pub fn take() -> Self {
        let read = || {
            let before = monotonic_ns();
            let unix_ns = unix_ns();
            let width = monotonic_ns() - before;
            Anchor { monotonic_ns: before + width / 2, unix_ns, uncertainty_ns: (width + 1) / 2 }
        };
        let mut best = read();
        for _ in 1..ANCHOR_TRIES {
            let next = read();
            if next.uncertainty_ns < best.uncertainty_ns {
                best = next;
            }
        }
        best
    }

    /// The time of day of a moment on the other clock.
    pub fn unix_at(&self, monotonic_ns: i64) -> i64 {
        self.unix_ns + (monotonic_ns - self.monotonic_ns)
    }

    /// How far the system's clock was set between this anchor and a later one.
    pub fn stepped_ns(&self, later: &Anchor) -> i64 {
        later.unix_ns - self.unix_at(later.monotonic_ns)
    }
}

/// Absolute times at which to sample: the n-th is n intervals after the first, however long samples take.
#[derive(Debug, Clone)]
pub(crate) struct Beat {
    start_ns: i64,
    interval_ns: i64,
    next: i64,
    missed: i64,
}

impl Beat {
    pub(crate) fn new(start_ns: i64, interval_ns: i64) -> Self {
        Beat { start_ns, interval_ns: interval_ns.max(1), next: 0, missed: 0 }
    }

    pub(crate) fn due_ns(&self) -> i64 {
        self.start_ns.saturating_add(self.next.saturating_mul(self.interval_ns))
    }

    /// Begins the next sample and tells how late it is. A sample that is late is taken late, and the one
    /// after it at its own time. Only what is more than a second behind is given up, and counted.
    pub(crate) fn begin(&mut self, now_ns: i64) -> i64 {
        let behind_ns = now_ns - self.due_ns();
        if behind_ns > CATCH_UP_NS.max(self.interval_ns) {
            let given_up = behind_ns / self.interval_ns;
            self.missed += given_up;
            self.next += given_up;
        }
        let late_ns = (now_ns - self.due_ns()).max(0);
        self.next += 1;
        late_ns
    }

    pub(crate) fn due_so_far(&self) -> i64 {
        self.next
    }

    pub(crate) fn missed(&self) -> i64 {
        self.missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_one_moment() {
        let anchor = Anchor::take();
        assert!(anchor.uncertainty_ns < 1_000_000, "{anchor:?}");
        // Whatever the scheduler does between the two readings makes the second one later.
        let (told, now) = (anchor.unix_at(monotonic_ns()), unix_ns());
        assert!(now - told > -1_000_000, "{told} {now}");
        assert!(anchor.stepped_ns(&Anchor::take()).abs() < 1_000_000);
    }

    #[test]
    fn a_slow_sample_does_not_move_the_next() {
        let mut beat = Beat::new(1_000, 100);
        assert_eq!((beat.due_ns(), beat.begin(1_003)), (1_000, 3));
        assert_eq!((beat.due_ns(), beat.begin(1_350)), (1_100, 250));
        assert_eq!((beat.due_ns(), beat.begin(1_351)), (1_200, 151));
        assert_eq!((beat.due_ns(), beat.missed(), beat.due_so_far()), (1_300, 0, 3));
    }

    #[test]
    fn what_was_slept_through_is_counted() {
        let mut beat = Beat::new(0, 10_000_000);
        beat.begin(0);
        let woke = 5 * SECOND_NS + 3_000_000;
        assert_eq!(beat.begin(woke), 3_000_000);
        assert_eq!((beat.missed(), beat.due_so_far()), (499, 501));
        assert_eq!(beat.due_ns(), 5 * SECOND_NS + 10_000_000);
    }

    #[test]
    fn a_slow_beat_may_be_a_whole_interval_late() {
        let mut beat = Beat::new(0, 10 * SECOND_NS);
        assert_eq!(beat.begin(9 * SECOND_NS), 9 * SECOND_NS);
        assert_eq!(beat.missed(), 0);
    }
}
