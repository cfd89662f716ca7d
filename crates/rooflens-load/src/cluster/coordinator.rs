//! The coordinator: gives workers their shares and collects what they report.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::ClientConfig;

use super::clock::{ClockCheck, RoundTrip, unix_ns};
use super::error::ClusterError;
use super::job::LoadJob;
use super::link::{Link, unexpected};
use super::merge::{ClusterOutcome, WorkerReport, merged_health};
use super::tls::{ClusterTls, to_worker};
use super::token::SharedToken;
use super::wire::{Message, WireRecord};
use crate::engine::{LoadProgress, LoadWatch};
use crate::record::{LoadOutcome, RecordSink, RequestRecord};

const ROUND_TRIPS: usize = 16;
const POLL: Duration = Duration::from_millis(20);
/// Time for the order to start to reach all workers.
const START_DELAY_NS: i64 = 500_000_000;
const MAX_WAITING: usize = 64;
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// How a coordinator works.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The secret that workers must know.
    pub(crate) token: SharedToken,
    pub(crate) tls: Option<ClusterTls>,
    pub(crate) connect_timeout: Duration,
    pub(crate) prepare_timeout: Duration,
    /// A worker that says nothing for this long is lost; they say something every second.
    pub(crate) silence: Duration,
}

impl ClusterOptions {
    /// The usual patience.
    pub fn new(token: SharedToken, tls: Option<ClusterTls>) -> Self {
        ClusterOptions {
            token,
            tls,
            connect_timeout: Duration::from_secs(10),
            prepare_timeout: Duration::from_secs(300),
            silence: Duration::from_secs(10),
        }
    }
}

/// Runs a load test on workers, each with its share of the schedule, and hands all records to the sink: those of one
/// worker in the order of their ends, with times on the coordinator's clock since the common start.
///
/// A worker that is lost after the start is reported, and what it and the others had recorded is kept.
pub fn run_on_workers(
    workers: &[String],
    job: &LoadJob,
    options: &ClusterOptions,
    sink: &mut dyn RecordSink,
    watch: &dyn LoadWatch,
) -> Result<ClusterOutcome, ClusterError> {
    if workers.is_empty() {
        return Err(ClusterError("there are no workers".to_owned()));
    }
    let jobs = job.split(workers.len())?;
    let members = prepare(workers, jobs, options)?;
    let start_unix_ns = unix_ns() + START_DELAY_NS;
    let stop = AtomicBool::new(false);
    let (events, received) = mpsc::sync_channel(MAX_WAITING);
    std::thread::scope(|scope| {
        for member in members {
            let (events, stop) = (events.clone(), &stop);
            let following = Following { member, start_unix_ns, options, stop, events };
            scope.spawn(move || following.follow());
        }
        drop(events);
        let began = Instant::now() + Duration::from_nanos(START_DELAY_NS as u64);
        let (mut requests, mut chunks, mut span_ns) = (0, 0, 0);
        let mut workers = Vec::new();
        loop {
            if watch.stop() {
                stop.store(true, Ordering::Relaxed);
            }
            match received.recv_timeout(WATCH_INTERVAL) {
                Ok(Event::Records(records)) => {
                    for record in records {
                        requests += 1;
                        chunks += record.chunks.len() as u64;
                        span_ns = record.end_ns.max(span_ns);
                        sink.record(record);
                    }
                }
                Ok(Event::Ended(report)) => workers.push(*report),
                Err(mpsc::RecvTimeoutError::Timeout) => watch.progress(&LoadProgress {
                    elapsed: Instant::now().saturating_duration_since(began),
                    sent: requests,
                    in_flight: 0,
                    completed: requests,
                    failed: 0,
                    chunks: 0,
                }),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        workers.sort_by_key(|report| report.share);
        let client = merged_health(&workers, chunks);
        let outcomes = || workers.iter().filter_map(|report| report.outcome.as_ref());
        if outcomes().next().is_none() {
            return Err(ClusterError(format!("no worker finished: {}", client.reasons.join("; "))));
        }
        let load = LoadOutcome {
            base_unix_ns: start_unix_ns,
            span_ns,
            requests,
            not_sent: outcomes().map(|outcome| outcome.not_sent).sum(),
            client,
            stopped: outcomes().any(|outcome| outcome.stopped),
        };
        Ok(ClusterOutcome { load, workers })
    })
}

struct Member {
    worker: String,
    share: u64,
    link: Link,
    clock: ClockCheck,
}

fn prepare(
    workers: &[String],
    jobs: Vec<LoadJob>,
    options: &ClusterOptions,
) -> Result<Vec<Member>, ClusterError> {
    let tls = options.tls.as_ref().map(ClusterTls::client).transpose()?;
    let tls = tls.as_ref();
    std::thread::scope(|scope| {
        let preparing: Vec<_> = workers
            .iter()
            .zip(jobs)
            .enumerate()
            .map(|(share, (worker, job))| {
                scope.spawn(move || Member::prepare(worker, share as u64, job, options, tls))
            })
            .collect();
        let prepared = workers.iter().zip(preparing).map(|(worker, preparing)| {
            let error = |problem: String| ClusterError(format!("worker {worker}: {problem}"));
            match preparing.join() {
                Ok(member) => member.map_err(|problem| error(problem.to_string())),
                Err(_) => Err(error("preparing it panicked".to_owned())),
            }
        });
        prepared.collect()
    })
}

impl Member {
    fn prepare(
        worker: &str,
        share: u64,
        job: LoadJob,
        options: &ClusterOptions,
        tls: Option<&Arc<ClientConfig>>,
    ) -> Result<Self, ClusterError> {
        let socket = connect(worker, options.connect_timeout)?;
        let mut link = Link::new(to_worker(socket.try_clone()?, worker, tls)?, socket)?;
        link.join_worker(&options.token, options.connect_timeout)?;
        link.send(&Message::Job { job: Box::new(job) })?;
        match link.expect(options.prepare_timeout)? {
            Message::Ready => {}
            Message::Failed { reason } => return Err(ClusterError(reason)),
            other => return Err(unexpected(&other)),
        }
        let clock = check_clock(&mut link, options.connect_timeout)?;
        Ok(Member { worker: worker.to_owned(), share, link, clock })
    }
}

fn connect(worker: &str, timeout: Duration) -> Result<TcpStream, ClusterError> {
    let mut last = None;
    for address in worker.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(ClusterError::closed, ClusterError::from))
}

fn check_clock(link: &mut Link, timeout: Duration) -> Result<ClockCheck, ClusterError> {
    let mut trips = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let asked_ns = unix_ns();
        link.send(&Message::Ping)?;
        match link.expect(timeout)? {
            Message::Pong { received_unix_ns, answered_unix_ns } => trips.push(RoundTrip {
                asked_ns,
                worker_received_ns: received_unix_ns,
                worker_answered_ns: answered_unix_ns,
                answered_ns: unix_ns(),
            }),
            other => return Err(unexpected(&other)),
        }
    }
    ClockCheck::of(&trips).ok_or_else(ClusterError::closed)
}

