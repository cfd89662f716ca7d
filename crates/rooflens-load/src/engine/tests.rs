//! Whole load tests against servers that write literal bytes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rooflens_schema::tables::RequestStatus;

use super::*;
use crate::plan::{Api, ArrivalGaps, Arrivals, Body, LoadSession, Turn};
use crate::record::ChunkKind;
use crate::test_server::{ByteServer, Reply};

struct UnwatchedLoad;

impl LoadWatch for UnwatchedLoad {}

const STREAM: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunked(parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("{:x}\r\n{part}\r\n", part.len())).collect();
    parts + "0\r\n\r\n"
}

fn delta(text: &str) -> String {
    format!(
        "data: {{\"id\":\"c1\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
    )
}

fn usual() -> String {
    let (a, b) = (delta("Hel"), delta("lo"));
    let end = "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let usage =
        "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
    STREAM.to_owned() + &chunked(&[&a, &b, end, usage, "data: [DONE]\n\n"])
}

fn plan(server: &ByteServer, pace: Pace, requests: u64) -> LoadPlan {
    LoadPlan::of_test(server.url(), Api::Chat, pace, requests)
}

fn closed(concurrency: usize) -> Pace {
    Pace::Closed { concurrency, ramp: Duration::ZERO }
}

fn singles() -> Box<dyn SessionSource> {
    Box::new(|| Some(LoadSession::single(Bytes::from_static(b"{\"messages\":[]}"), Some(3), Some(2))))
}

fn go(plan: &LoadPlan, source: Box<dyn SessionSource>) -> (LoadOutcome, Vec<RequestRecord>) {
    let mut records = Vec::new();
    let mut sink = |record: RequestRecord| records.push(record);
    let outcome = run(plan, source, &mut sink, &UnwatchedLoad).unwrap();
    records.sort_by_key(|record| record.number);
    (outcome, records)
}

fn one(answer: impl Into<Vec<u8>>) -> RequestRecord {
    let answer = answer.into();
    let server = ByteServer::start(move |_| Reply::Close(answer.clone()));
    let (_, mut records) = go(&plan(&server, closed(1), 1), singles());
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn kind(record: &RequestRecord) -> &'static str {
    record.error.as_ref().map_or("", |error| error.kind)
}

