//! Runs a load test: makes sessions ahead of time, sends them on schedule, hands records to a sink.

mod alarm;
mod answer;
mod exchange;
mod feed;
mod gate;
mod producer;
mod rest;
mod session;
mod signals;
mod timer;
mod worker;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use feed::Feed;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use signals::Phase;
use tokio::sync::{Semaphore, watch};
use worker::{Shared, WorkerSetup};

use crate::clock::{RunClock, nanoseconds};
use crate::health::{ThreadHealth, client_health, process_cpu_ns};
use crate::plan::{LoadPlan, Pace, SessionSource};
use crate::record::{LoadOutcome, RecordSink, RequestRecord};
use crate::schedule::ArrivalTimes;
use crate::transport::connect::Route;

const WATCH_INTERVAL: Duration = Duration::from_millis(50);
/// Threads are up within this time, so that the first request is not late.
const HEAD_START: Duration = Duration::from_millis(20);
const STREAMS_PER_THREAD: usize = 1024;
const RATE_PER_THREAD: f64 = 5000.0;
/// More threads than this gain nothing: the server, or the network, is the limit before.
const MAX_THREADS: usize = 4;

/// Follows a load test from outside.
pub trait LoadWatch: Sync {
    /// Whether it is to end now. Asked about 20 times per second.
    fn stop(&self) -> bool {
        false
    }

    /// It begins: 0 of its records on the wall clock.
    fn begun(&self, _base_unix_ns: i64) {}

    /// How far it is.
    fn progress(&self, _progress: &LoadProgress) {}
}

/// How far a load test is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// Time since its begin.
    pub elapsed: Duration,
    /// Requests sent.
    pub sent: u64,
    /// Requests in progress.
    pub in_flight: u64,
    /// Requests with a complete answer.
    pub completed: u64,
    /// Requests that failed or timed out.
    pub failed: u64,
    /// Chunks received.
    pub chunks: u64,
}

/// Why a load test cannot begin, or broke off.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

impl From<String> for LoadError {
    fn from(problem: String) -> Self {
        LoadError(problem)
    }
}

fn broken(problem: impl std::fmt::Display) -> LoadError {
    LoadError(format!("a thread of the load test failed: {problem}"))
}

/// Runs a load test to its end and hands every record to the sink.
pub fn run(
    plan: &LoadPlan,
    source: Box<dyn SessionSource>,
    sink: &mut dyn RecordSink,
    watch: &dyn LoadWatch,
) -> Result<LoadOutcome, LoadError> {
    let times = check(plan)?;
    let route = Route::new(&plan.target)?;
    exchange::RequestHead::new(&plan.target, Arc::clone(&route.endpoint))?;
    raise_file_limit();
    let feed = Arc::new(Feed::default());
    let shared = Arc::new(Shared::default());
    let end_ns = AtomicI64::new(i64::MAX);
    std::thread::scope(|scope| {
        let production = producer::Production { plan, times, feed: &feed, shared: &shared, end_ns: &end_ns };
        let producer = scope.spawn(move || production.run(source));
        while !feed.has_ahead(sessions_ahead(plan)) && !watch.stop() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let clock = RunClock::start_in(HEAD_START);
        watch.begun(clock.base_unix_ns());
        let cpu = process_cpu_ns();
        let (records, received) = mpsc::channel();
        let recorder = scope.spawn(move || collect(&received, sink));
        let (phase, phases) = watch::channel(Phase::Sending);
        let (alive, ended) = mpsc::channel::<()>();
        let count = thread_count(plan);
        let plan = Arc::new(plan.clone());
        let slots = max_concurrency(&plan.pace).map(|slots| Arc::new(Semaphore::new(slots)));
        let workers: Vec<_> = (0..count)
            .map(|number| {
                let setup = WorkerSetup {
                    plan: Arc::clone(&plan),
                    route: route.clone(),
                    clock,
                    feed: Arc::clone(&feed),
                    shared: Arc::clone(&shared),
                    slots: slots.clone(),
                    records: records.clone(),
                    phases: phases.clone(),
                    place: (number, count),
                };
                let alive = alive.clone();
                scope.spawn(move || {
                    let health = worker::run(setup);
                    drop(alive);
                    health
                })
            })
            .collect();
        drop((records, alive));
        let supervision =
            Supervision { plan: &plan, clock, feed: &feed, shared: &shared, phase, end_ns: &end_ns };
        let stopped = supervision.follow(&ended, watch);
        let mut threads: Vec<ThreadHealth> = Vec::new();
        for worker in workers {
            let health = worker.join().map_err(|_| broken("it panicked"))?;
            threads.push(health.map_err(broken)?);
        }
        let not_sent = producer.join().map_err(|_| broken("the workload panicked"))?;
        let (requests, span_ns) = recorder.join().map_err(|_| broken("the recorder panicked"))?;
        let chunks = shared.chunks.load(Ordering::Relaxed);
        Ok(LoadOutcome {
            base_unix_ns: clock.base_unix_ns(),
            span_ns,
            requests,
            not_sent: not_sent + shared.not_sent.load(Ordering::Relaxed),
            client: client_health(
                &threads,
                process_cpu_ns() - cpu,
                chunks,
                matches!(plan.pace, Pace::Closed { .. }),
            ),
            stopped,
        })
    })
}

fn collect(received: &mpsc::Receiver<RequestRecord>, sink: &mut dyn RecordSink) -> (u64, i64) {
    let (mut count, mut last) = (0, 0);
    for record in received {
        count += 1;
        last = last.max(record.end_ns);
        sink.record(record);
    }
    (count, last)
}

