//! A worker: waits for coordinators and does what they ask.

use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use super::clock::unix_ns;
use super::error::ClusterError;
use super::job::{LoadJob, ShareOfSessions};
use super::link::{Link, unexpected};
use super::tls::{ClusterTls, to_coordinator};
use super::token::SharedToken;
use super::wire::{Message, WireRecord};
use crate::engine::{self, LoadError, LoadWatch};
use crate::plan::{LoadPlan, SessionSource};
use crate::record::{LoadOutcome, RecordSink, RequestRecord};
use crate::workload;

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
const COORDINATOR_TIMEOUT: Duration = Duration::from_secs(120);
/// Connections at the same time; whoever comes besides is hung up on.
const MAX_CONNECTIONS: usize = 16;
const HEARTBEAT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);
/// A batch of records is sent when it is this heavy, or this old.
const BATCH_WEIGHT: usize = 1 << 20;
const BATCH_AGE: Duration = Duration::from_millis(200);
/// A start farther away than this is a clock gone wrong.
const LONGEST_WAIT_NS: i64 = 120_000_000_000;

/// What runs a load test, as `engine::run` does.
pub(super) type RunLoad<'a> = dyn Fn(
        &LoadPlan,
        Box<dyn SessionSource>,
        &mut dyn RecordSink,
        &dyn LoadWatch,
    ) -> Result<LoadOutcome, LoadError>
    + Sync
    + 'a;

#[derive(Debug, Default)]
pub(super) struct JobWatch {
    stop: AtomicBool,
    /// 0 if unknown. Until this is known, the coordinator keeps records to itself.
    base_unix_ns: AtomicI64,
}

impl LoadWatch for JobWatch {
    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn begun(&self, base_unix_ns: i64) {
        self.base_unix_ns.store(base_unix_ns, Ordering::Relaxed);
    }
}

/// Serves coordinators, one job at a time, until `stop` is set. No one without the token gets farther than the
/// greeting; with TLS, no one without a certificate.
pub fn serve_jobs(
    listener: &TcpListener,
    token: &SharedToken,
    tls: Option<&ClusterTls>,
    stop: &AtomicBool,
) -> Result<(), ClusterError> {
    serve_with(listener, token, tls, &engine::run, stop)
}

pub(super) fn serve_with(
    listener: &TcpListener,
    token: &SharedToken,
    tls: Option<&ClusterTls>,
    run: &RunLoad<'_>,
    stop: &AtomicBool,
) -> Result<(), ClusterError> {
    listener.set_nonblocking(true).map_err(|error| ClusterError(format!("cannot listen: {error}")))?;
    let (tls, is_busy) = (tls.map(ClusterTls::server).transpose()?, AtomicBool::new(false));
    let worker = Worker { token, tls, run, stop, is_busy, connections: AtomicUsize::new(0) };
    std::thread::scope(|scope| {
        while !stop.load(Ordering::Relaxed) {
            match listener.accept() {
                Ok((socket, _)) if worker.connections.load(Ordering::Relaxed) < MAX_CONNECTIONS => {
                    worker.connections.fetch_add(1, Ordering::Relaxed);
                    let worker = &worker;
                    scope.spawn(move || {
                        // Whatever went wrong, the coordinator was told or is gone.
                        let _ = worker.serve(socket);
                        worker.connections.fetch_sub(1, Ordering::Relaxed);
                    });
                }
                // Too many, none, or one that is gone already.
                Ok(_) | Err(_) => std::thread::sleep(POLL),
            }
        }
    });
    Ok(())
}

struct Worker<'a> {
    token: &'a SharedToken,
    tls: Option<Arc<ServerConfig>>,
    run: &'a RunLoad<'a>,
    stop: &'a AtomicBool,
    is_busy: AtomicBool,
    connections: AtomicUsize,
}