#[test]
fn a_closed_loop_records_every_request_and_keeps_its_connections() {
    let server = ByteServer::start(|_| Reply::Keep(usual().into()));
    let (outcome, records) = go(&plan(&server, closed(3), 30), singles());
    assert_eq!((outcome.requests, outcome.not_sent, outcome.stopped), (30, 0, false));
    assert_eq!(records.iter().map(|record| record.number).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
    assert!(server.connections() <= 3, "{}", server.connections());
    assert_eq!(records.iter().filter(|record| record.is_new_connection).count(), server.connections());
    for record in &records {
        assert_eq!(record.status, RequestStatus::Completed, "{:?}", record.error);
        assert_eq!(record.chunks.len(), 2);
        assert!(record.chunks.iter().all(|chunk| chunk.kind == ChunkKind::Text));
        let usage = record.usage.unwrap();
        assert_eq!((usage.prompt, usage.output), (Some(7), Some(2)));
        assert_eq!(record.finish.as_deref(), Some("stop"));
        assert_eq!(record.external_id.as_deref(), Some("c1"));
        assert_eq!(record.text, None);
        let sent = record.sent_ns.unwrap();
        let first = record.first_byte_ns.unwrap();
        assert!(record.scheduled_ns <= sent && sent <= first, "{record:?}");
        assert!(first <= record.chunks[0].ts_ns && record.chunks[1].ts_ns <= record.end_ns);
        assert!(record.end_ns <= outcome.span_ns);
    }
    assert_eq!(outcome.client.threads, 1);
}

#[test]
fn headers_and_path_are_as_the_api_wants_them() {
    let server = ByteServer::start(|request| {
        let ok = request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
            && request.head.contains("content-type: application/json")
            && request.head.contains("authorization: Bearer x")
            && request.head.contains("host: 127.0.0.1:")
            && request.body == b"{\"messages\":[]}";
        Reply::Keep(if ok {
            usual().into()
        } else {
            b"HTTP/1.1 400 no\r\ncontent-length: 0\r\n\r\n".to_vec()
        })
    });
    let (_, records) = go(&plan(&server, closed(1), 1), singles());
    assert_eq!(kind(&records[0]), "", "{:?}", records[0].error);
}

#[test]
fn an_open_loop_keeps_the_schedule_of_its_seed() {
    let server = ByteServer::start(|_| Reply::Keep(usual().into()));
    let pace = Pace::Open { arrivals: Arrivals::steady(400.0, ArrivalGaps::Poisson), max_concurrency: None };
    let plan = plan(&server, pace, 40);
    let (outcome, records) = go(&plan, singles());
    let expected: Vec<i64> =
        ArrivalTimes::new(&Arrivals::steady(400.0, ArrivalGaps::Poisson), 1).unwrap().take(40).collect();
    assert_eq!(records.iter().map(|record| record.scheduled_ns).collect::<Vec<_>>(), expected);
    assert!(records.iter().all(|record| record.sent_ns.unwrap() >= record.scheduled_ns));
    assert!(outcome.client.send_lag_p50_ns.is_some());
}

#[test]
fn shares_of_a_schedule_are_disjoint_and_complete() {
    let server = ByteServer::start(|_| Reply::Keep(usual().into()));
    let pace =
        Pace::Open { arrivals: Arrivals::steady(2000.0, ArrivalGaps::Gamma(0.5)), max_concurrency: Some(8) };
    let whole = go(&plan(&server, pace.clone(), 20), singles()).1;
    let mut parts = Vec::new();
    for own in 0..3 {
        let plan = LoadPlan { share: (own, 3), ..plan(&server, pace.clone(), 20) };
        let records = go(&plan, singles()).1;
        assert!(records.iter().all(|record| record.number % 3 == own));
        parts.extend(records);
    }
    parts.sort_by_key(|record| record.number);
    let key = |record: &RequestRecord| (record.number, record.scheduled_ns);
    assert_eq!(parts.iter().map(key).collect::<Vec<_>>(), whole.iter().map(key).collect::<Vec<_>>());
}

#[test]
fn kinds_of_errors() {
    let error = |answer: &str| {
        let record = one(answer);
        assert_eq!(record.status, RequestStatus::Failed);
        (kind(&record), record.error.unwrap().message)
    };
    let (kind, message) =
        error("HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 5\r\n\r\nlater");
    assert_eq!(kind, "http_429");
    assert!(message.contains("retry after 7") && message.contains("later"), "{message}");
    assert_eq!(error("HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n").0, "http_500");
    assert_eq!(error("HTTP/1.1 404 No\r\ncontent-length: 100\r\n\r\ncut").0, "http_404");
    assert_eq!(
        error("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi").0,
        "wrong_content_type"
    );
    assert_eq!(error("").0, "connection_reset");
    assert_eq!(error("SMTP ready\r\n\r\n").0, "protocol");
    assert_eq!(error(&(STREAM.to_owned() + &chunked(&[&delta("a")]))).0, "incomplete_stream");
    assert_eq!(error(&(STREAM.to_owned() + "5\r\ndata:")).0, "connection_reset");
    assert_eq!(error(&(STREAM.to_owned() + &chunked(&["data: {broken\n\n"]))).0, "protocol");
    let failing = chunked(&[&delta("a"), "data: {\"error\":{\"message\":\"out of memory\"}}\n\n"]);
    assert_eq!(error(&(STREAM.to_owned() + &failing)), ("server_error", "out of memory".to_owned()));
}

#[test]
fn a_refused_connection_and_a_host_without_an_address_are_counted() {
    let server = ByteServer::start(|_| Reply::Keep(usual().into()));
    let mut plan = plan(&server, closed(2), 4);
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    plan.target.url = format!("http://{unused}");
    let (_, records) = go(&plan, singles());
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| kind(record) == "connection_refused" && record.sent_ns.is_none()));
    plan.target.url = "http://no-such-host.invalid:80".into();
    let (_, records) = go(&plan, singles());
    assert!(records.iter().all(|record| kind(record) == "dns"), "{:?}", records[0].error);
}

#[test]
fn a_stream_that_breaks_after_its_end_is_complete() {
    let body = [delta("a"), "data: [DONE]\n\n".to_owned()].concat();
    let record = one(STREAM.to_owned() + &format!("{:x}\r\n{body}\r\n", body.len()));
    assert_eq!(record.status, RequestStatus::Completed, "{:?}", record.error);
    assert_eq!(record.text.as_deref(), Some("a"), "there is no usage");
}

#[test]
fn answers_may_be_whole_or_compressed() {
    let whole = "{\"id\":\"x\",\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":5}}";
    let record = one(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{whole}",
        whole.len()
    ));
    assert_eq!(record.status, RequestStatus::Completed, "{:?}", record.error);
    assert_eq!((record.chunks.len(), record.chunks[0].tokens), (1, 5));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let body = [delta("a"), delta("b"), "data: [DONE]\n\n".to_owned()].concat();
    std::io::Write::write_all(&mut encoder, body.as_bytes()).unwrap();
    let mut answer =
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
    answer.extend(encoder.finish().unwrap());
    let record = one(answer);
    assert_eq!(record.status, RequestStatus::Completed, "{:?}", record.error);
    assert_eq!(record.text.as_deref(), Some("ab"));
}

#[test]
fn a_connection_that_the_server_closed_while_it_was_idle_costs_no_request() {
    let server = ByteServer::start(|_| Reply::CloseSilently(usual().into()));
    let (_, records) = go(&plan(&server, closed(1), 10), singles());
    assert!(records.iter().all(|record| record.status == RequestStatus::Completed), "{records:?}");
}

