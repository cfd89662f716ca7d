//! A short rest between two looks at the sockets. The kernel notes when bytes arrive, so that reading them somewhat
//! later costs no accuracy; several streams are then served per wake-up of the thread, which is most of what a chunk
//! costs. Sends are not delayed: the thread never rests into a time that the alarm is set to.

use std::cell::Cell;
use std::time::Duration;

use crate::clock::RunClock;
use crate::transport::timed::took_kernel_time;

/// How long, at least. A user of a closed loop sends its next request later by half of a rest on average: by a
/// thousandth of what its requests take.
const REST_NS: i64 = 100_000;
const MAX_REST_NS: i64 = 500_000;
const RESTS_PER_REQUEST: i64 = 500;
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
    static LENGTH: Cell<i64> = const { Cell::new(REST_NS) };
}

pub(super) fn allow(clock: RunClock) {
    CLOCK.set(Some(clock));
}

pub(super) fn note_alarm(time_ns: i64) {
    NEXT_ALARM.set(time_ns);
}

pub(super) fn note_streams(streams: usize) {
    STREAMS.set(streams);
}

pub(super) fn note_request(took_ns: i64) {
    let fitting = (took_ns / RESTS_PER_REQUEST).clamp(REST_NS, MAX_REST_NS);
    // Short ones count at once, long ones by and by.
    let before = LENGTH.get();
    LENGTH.set(fitting.min(before + (fitting - before) / 8));
}

/// Before the thread waits for its sockets: rests if bytes came since it last did, and if the kernel has their times.
pub(super) fn rest() {
    let Some(clock) = CLOCK.get() else { return };
    if !took_kernel_time() || STREAMS.get() < MIN_STREAMS {
        return;
    }
    let length = length(LENGTH.get(), clock.now_ns(), NEXT_ALARM.get());
    if let Some(length) = length {
        std::thread::sleep(Duration::from_nanos(length));
    }
}

fn length(wanted_ns: i64, now_ns: i64, alarm_ns: i64) -> Option<u64> {
    let room = alarm_ns.saturating_sub(now_ns).saturating_sub(SLEEP_OVERRUN_NS);
    let length = wanted_ns.min(room);
    u64::try_from(length).ok().filter(|_| length >= MIN_REST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_ends_before_the_alarm() {
        assert_eq!(length(REST_NS, 0, i64::MAX), Some(100_000));
        assert_eq!(length(REST_NS, 1_000_000, 1_180_000), Some(80_000));
        assert_eq!(length(REST_NS, 1_000_000, 1_120_000), None);
        assert_eq!(length(REST_NS, 1_000_000, 900_000), None);
    }

    #[test]
    fn a_rest_is_short_beside_a_request() {
        (0..100).for_each(|_| note_request(100_000_000));
        assert!((190_000..=200_000).contains(&LENGTH.get()), "{}", LENGTH.get());
        (0..100).for_each(|_| note_request(10_000_000_000));
        assert!((490_000..=500_000).contains(&LENGTH.get()), "{}", LENGTH.get());
        note_request(1_000_000);
        assert_eq!(LENGTH.get(), REST_NS);
    }
}