struct Supervision<'a> {
    plan: &'a LoadPlan,
    clock: RunClock,
    feed: &'a Feed,
    shared: &'a Shared,
    phase: watch::Sender<Phase>,
    end_ns: &'a AtomicI64,
}

impl Supervision<'_> {
    fn follow(&self, ended: &mpsc::Receiver<()>, watch: &dyn LoadWatch) -> bool {
        let mut stopped = false;
        let mut cancel_at = i64::MAX;
        loop {
            let now = self.clock.now_ns();
            let phase = *self.phase.borrow();
            if watch.stop() && !stopped {
                stopped = true;
                self.end_sending(now);
                self.phase.send_replace(Phase::Cancelled);
            } else if phase == Phase::Sending && self.is_over(now) {
                let drain = self.plan.limits.drain.map_or(i64::MAX, nanoseconds);
                cancel_at = now.saturating_add(drain);
                self.end_sending(now);
                self.phase.send_replace(Phase::Draining);
            } else if phase == Phase::Draining && now >= cancel_at {
                self.phase.send_replace(Phase::Cancelled);
            }
            watch.progress(&self.progress(now));
            let wait = self.wait(now, cancel_at);
            if ended.recv_timeout(wait) == Err(mpsc::RecvTimeoutError::Disconnected) {
                let now = self.clock.now_ns();
                self.end_sending(now);
                watch.progress(&self.progress(now));
                return stopped;
            }
        }
    }

    fn is_over(&self, now: i64) -> bool {
        let limit = self.plan.limits.duration.map_or(i64::MAX, nanoseconds);
        now >= limit || (self.feed.is_used_up() && self.shared.to_send.load(Ordering::Relaxed) == 0)
    }

    fn end_sending(&self, now: i64) {
        let limit = self.plan.limits.duration.map_or(i64::MAX, nanoseconds);
        self.end_ns.fetch_min(now.min(limit), Ordering::Relaxed);
        let due = self.feed.close(self.end_ns.load(Ordering::Relaxed));
        self.shared.not_sent.fetch_add(due, Ordering::Relaxed);
    }

    fn wait(&self, now: i64, cancel_at: i64) -> Duration {
        let limit = self.plan.limits.duration.map_or(i64::MAX, nanoseconds);
        let next = [limit, cancel_at].into_iter().filter(|time| *time > now).min().unwrap_or(i64::MAX);
        WATCH_INTERVAL.min(Duration::from_nanos(u64::try_from(next.saturating_sub(now)).unwrap_or(0)))
    }

    fn progress(&self, now: i64) -> LoadProgress {
        LoadProgress {
            elapsed: Duration::from_nanos(u64::try_from(now).unwrap_or(0)),
            sent: self.shared.sent.load(Ordering::Relaxed),
            in_flight: self.shared.in_flight.load(Ordering::Relaxed),
            completed: self.shared.completed.load(Ordering::Relaxed),
            failed: self.shared.failed.load(Ordering::Relaxed),
            chunks: self.shared.chunks.load(Ordering::Relaxed),
        }
    }
}

fn check(plan: &LoadPlan) -> Result<Option<ArrivalTimes>, String> {
    let problem = match (&plan.pace, plan.share) {
        (_, (own, of)) if own >= of => "the share of the schedule must be below the number of processes",
        (Pace::Closed { concurrency: 0, .. }, _) => "the concurrency must be at least 1",
        (pace, _) if max_concurrency(pace) == Some(0) => "the concurrency must be at least 1",
        (Pace::Replay { stretch, .. }, _) if !(stretch.is_finite() && *stretch >= 0.0) => {
            "the stretch of arrival times must be a number, 0 or above"
        }
        (Pace::Open { arrivals, .. }, _) => return ArrivalTimes::new(arrivals, plan.seed).map(Some),
        (Pace::Closed { .. } | Pace::Replay { .. }, _) => return Ok(None),
    };
    Err(problem.to_owned())
}

fn max_concurrency(pace: &Pace) -> Option<usize> {
    match pace {
        Pace::Open { max_concurrency, .. } | Pace::Replay { max_concurrency, .. } => {
            max_concurrency.map(|most| most.min(Semaphore::MAX_PERMITS))
        }
        Pace::Closed { .. } => None,
    }
}

fn sessions_ahead(plan: &LoadPlan) -> usize {
    match &plan.pace {
        Pace::Closed { concurrency, .. } => (*concurrency).min(256),
        Pace::Open { .. } | Pace::Replay { .. } => 32,
    }
}

/// One thread is the cheapest, and on few cores the quickest: it leaves the others to the server. Large loads on
/// large machines get more.
fn thread_count(plan: &LoadPlan) -> usize {
    if plan.threads > 0 {
        return plan.threads;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = match &plan.pace {
        Pace::Closed { concurrency, .. } => concurrency.div_ceil(STREAMS_PER_THREAD),
        Pace::Open { arrivals, .. } => {
            let rates = arrivals.stages.iter().map(|stage| stage.from_rate.max(stage.to_rate));
            (rates.fold(0.0, f64::max) / RATE_PER_THREAD).ceil() as usize
        }
        Pace::Replay { .. } => 1,
    };
    wanted.clamp(1, MAX_THREADS.min((cores / 2).max(1)))
}

/// Each connection is a file: takes as many as the system allows.
fn raise_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

#[cfg(test)]
mod tests;
