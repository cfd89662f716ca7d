//! A worker's share of the sessions.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use crate::plan::{Body, LoadSession, SessionShape, SessionSource, Turn};

/// Own sessions that are made before the start, so that workers begin together.
const SESSIONS_AHEAD: u64 = 64;

/// A source that makes only its own share. In place of other sessions it gives hollow ones, with as many turns and the
/// same arrival, for whoever counts them.
pub(super) struct ShareOfSessions {
    source: Box<dyn SessionSource>,
    own: u64,
    of: u64,
    next: u64,
    ahead: VecDeque<LoadSession>,
}

impl ShareOfSessions {
    pub(super) fn new(source: Box<dyn SessionSource>, (own, of): (u64, u64)) -> Self {
        let mut share = ShareOfSessions { source, own, of: of.max(1), next: 0, ahead: VecDeque::new() };
        let count = share.of.saturating_mul(SESSIONS_AHEAD).min(1 << 16);
        for _ in 0..count {
            let Some(session) = share.make() else { break };
            share.ahead.push_back(session);
        }
        share
    }

    fn make(&mut self) -> Option<LoadSession> {
        let number = self.next;
        self.next += 1;
        if number % self.of == self.own { self.source.next() } else { self.source.skip().map(hollow) }
    }
}

impl SessionSource for ShareOfSessions {
    fn next(&mut self) -> Option<LoadSession> {
        self.ahead.pop_front().or_else(|| self.make())
    }
}

fn hollow(shape: SessionShape) -> LoadSession {
    let turn = || Turn {
        body: Body::Ready(Bytes::new()),
        prompt_tokens: None,
        max_output_tokens: None,
        delay: Duration::ZERO,
        sample: None,
    };
    let turns = std::iter::repeat_with(turn).take(shape.turns).collect();
    LoadSession { id: None, lora: None, arrival: shape.arrival, turns }
}
