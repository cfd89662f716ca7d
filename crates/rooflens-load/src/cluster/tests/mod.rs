//! Coordinators and workers over loopback, with an engine that only pretends to send.

mod engine;
mod intruders;
mod parts;
mod processes;
mod secrecy;
mod workers;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rooflens_schema::tables::RequestStatus;

use super::clock::ClockCheck;
use super::clock::unix_ns;
use super::error::ClusterError;
use super::*;
use crate::plan::{Api, ArrivalGaps, Arrivals, LoadLimits, LoadPlan, LoadTarget, Pace, SessionSource};
use crate::record::{ClientHealth, LoadOutcome, RecordSink, RequestRecord};
use crate::workload::{ConversationSpec, DelaySpec, WorkloadSpec};

const TOKEN: &[u8] = b"a token for tests";

fn token() -> SharedToken {
    SharedToken::new(TOKEN).unwrap()
}

fn options() -> ClusterOptions {
    ClusterOptions::new(token())
}

/// An open load test of so many requests.
fn job(requests: u64) -> LoadJob {
    let target = LoadTarget {
        url: "http://127.0.0.1:9".to_owned(),
        api: Api::Completions,
        headers: vec![("authorization".to_owned(), "Bearer x".to_owned())],
        http2: false,
        insecure: false,
        ca_file: None,
        gzip: false,
        connect_timeout: Duration::from_secs(1),
        timeout: Duration::from_secs(60),
    };
    let plan = LoadPlan {
        target,
        pace: Pace::Open { arrivals: Arrivals::steady(1_000.0, ArrivalGaps::Poisson), max_concurrency: None },
        limits: LoadLimits { requests: Some(requests), duration: None, drain: None },
        threads: 1,
        seed: 5,
        share: (0, 1),
        keep_texts: 0,
    };
    let length = |text: &str| text.parse().unwrap();
    let workload = WorkloadSpec::synthetic(Api::Completions, "m", length("10-20"), length("1-9"));
    LoadJob { plan, workload }
}

/// Sessions of one to three requests.
fn conversations(requests: u64) -> LoadJob {
    let mut job = job(requests);
    job.workload.conversation = Some(ConversationSpec {
        turns: "1-3".parse().unwrap(),
        turn_tokens: None,
        think: DelaySpec::default(),
        tools: None,
    });
    job
}

fn health() -> ClientHealth {
    ClientHealth {
        valid: true,
        reasons: Vec::new(),
        send_lag_p50_ns: Some(10),
        send_lag_p99_ns: Some(20),
        loop_lag_p99_ns: None,
        receive_delay_p50_ns: None,
        receive_delay_p99_ns: None,
        cpu_ns: 1_000,
        busiest_thread: Some(0.5),
        cpu_per_chunk_ns: None,
        peak_rss_bytes: Some(7),
        threads: 1,
        kernel_timestamps: true,
    }
}

fn outcome(base_unix_ns: i64, requests: u64, stopped: bool) -> LoadOutcome {
    LoadOutcome { base_unix_ns, span_ns: requests as i64, requests, not_sent: 0, client: health(), stopped }
}

fn record(number: u64, turn: u32, max_output_tokens: Option<u32>) -> RequestRecord {
    RequestRecord {
        number,
        session: None,
        turn,
        lora: None,
        sample: None,
        scheduled_ns: number as i64,
        sent_ns: None,
        first_byte_ns: None,
        end_ns: number as i64 + 1,
        chunks: Vec::new(),
        usage: None,
        prompt_tokens: None,
        max_output_tokens,
        finish: None,
        status: RequestStatus::Completed,
        http_status: Some(200),
        error: None,
        external_id: None,
        text: None,
        is_new_connection: false,
    }
}

/// Numbers requests as an engine does, and records each of its share at once.
fn pretend(
    plan: &LoadPlan,
    mut source: Box<dyn SessionSource>,
    sink: &mut dyn RecordSink,
    watch: &JobWatch,
) -> Result<LoadOutcome, String> {
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

/// As [`pretend`], but goes on until it is told to stop.
fn pretend_for_ever(
    plan: &LoadPlan,
    source: Box<dyn SessionSource>,
    sink: &mut dyn RecordSink,
    watch: &JobWatch,
) -> Result<LoadOutcome, String> {
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
    _: &JobWatch,
) -> Result<LoadOutcome, String> {
    Err("no file descriptors".to_owned())
}

/// Runs `test` with the addresses of workers that run these.
fn with_workers(runs: &[&RunLoad<'_>], test: impl FnOnce(&[String])) {
    with_workers_of(&ClusterWorkerOptions { token: token(), tls: None }, runs, test);
}

fn with_workers_of(options: &ClusterWorkerOptions, runs: &[&RunLoad<'_>], test: impl FnOnce(&[String])) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut addresses = Vec::new();
        for run in runs {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            addresses.push(listener.local_addr().unwrap().to_string());
            let stop = &stop;
            scope.spawn(move || serve_jobs(&listener, options, run, stop).unwrap());
        }
        // Workers end whatever becomes of the test.
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&addresses)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = tested {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Watches nothing.
struct Idle;

impl ClusterWatch for Idle {}

/// All records of a load test, by number.
fn run(addresses: &[String], job: &LoadJob) -> (Result<ClusterOutcome, ClusterError>, Vec<RequestRecord>) {
    let mut records = Vec::new();
    let mut sink = |record: RequestRecord| records.push(record);
    let outcome = run_on_workers(addresses, job, &options(), &mut sink, &Idle);
    records.sort_by_key(|record| record.number);
    (outcome, records)
}

/// What one process would record: number, turn and limit of each request.
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
