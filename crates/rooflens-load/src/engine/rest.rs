//! A short rest between two looks at the sockets. The kernel notes when bytes arrive, so that reading them somewhat
//! later costs no accuracy; several streams are then served per wake-up of the thread, which is most of what a chunk
//! costs. Sends are not delayed: the thread never rests into a time that the alarm is set to.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::RunClock;
use crate::transport::timed::took_kernel_time;

/// How long, at most. A user of a closed loop sends its next request later by half of it on average.
const REST_NS: i64 = 100_000;
/// A sleep ends late by about this much.
const SLEEP_OVERRUN_NS: i64 = 100_000;
/// Shorter rests are not worth a system call.
const MIN_REST_NS: i64 = 40_000;

/// With fewer requests in progress there is little to gather.
const MIN_STREAMS: usize = 16;

thread_local! {
    static STREAMS: Cell<usize> = const { Cell::new(0) };
    static CLOCK: Cell<Option<RunClock>> = const { Cell::new(None) };
    static NEXT_ALARM: Cell<i64> = const { Cell::new(i64::MAX) };
}

/// The calling thread may rest.
pub(super) fn allow(clock: RunClock) {
    CLOCK.set(Some(clock));
}

/// The alarm of the calling thread is set to this time.
pub(super) fn note_alarm(time_ns: i64) {
    NEXT_ALARM.set(time_ns);
}

/// So many requests are in progress on the calling thread.
pub(super) fn note_streams(streams: usize) {
    STREAMS.set(streams);
}

/// Before the thread waits for its sockets: rests if bytes came since it last did, and if the kernel has their times.
pub(super) fn rest() {
    let Some(clock) = CLOCK.get() else { return };
    if !took_kernel_time() || STREAMS.get() < MIN_STREAMS {
        return;
    }
    let length = length(clock.now_ns(), NEXT_ALARM.get());
    if let Some(length) = length {
        std::thread::sleep(Duration::from_nanos(length));
    }
}

fn length(now_ns: i64, alarm_ns: i64) -> Option<u64> {
    let room = alarm_ns.saturating_sub(now_ns).saturating_sub(SLEEP_OVERRUN_NS);
    let length = REST_NS.min(room);
    u64::try_from(length).ok().filter(|_| length >= MIN_REST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_ends_before_the_alarm() {
        assert_eq!(length(0, i64::MAX), Some(100_000));
        assert_eq!(length(1_000_000, 1_180_000), Some(80_000));
        assert_eq!(length(1_000_000, 1_120_000), None);
        assert_eq!(length(1_000_000, 900_000), None);
    }
}
