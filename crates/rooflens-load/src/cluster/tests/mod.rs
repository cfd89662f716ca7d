//! Coordinators and workers over loopback, with an engine that only pretends to send.

mod engine;
mod intruders;
mod parts;
mod secrecy;
mod workers;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rooflens_schema::tables::RequestStatus;

use super::clock::{ClockCheck, unix_ns};
use super::serve::{JobWatch, RunLoad, serve_with};
use super::*;
use crate::engine::{LoadError, LoadWatch};
use crate::plan::{Api, ArrivalGaps, Arrivals, LoadPlan, Pace, SessionSource};
use crate::record::{ClientHealth, LoadOutcome, RecordSink, RequestRecord};
use crate::workload::{ConversationSpec, WorkloadSpec};

const TOKEN: &[u8] = b"a token for tests";

fn token() -> SharedToken {
    SharedToken::new(TOKEN).unwrap()
}

fn options() -> ClusterOptions {
    ClusterOptions::new(token(), None)
}

fn job(requests: u64) -> LoadJob {
    let pace =
        Pace::Open { arrivals: Arrivals::steady(1_000.0, ArrivalGaps::Poisson), max_concurrency: None };
    let plan = LoadPlan::of_test("http://127.0.0.1:9", Api::Completions, pace, requests);
    LoadJob { plan, workload: WorkloadSpec::synthetic(Api::Completions, "10-20", "1-9") }
}

fn conversations(requests: u64) -> LoadJob {
    let mut job = job(requests);
    job.workload.conversation = Some(ConversationSpec { turns: 3, think: Duration::ZERO, tool_tokens: None });
    job
}

fn health() -> ClientHealth {
    ClientHealth {
        valid: true,
        send_lag_p50_ns: Some(10),
        send_lag_p99_ns: Some(20),
        cpu_ns: 1_000,
        busiest_thread: Some(0.5),
        peak_rss_bytes: Some(7),
        threads: 1,
        kernel_timestamps: true,
        ..ClientHealth::default()
    }
}

fn outcome(base_unix_ns: i64, requests: u64, stopped: bool) -> LoadOutcome {
    LoadOutcome { base_unix_ns, span_ns: requests as i64, requests, not_sent: 0, client: health(), stopped }
}

fn record(number: u64, turn: u32, max_output_tokens: Option<u32>) -> RequestRecord {
    RequestRecord { turn, max_output_tokens, ..RequestRecord::of_test(number) }
}

/// Numbers requests as an engine does, and records each of its share at once.
fn pretend(
    plan: &LoadPlan,
    mut source: Box<dyn SessionSource>,
    sink: &mut dyn RecordSink,
    watch: &dyn LoadWatch,
) -> Result<LoadOutcome, LoadError> {
    let base_unix_ns = unix_ns();
    watch.begun(base_unix_ns);
    let (own, of) = plan.share;
    let most = plan.limits.requests.unwrap();
    let (mut number, mut sent) = (0, 0);
    for index in 0_u64.. {
        let Some(session) = source.next().filter(|_| number < most) else { break };
        for (turn, request) in (0..).zip(session.turns).take((most - number) as usize) {
            if index % of == own {
                sink.record(record(number, turn, request.max_output_tokens));
                sent += 1;
            }
            number += 1;
        }
    }
    Ok(outcome(base_unix_ns, sent, false))
}

fn pretend_for_ever(
    plan: &LoadPlan,
    source: Box<dyn SessionSource>,
    sink: &mut dyn RecordSink,
    watch: &dyn LoadWatch,
) -> Result<LoadOutcome, LoadError> {
    let outcome = pretend(plan, source, sink, watch)?;
    while !watch.stop() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(LoadOutcome { stopped: true, ..outcome })
}

fn failing(
    _: &LoadPlan,
    _: Box<dyn SessionSource>,
    _: &mut dyn RecordSink,
    _: &dyn LoadWatch,
) -> Result<LoadOutcome, LoadError> {
    Err(LoadError("no file descriptors".to_owned()))
}

fn with_workers(runs: &[&RunLoad<'_>], test: impl FnOnce(&[String])) {
    with_workers_of(None, runs, test);
}

fn with_workers_of(tls: Option<&ClusterTls>, runs: &[&RunLoad<'_>], test: impl FnOnce(&[String])) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut addresses = Vec::new();
        for run in runs {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            addresses.push(listener.local_addr().unwrap().to_string());
            let stop = &stop;
            scope.spawn(move || serve_with(&listener, &token(), tls, run, stop).unwrap());
        }
        // Workers end whatever becomes of the test.
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&addresses)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
    });
}

struct Idle;

impl LoadWatch for Idle {}

fn run(addresses: &[String], job: &LoadJob) -> (Result<ClusterOutcome, ClusterError>, Vec<RequestRecord>) {
    let mut records = Vec::new();
    let mut sink = |record: RequestRecord| records.push(record);
    let outcome = run_on_workers(addresses, job, &options(), &mut sink, &Idle);
    records.sort_by_key(|record| record.number);
    (outcome, records)
}

fn alone(job: &LoadJob) -> Vec<(u64, u32, Option<u32>)> {
    let mut records = Vec::new();
    let mut sink =
        |record: RequestRecord| records.push((record.number, record.turn, record.max_output_tokens));
    let source = crate::workload::open(&job.workload).unwrap().source;
    pretend(&job.plan, source, &mut sink, &JobWatch::default()).unwrap();
    records
}

fn told(records: &[RequestRecord]) -> Vec<(u64, u32, Option<u32>)> {
    records.iter().map(|record| (record.number, record.turn, record.max_output_tokens)).collect()
}

fn lost(outcome: &ClusterOutcome) -> Vec<&WorkerReport> {
    outcome.workers.iter().filter(|worker| worker.lost.is_some()).collect()
}