impl Worker<'_> {
    fn serve(&self, socket: TcpStream) -> Result<(), ClusterError> {
        socket.set_nonblocking(false)?;
        let mut link = Link::new(to_coordinator(socket.try_clone()?, self.tls.as_ref())?, socket)?;
        if let Err(error) = link.join_coordinator(self.token, HANDSHAKE_TIMEOUT) {
            link.refuse(&error.to_string())?;
            return Err(error);
        }
        loop {
            let Some(message) = self.wait(&mut link)? else { return Ok(()) };
            match message {
                Message::Ping => pong(&mut link)?,
                Message::Job { job } => {
                    if self.is_busy.swap(true, Ordering::AcqRel) {
                        let reason = "it is busy with another load test".to_owned();
                        link.send(&Message::Failed { reason })?;
                        continue;
                    }
                    let done = self.job(&mut link, &job);
                    self.is_busy.store(false, Ordering::Release);
                    done?;
                }
                Message::Bye => return Ok(()),
                // Meant for the load test that ended in the meantime.
                Message::Stop | Message::Heartbeat => {}
                other => return Err(unexpected(&other)),
            }
        }
    }

    fn wait(&self, link: &mut Link) -> Result<Option<Message>, ClusterError> {
        let begin = Instant::now();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if let Some(message) = link.receive(POLL)? {
                return Ok(Some(message));
            }
            if begin.elapsed() > COORDINATOR_TIMEOUT {
                return Err(ClusterError::silent(COORDINATOR_TIMEOUT));
            }
        }
    }

    fn job(&self, link: &mut Link, job: &LoadJob) -> Result<(), ClusterError> {
        let source = match workload::open(&job.workload) {
            Ok(opened) => ShareOfSessions::new(opened.source, job.plan.share),
            Err(error) => return link.send(&Message::Failed { reason: error.to_string() }),
        };
        link.send(&Message::Ready)?;
        let at_unix_ns = loop {
            match self.wait(link)? {
                Some(Message::Ping) => pong(link)?,
                Some(Message::Start { at_unix_ns }) => break at_unix_ns,
                Some(Message::Bye) | None => return Ok(()),
                Some(other) => return Err(unexpected(&other)),
            }
        };
        if !sleep_until(at_unix_ns) {
            let reason = "the start is too far away: are the clocks right?".to_owned();
            return link.send(&Message::Failed { reason });
        }
        self.send_load(link, &job.plan, Box::new(source))
    }

    fn send_load(
        &self,
        link: &mut Link,
        plan: &LoadPlan,
        source: Box<dyn SessionSource>,
    ) -> Result<(), ClusterError> {
        let watch = JobWatch::default();
        let (records, received) = mpsc::channel::<RequestRecord>();
        std::thread::scope(|scope| {
            let (run, watch) = (self.run, &watch);
            let running = scope.spawn(move || {
                let mut sink = move |record: RequestRecord| {
                    // The reporter is gone only when the coordinator is.
                    let _ = records.send(record);
                };
                run(plan, source, &mut sink, watch)
            });
            let reported = self.report(link, &received, watch);
            if reported.is_err() {
                watch.stop.store(true, Ordering::Relaxed);
            }
            let outcome = running.join();
            reported?;
            link.send(&match outcome {
                Ok(Ok(outcome)) => Message::Done { outcome },
                Ok(Err(error)) => Message::Failed { reason: error.to_string() },
                Err(_) => Message::Failed { reason: "the load test panicked".to_owned() },
            })
        })
    }

    fn report(
        &self,
        link: &mut Link,
        received: &mpsc::Receiver<RequestRecord>,
        watch: &JobWatch,
    ) -> Result<(), ClusterError> {
        let mut batch = Batch::default();
        let mut is_begin_reported = false;
        let (mut last_beat, mut last_heard) = (Instant::now(), Instant::now());
        loop {
            let is_over = match received.recv_timeout(POLL) {
                Ok(record) => {
                    batch.add(record);
                    false
                }
                Err(mpsc::RecvTimeoutError::Timeout) => false,
                Err(mpsc::RecvTimeoutError::Disconnected) => true,
            };
            let base_unix_ns = watch.base_unix_ns.load(Ordering::Relaxed);
            if base_unix_ns != 0 && !is_begin_reported {
                link.send(&Message::Begun { base_unix_ns })?;
                is_begin_reported = true;
            }
            if is_over {
                return batch.send(link);
            }
            let is_beat = last_beat.elapsed() >= HEARTBEAT;
            if is_beat {
                last_beat = Instant::now();
                link.send(&Message::Heartbeat)?;
            }
            if batch.is_due() {
                batch.send(link)?;
            } else if !is_beat {
                continue;
            }
            if self.heed(link, watch)? {
                last_heard = Instant::now();
            } else if last_heard.elapsed() > COORDINATOR_TIMEOUT {
                return Err(ClusterError::silent(COORDINATOR_TIMEOUT));
            }
        }
    }

    fn heed(&self, link: &mut Link, watch: &JobWatch) -> Result<bool, ClusterError> {
        if self.stop.load(Ordering::Relaxed) {
            watch.stop.store(true, Ordering::Relaxed);
        }
        let mut was_heard = false;
        while let Some(message) = link.receive(Duration::ZERO)? {
            was_heard = true;
            match message {
                Message::Heartbeat => {}
                Message::Stop => watch.stop.store(true, Ordering::Relaxed),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(was_heard)
    }
}

fn pong(link: &mut Link) -> Result<(), ClusterError> {
    let received_unix_ns = unix_ns();
    link.send(&Message::Pong { received_unix_ns, answered_unix_ns: unix_ns() })
}

fn sleep_until(at_unix_ns: i64) -> bool {
    loop {
        let left = at_unix_ns.saturating_sub(unix_ns());
        if left > LONGEST_WAIT_NS {
            return false;
        }
        match u64::try_from(left) {
            Ok(left) if left > 0 => std::thread::sleep(Duration::from_nanos(left)),
            _ => return true,
        }
    }
}

#[derive(Default)]
struct Batch {
    records: Vec<WireRecord>,
    weight: usize,
    began: Option<Instant>,
}

impl Batch {
    fn add(&mut self, record: RequestRecord) {
        let record = WireRecord::from(record);
        self.weight += record.weight();
        self.records.push(record);
        self.began.get_or_insert_with(Instant::now);
    }

    fn is_due(&self) -> bool {
        self.weight >= BATCH_WEIGHT || self.began.is_some_and(|began| began.elapsed() >= BATCH_AGE)
    }

    fn send(&mut self, link: &mut Link) -> Result<(), ClusterError> {
        let batch = std::mem::take(self);
        if batch.records.is_empty() {
            return Ok(());
        }
        link.send(&Message::Records { records: batch.records })
    }
}
