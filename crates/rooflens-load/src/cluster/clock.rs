//! How far a worker's clock is from the coordinator's, as NTP measures it.

use std::time::{SystemTime, UNIX_EPOCH};

pub(super) fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoundTrip {
    pub(super) asked_ns: i64,
    pub(super) worker_received_ns: i64,
    pub(super) worker_answered_ns: i64,
    pub(super) answered_ns: i64,
}

impl RoundTrip {
    fn delay_ns(&self) -> i64 {
        let there = self.answered_ns.saturating_sub(self.asked_ns);
        there.saturating_sub(self.worker_answered_ns.saturating_sub(self.worker_received_ns)).max(0)
    }

    fn offset_ns(&self) -> i64 {
        let forth = i128::from(self.worker_received_ns) - i128::from(self.asked_ns);
        let back = i128::from(self.worker_answered_ns) - i128::from(self.answered_ns);
        ((forth + back) / 2).clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

/// How far a worker's clock is from the coordinator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockCheck {
    /// Worker less coordinator, from the quickest round trip. Times of records are corrected by it.
    pub offset_ns: i64,
    /// The offset is within this of the truth: half of the quickest round trip.
    pub uncertainty_ns: i64,
}

impl ClockCheck {
    pub(super) fn of(round_trips: &[RoundTrip]) -> Option<Self> {
        let quickest = round_trips.iter().min_by_key(|trip| trip.delay_ns())?;
        Some(ClockCheck {
            offset_ns: quickest.offset_ns(),
            uncertainty_ns: quickest.delay_ns() / 2 + quickest.delay_ns() % 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(ahead: i64, forth: i64, back: i64) -> RoundTrip {
        let received = 1_000 + forth;
        RoundTrip {
            asked_ns: 1_000,
            worker_received_ns: received + ahead,
            worker_answered_ns: received + 50 + ahead,
            answered_ns: received + 50 + back,
        }
    }

    #[test]
    fn a_symmetric_network_shows_the_offset_exactly() {
        let check = ClockCheck::of(&[trip(7_000, 100, 100)]).unwrap();
        assert_eq!(check, ClockCheck { offset_ns: 7_000, uncertainty_ns: 100 });
    }

    #[test]
    fn the_truth_is_within_the_uncertainty_and_the_quickest_counts() {
        for (forth, back) in [(300, 0), (0, 300), (200, 100)] {
            let check = ClockCheck::of(&[trip(-5_000, 900, 10), trip(-5_000, forth, back)]).unwrap();
            assert_eq!(check.uncertainty_ns, 150);
            assert!((check.offset_ns + 5_000).abs() <= check.uncertainty_ns, "{check:?}");
        }
    }

    #[test]
    fn nonsense_does_not_overflow() {
        let absurd = RoundTrip {
            asked_ns: i64::MIN,
            worker_received_ns: i64::MAX,
            worker_answered_ns: i64::MIN,
            answered_ns: i64::MAX,
        };
        assert!(ClockCheck::of(&[absurd]).is_some());
        assert_eq!(ClockCheck::of(&[]), None);
    }
}