enum Event {
    Records(Vec<RequestRecord>),
    Ended(Box<WorkerReport>),
}

struct Following<'a> {
    member: Member,
    start_unix_ns: i64,
    options: &'a ClusterOptions,
    stop: &'a AtomicBool,
    events: mpsc::SyncSender<Event>,
}

#[derive(Default)]
struct Reported {
    requests: u64,
    /// 0 of its records, on its own clock.
    base_unix_ns: Option<i64>,
    held: Vec<WireRecord>,
}

impl Following<'_> {
    fn follow(mut self) {
        let mut reported = Reported::default();
        let ended = self.collect(&mut reported);
        if let Ok(outcome) = &ended {
            reported.base_unix_ns = Some(outcome.base_unix_ns);
        }
        // A worker that never said when it began was told to begin at the common start.
        self.release(&mut reported);
        // It ends either way.
        let _ = self.member.link.send(&Message::Bye);
        let is_wanted = self.stop.load(Ordering::Relaxed);
        let (lost, outcome) = match ended {
            // Someone ended it there: it sent less than its share.
            Ok(outcome) if outcome.stopped && !is_wanted => {
                (Some("it was stopped on its own machine".to_owned()), None)
            }
            Ok(outcome) => (None, Some(outcome)),
            Err(error) => (Some(error.to_string()), None),
        };
        let report = WorkerReport {
            worker: self.member.worker.clone(),
            share: self.member.share,
            lost,
            clock: self.member.clock,
            requests: reported.requests,
            outcome,
        };
        // The receiver is there until all have ended.
        let _ = self.events.send(Event::Ended(Box::new(report)));
    }

    fn collect(&mut self, reported: &mut Reported) -> Result<LoadOutcome, ClusterError> {
        let at_unix_ns = self.start_unix_ns.saturating_add(self.member.clock.offset_ns);
        self.member.link.send(&Message::Start { at_unix_ns })?;
        let mut last_heard = Instant::now();
        let mut is_stopped = false;
        loop {
            if self.stop.load(Ordering::Relaxed) && !is_stopped {
                self.member.link.send(&Message::Stop)?;
                is_stopped = true;
            }
            let Some(message) = self.member.link.receive(POLL)? else {
                if last_heard.elapsed() > self.options.silence + Duration::from_nanos(START_DELAY_NS as u64) {
                    return Err(ClusterError::silent(self.options.silence));
                }
                continue;
            };
            match message {
                Message::Heartbeat => self.member.link.send(&Message::Heartbeat)?,
                Message::Begun { base_unix_ns } => {
                    reported.base_unix_ns = Some(base_unix_ns);
                    self.release(reported);
                }
                Message::Records { records } => {
                    reported.requests += records.len() as u64;
                    reported.held.extend(records);
                    if reported.base_unix_ns.is_some() {
                        self.release(reported);
                    }
                }
                Message::Done { outcome } => return Ok(outcome),
                Message::Failed { reason } => return Err(ClusterError(reason)),
                other => return Err(unexpected(&other)),
            }
            // Not before the sink had time for it.
            last_heard = Instant::now();
        }
    }

    fn shift_ns(&self, reported: &Reported) -> i64 {
        reported.base_unix_ns.map_or(0, |base| {
            base.saturating_sub(self.member.clock.offset_ns).saturating_sub(self.start_unix_ns)
        })
    }

    fn release(&self, reported: &mut Reported) {
        let shift_ns = self.shift_ns(reported);
        let records = std::mem::take(&mut reported.held);
        let records: Vec<RequestRecord> =
            records.into_iter().map(|record| record.into_record(shift_ns)).collect();
        if !records.is_empty() {
            // The receiver is there until all have ended.
            let _ = self.events.send(Event::Records(records));
        }
    }
}
