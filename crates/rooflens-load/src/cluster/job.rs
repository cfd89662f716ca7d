//! What a worker is asked to do.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::error::ClusterError;
use crate::plan::{Body, LoadPlan, LoadSession, Pace, SessionShape, SessionSource, Turn};
use crate::workload::WorkloadSpec;

/// What a worker is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadJob {
    /// When and where requests are sent. Its share is this worker's.
    pub plan: LoadPlan,
    /// What is sent. Its files must be on the worker, too, under the same paths.
    pub workload: WorkloadSpec,
}

impl LoadJob {
    /// The jobs of each worker. They send all sessions of the whole, each session once; users of a closed loop, slots
    /// of limited concurrency and texts to keep are split as evenly as possible.
    pub(crate) fn split(&self, workers: usize) -> Result<Vec<LoadJob>, ClusterError> {
        if self.plan.share != (0, 1) {
            return Err(ClusterError("a share of a schedule cannot be split again".to_owned()));
        }
        (0..workers).map(|worker| self.part(worker, workers)).collect()
    }

    fn part(&self, worker: usize, workers: usize) -> Result<LoadJob, ClusterError> {
        let mut job = self.clone();
        let split = |whole: usize| match whole / workers + usize::from(worker < whole % workers) {
            0 => {
                Err(ClusterError(format!("a concurrency of {whole} cannot be split over {workers} workers")))
            }
            part => Ok(part),
        };
        match &mut job.plan.pace {
            Pace::Closed { concurrency, .. } => *concurrency = split(*concurrency)?,
            Pace::Open { max_concurrency, .. } | Pace::Replay { max_concurrency, .. } => {
                *max_concurrency = max_concurrency.map(split).transpose()?;
            }
        }
        job.plan.keep_texts = job.plan.keep_texts.div_ceil(workers as u64);
        job.plan.share = (worker as u64, workers as u64);
        Ok(job)
    }
}

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
