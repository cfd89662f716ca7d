//! The coordinator: gives workers their shares and collects what they report.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::ClientConfig;

use super::clock::{ClockCheck, RoundTrip, unix_ns};
use super::error::{ClusterError, LinkError};
use super::job::LoadJob;
use super::link::{Link, unexpected};
use super::merge::{ClusterOutcome, WorkerFate, WorkerReport, merged_health};
use super::records::WireRecord;
use super::tls::{ClusterTls, to_worker};
use super::token::SharedToken;
use super::wire::Message;
use crate::record::{LoadOutcome, RecordSink, RequestRecord};

const ROUND_TRIPS: usize = 16;
const POLL: Duration = Duration::from_millis(20);
/// Time for the order to start to reach all workers.
const START_DELAY_NS: i64 = 500_000_000;
/// Batches that may wait for the sink.
const MAX_WAITING: usize = 64;

/// How a coordinator works.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// The secret that workers must know.
    pub token: SharedToken,
    /// Encrypt, and accept only workers with a certificate for their address.
    pub tls: Option<ClusterTls>,
    /// How long connecting, and each answer before the start, may take.
    pub connect_timeout: Duration,
    /// How long a worker may take to read its files and tokenizer.
    pub prepare_timeout: Duration,
    /// A worker that says nothing for this long is lost; they say something every second.
    pub silence: Duration,
}

impl ClusterOptions {
    /// The usual patience.
    #[must_use]
    pub fn new(token: SharedToken) -> Self {
        ClusterOptions {
            token,
            tls: None,
            connect_timeout: Duration::from_secs(10),
            prepare_timeout: Duration::from_secs(300),
            silence: Duration::from_secs(10),
        }
    }
}

/// Follows a load test on several machines.
pub trait ClusterWatch: Sync {
    /// Whether it is to end now: workers stop sending, and what they have is kept.
    fn stop(&self) -> bool {
        false
    }

    /// How far it is. Called about 10 times per second.
    fn progress(&self, _progress: ClusterProgress) {}
}

/// How far a load test on several machines is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterProgress {
    /// Time since the common start.
    pub elapsed: Duration,
    /// Requests reported.
    pub requests: u64,
    /// Workers that still send.
    pub(crate) active_workers: usize,
}

/// Runs a load test on workers, each with its share of the schedule, and hands all records to the sink: those of one
/// worker in the order of their ends, with times on the coordinator's clock since the common start.
///
/// A worker that is lost after the start is reported, and what it and the others had recorded is kept.
///
/// # Errors
/// A worker is not there before the start, refuses the token or cannot prepare its job; the plan cannot be split; or no
/// worker finished.
pub fn run_on_workers(
    workers: &[String],
    job: &LoadJob,
    options: &ClusterOptions,
    sink: &mut dyn RecordSink,
    watch: &dyn ClusterWatch,
) -> Result<ClusterOutcome, ClusterError> {
    if workers.is_empty() {
        return Err(ClusterError::Plan("there are no workers".to_owned()));
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
        let mut collection = Collection::new(start_unix_ns, workers.len());
        while let Some(event) = collection.next(&received, watch, &stop) {
            match event {
                Event::Records(records) => collection.record(records, sink),
                Event::Ended(report, outcome) => collection.end(*report, outcome.map(|outcome| *outcome)),
            }
        }
        collection.outcome()
    })
}

/// A worker that can begin.
struct Member {
    worker: String,
    share: u64,
    link: Link,
    clock: ClockCheck,
}

/// Connects to all workers and has them prepare, at the same time.
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
            let error = |problem: String| ClusterError::Worker { worker: worker.clone(), problem };
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
    ) -> Result<Self, LinkError> {
        let socket = connect(worker, options.connect_timeout)?;
        let mut link = Link::new(to_worker(socket.try_clone()?, worker, tls)?, socket)?;
        link.join_worker(&options.token, options.connect_timeout)?;
        link.send(&Message::Job { job: Box::new(job) })?;
        match link.expect(options.prepare_timeout)? {
            Message::Ready => {}
            Message::Failed { reason } => return Err(LinkError::Failed(reason)),
            other => return Err(unexpected(&other)),
        }
        let clock = check_clock(&mut link, options.connect_timeout)?;
        Ok(Member { worker: worker.to_owned(), share, link, clock })
    }
}

fn connect(worker: &str, timeout: Duration) -> Result<TcpStream, LinkError> {
    let mut last = None;
    for address in worker.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or(LinkError::Closed, LinkError::Io))
}

fn check_clock(link: &mut Link, timeout: Duration) -> Result<ClockCheck, LinkError> {
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
    ClockCheck::of(&trips).ok_or(LinkError::Closed)
}

/// What threads that follow a worker say.
enum Event {
    Records(Vec<RequestRecord>),
    Ended(Box<WorkerReport>, Option<Box<LoadOutcome>>),
}

/// Follows one worker on a thread of its own.
struct Following<'a> {
    member: Member,
    start_unix_ns: i64,
    options: &'a ClusterOptions,
    stop: &'a AtomicBool,
    events: mpsc::SyncSender<Event>,
}

