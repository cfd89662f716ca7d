//! Makes sessions ahead of their time, on a thread of its own.

use std::sync::atomic::{AtomicI64, Ordering};

use super::feed::{Feed, Job};
use super::worker::Shared;
use crate::clock::nanoseconds;
use crate::plan::{LoadPlan, LoadSession, Pace, SessionSource};
use crate::schedule::ArrivalTimes;

pub(super) struct Production<'a> {
    pub(crate) plan: &'a LoadPlan,
    pub(crate) times: Option<ArrivalTimes>,
    pub(crate) feed: &'a Feed,
    pub(crate) shared: &'a Shared,
    pub(crate) end_ns: &'a AtomicI64,
}

impl Production<'_> {
    /// Makes sessions until there are no more, or no more are wanted. How many of this process were due by then and
    /// not made.
    pub(crate) fn run(mut self, mut source: Box<dyn SessionSource>) -> u64 {
        let not_made = self.make(source.as_mut());
        self.feed.finish();
        not_made
    }

    fn make(&mut self, source: &mut dyn SessionSource) -> u64 {
        let (own, of) = self.plan.share;
        let requests = self.plan.limits.requests.unwrap_or(u64::MAX);
        let until_ns = self.plan.limits.duration.map_or(i64::MAX, nanoseconds);
        let (mut number, mut due_ns) = (0u64, 0i64);
        for index in 0u64.. {
            if number >= requests {
                return 0;
            }
            if let Some(times) = &mut self.times {
                let Some(time) = times.next() else { return 0 };
                due_ns = time;
            }
            if due_ns >= until_ns {
                return 0;
            }
            let Some(mut session) = source.next() else { return 0 };
            due_ns = self.due(&session, due_ns);
            let room = usize::try_from(requests - number).unwrap_or(usize::MAX);
            session.turns.truncate(room);
            let turns = session.turns.len();
            let job = Job { first_number: number, due_ns: self.is_open().then_some(due_ns), session };
            number += turns as u64;
            if index % of != own || turns == 0 {
                continue;
            }
            let turns = i64::try_from(turns).unwrap_or(0);
            self.shared.to_send.fetch_add(turns, Ordering::Relaxed);
            if !self.feed.push(job) {
                self.shared.to_send.fetch_sub(turns, Ordering::Relaxed);
                return self.also_due(due_ns, index, requests.saturating_sub(number));
            }
        }
        0
    }

    fn is_open(&self) -> bool {
        !matches!(self.plan.pace, Pace::Closed { .. })
    }

    /// When a session is due: a trace that goes back in time does not.
    fn due(&self, session: &LoadSession, before_ns: i64) -> i64 {
        match (&self.plan.pace, session.arrival) {
            (Pace::Replay { stretch, .. }, Some(arrival)) => {
                let stretched = arrival.as_secs_f64() * stretch * 1e9;
                (stretched as i64).max(before_ns)
            }
            _ => before_ns,
        }
    }

    /// Sessions of the schedule that were due when sending ended, from this one on: those that a limit on concurrency
    /// held back for so long that they were never made.
    fn also_due(&mut self, due_ns: i64, index: u64, sessions_left: u64) -> u64 {
        let end_ns = self.end_ns.load(Ordering::Relaxed);
        if !self.is_open() || due_ns > end_ns {
            return 0;
        }
        let (own, of) = self.plan.share;
        let Some(times) = &mut self.times else { return 1 };
        let left = usize::try_from(sessions_left).unwrap_or(usize::MAX);
        let later = times.by_ref().take(left).take_while(|time| *time <= end_ns);
        1 + later.zip(index + 1..).filter(|(_, index)| index % of == own).count() as u64
    }
}
