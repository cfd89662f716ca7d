//! Workers with the real engine, against a server that keeps what it was sent.

use std::sync::{Arc, Mutex};

use super::*;
use crate::engine::run as run_engine;
use crate::plan::Body;
use crate::test_server::{ByteServer, Reply};

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 120\r\n\r\n\
    data: {\"choices\":[{\"text\":\"a\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

fn expected(job: &LoadJob, count: usize) -> Vec<String> {
    let mut source = crate::workload::open(&job.workload).unwrap().source;
    let body = |body: Body| match body {
        Body::Ready(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::FromReplies(_) => panic!("no conversation was asked for"),
    };
    let sessions = std::iter::from_fn(|| source.next()).take(count);
    sessions.flat_map(|session| session.turns).map(|turn| body(turn.body)).collect()
}

#[test]
fn workers_send_every_request_once() {
    let bodies = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&bodies);
    let server = ByteServer::start(move |asked| {
        kept.lock().unwrap().push(String::from_utf8(asked.body.clone()).unwrap());
        Reply::Keep(ANSWER.into())
    });
    let closed = Pace::Closed { concurrency: 7, ramp: Duration::ZERO };
    for pace in [job(1).plan.pace, closed] {
        let mut job = job(200);
        job.plan.target.url = server.url();
        job.plan.pace = pace;
        with_workers(&[&run_engine, &run_engine, &run_engine], |addresses| {
            let (outcome, records) = run(addresses, &job);
            let outcome = outcome.unwrap();
            assert_eq!((outcome.load.requests, outcome.load.not_sent, lost(&outcome).len()), (200, 0, 0));
            let numbers: Vec<u64> = records.iter().map(|record| record.number).collect();
            assert_eq!(numbers, (0..200).collect::<Vec<_>>());
            assert!(records.iter().all(|record| record.status == RequestStatus::Completed));
            assert!(records.iter().all(|record| record.chunks.len() == 1));
        });
        let mut sent = std::mem::take(&mut *bodies.lock().unwrap());
        let mut expected = expected(&job, 200);
        sent.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sent, expected);
    }
}