#[test]
fn turns_get_the_replies_before_them_and_wait() {
    let server = ByteServer::start(|request| {
        let second = request.body.starts_with(b"after");
        Reply::Keep(if second && request.body != b"after Hello" { Vec::new() } else { usual().into() })
    });
    let turn = |body, delay| Turn {
        body,
        prompt_tokens: None,
        max_output_tokens: None,
        delay: Duration::from_millis(delay),
        sample: None,
    };
    let source = move || {
        let later = Body::FromReplies(Box::new(|replies: &[String]| format!("after {}", replies[0]).into()));
        Some(LoadSession {
            id: Some("talk".into()),
            lora: None,
            arrival: None,
            turns: vec![turn(Body::Ready("first".into()), 0), turn(later, 30)],
        })
    };
    let (_, records) = go(&plan(&server, closed(1), 3), Box::new(source));
    assert_eq!(records.len(), 3, "the limit cuts the second session");
    assert_eq!(records.iter().map(|record| record.turn).collect::<Vec<_>>(), [0, 1, 0]);
    assert!(records.iter().all(|record| record.status == RequestStatus::Completed), "{records:?}");
    assert_eq!(records[1].scheduled_ns, records[0].end_ns + 30_000_000);
    assert!(records[1].sent_ns.unwrap() >= records[1].scheduled_ns);
}

#[test]
fn a_silent_server_times_out_and_one_that_drips_too() {
    for reply in [Reply::Silence, Reply::Drip] {
        let server = ByteServer::start(move |_| reply.clone());
        let mut plan = plan(&server, closed(2), 2);
        plan.target.timeout = Duration::from_millis(300);
        let (_, records) = go(&plan, singles());
        assert_eq!(records.len(), 2);
        assert!(
            records
                .iter()
                .all(|record| record.status == RequestStatus::TimedOut && kind(record) == "timeout")
        );
    }
}

#[test]
fn what_is_left_after_the_drain_is_cancelled_and_what_waited_is_told() {
    let server = ByteServer::start(|_| Reply::Silence);
    let pace =
        Pace::Open { arrivals: Arrivals::steady(100.0, ArrivalGaps::Constant), max_concurrency: Some(2) };
    let mut plan = plan(&server, pace, 1000);
    plan.limits.duration = Some(Duration::from_millis(205));
    plan.limits.drain = Some(Duration::from_millis(50));
    let (outcome, records) = go(&plan, singles());
    assert_eq!(records.len(), 2);
    assert!(records.iter().all(|record| record.status == RequestStatus::Cancelled && record.error.is_none()));
    // Due at 0, 10, …, 200 ms: 21, of which 2 were sent.
    assert_eq!(outcome.not_sent, 19);
}

#[test]
fn stopping_cancels_what_is_in_progress() {
    struct AfterFirst(AtomicBool);
    impl LoadWatch for AfterFirst {
        fn stop(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
        fn progress(&self, progress: &LoadProgress) {
            if progress.in_flight == 3 {
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let server = ByteServer::start(|_| Reply::Silence);
    let plan = plan(&server, closed(3), 100);
    let mut records = Vec::new();
    let mut sink = |record: RequestRecord| records.push(record);
    let outcome = run(&plan, singles(), &mut sink, &AfterFirst(AtomicBool::new(false))).unwrap();
    assert!(outcome.stopped);
    assert_eq!(records.len(), 3);
    assert!(records.iter().all(|record| record.status == RequestStatus::Cancelled));
}

#[test]
fn a_replay_follows_the_arrivals_of_the_trace() {
    let server = ByteServer::start(|_| Reply::Keep(usual().into()));
    let mut arrivals = [0u64, 10, 10, 40].into_iter();
    let source = move || {
        let mut session = LoadSession::single(Bytes::from_static(b"{}"), None, None);
        session.arrival = Some(Duration::from_millis(arrivals.next()?));
        Some(session)
    };
    let pace = Pace::Replay { stretch: 0.5, max_concurrency: None };
    let mut plan = plan(&server, pace, 0);
    plan.limits.requests = None;
    let (_, records) = go(&plan, Box::new(source));
    let scheduled: Vec<i64> = records.iter().map(|record| record.scheduled_ns).collect();
    assert_eq!(scheduled, [0, 5_000_000, 5_000_000, 20_000_000]);
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let server = ByteServer::start(|_| Reply::Silence);
    let refused = |plan: &LoadPlan| {
        let mut sink = |_: RequestRecord| {};
        run(plan, singles(), &mut sink, &UnwatchedLoad).unwrap_err().to_string()
    };
    assert!(refused(&plan(&server, closed(0), 1)).contains("concurrency"));
    assert!(refused(&LoadPlan { share: (2, 2), ..plan(&server, closed(1), 1) }).contains("share"));
    let mut bad = plan(&server, closed(1), 1);
    bad.target.headers.push(("a b".into(), "c".into()));
    assert!(refused(&bad).contains("header a b"));
    bad.target.url = "nowhere".into();
    assert!(refused(&bad).contains("http://"));
}