/// What a worker reported so far.
#[derive(Default)]
struct Reported {
    requests: u64,
    /// 0 of its records, on its own clock.
    base_unix_ns: Option<i64>,
    /// Records of before that was known.
    held: Vec<WireRecord>,
}

impl Following<'_> {
    fn follow(mut self) {
        let mut reported = Reported::default();
        let ended = self.collect(&mut reported);
        if let Ok(outcome) = &ended {
            reported.base_unix_ns = Some(outcome.base_unix_ns);
        }
        let began_late_ns = reported.base_unix_ns.map(|_| self.shift_ns(&reported));
        // Where it never said when it began, it was told to begin at the common start.
        self.release(&mut reported);
        let drift = |later: ClockCheck| later.offset_ns.saturating_sub(self.member.clock.offset_ns);
        let later = match &ended {
            Ok(_) => check_clock(&mut self.member.link, self.options.connect_timeout).ok(),
            Err(_) => None,
        };
        let clock_drift_ns = later.map(drift);
        // It ends either way.
        let _ = self.member.link.send(&Message::Bye);
        let is_wanted = self.stop.load(Ordering::Relaxed);
        let (fate, outcome) = match ended {
            // Somebody ended it there: it sent less than its share.
            Ok(outcome) if outcome.stopped && !is_wanted => {
                (WorkerFate::Lost { reason: "it was stopped on its own machine".to_owned() }, None)
            }
            Ok(outcome) => (WorkerFate::Finished, Some(outcome)),
            Err(error) => (WorkerFate::Lost { reason: error.to_string() }, None),
        };
        let report = WorkerReport {
            worker: self.member.worker.clone(),
            share: self.member.share,
            fate,
            clock: self.member.clock,
            clock_drift_ns,
            began_late_ns,
            requests: reported.requests,
            client: outcome.as_ref().map(|outcome| outcome.client.clone()),
        };
        // The receiver is there until all have ended.
        let _ = self.events.send(Event::Ended(Box::new(report), outcome.map(Box::new)));
    }

    /// Collects what the worker reports until it is done.
    fn collect(&mut self, reported: &mut Reported) -> Result<LoadOutcome, LinkError> {
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
                    return Err(LinkError::Silent(self.options.silence));
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
                Message::Done { outcome } => return Ok(outcome.into()),
                Message::Failed { reason } => return Err(LinkError::Failed(reason)),
                other => return Err(unexpected(&other)),
            }
            // Not before the sink had time for it.
            last_heard = Instant::now();
        }
    }

    /// From times of the worker's records to times since the common start.
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

/// What all workers reported.
struct Collection {
    start_unix_ns: i64,
    began: Instant,
    active_workers: usize,
    requests: u64,
    chunks: u64,
    last_end_ns: i64,
    not_sent: u64,
    is_stopped: bool,
    reports: Vec<WorkerReport>,
}

impl Collection {
    fn new(start_unix_ns: i64, active_workers: usize) -> Self {
        Collection {
            start_unix_ns,
            began: Instant::now() + Duration::from_nanos(START_DELAY_NS as u64),
            active_workers,
            requests: 0,
            chunks: 0,
            last_end_ns: 0,
            not_sent: 0,
            is_stopped: false,
            reports: Vec::new(),
        }
    }

    /// The next event; `None` after the last.
    fn next(
        &self,
        received: &mpsc::Receiver<Event>,
        watch: &dyn ClusterWatch,
        stop: &AtomicBool,
    ) -> Option<Event> {
        loop {
            if watch.stop() {
                stop.store(true, Ordering::Relaxed);
            }
            match received.recv_timeout(Duration::from_millis(100)) {
                Ok(event) => return Some(event),
                Err(mpsc::RecvTimeoutError::Disconnected) => return None,
                Err(mpsc::RecvTimeoutError::Timeout) => watch.progress(ClusterProgress {
                    elapsed: Instant::now().saturating_duration_since(self.began),
                    requests: self.requests,
                    active_workers: self.active_workers,
                }),
            }
        }
    }

    fn record(&mut self, records: Vec<RequestRecord>, sink: &mut dyn RecordSink) {
        for record in records {
            self.requests += 1;
            self.chunks += record.chunks.len() as u64;
            self.last_end_ns = self.last_end_ns.max(record.end_ns);
            sink.record(record);
        }
    }

    fn end(&mut self, report: WorkerReport, outcome: Option<LoadOutcome>) {
        self.active_workers -= 1;
        if let Some(outcome) = outcome {
            self.not_sent += outcome.not_sent;
            self.is_stopped |= outcome.stopped;
        }
        self.reports.push(report);
    }

    fn outcome(mut self) -> Result<ClusterOutcome, ClusterError> {
        self.reports.sort_by_key(|report| report.share);
        let client = merged_health(&self.reports, self.chunks);
        if self.reports.iter().all(|report| report.client.is_none()) {
            return Err(ClusterError::NoneFinished(client.reasons.join("; ")));
        }
        let load = LoadOutcome {
            base_unix_ns: self.start_unix_ns,
            span_ns: self.last_end_ns,
            requests: self.requests,
            not_sent: self.not_sent,
            client,
            stopped: self.is_stopped,
        };
        Ok(ClusterOutcome { load, workers: self.reports })
    }
}
