//! Workers with the real engine, against a server that keeps what it was sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;
use crate::plan::Body;

const ANSWER: &str = "data: {\"choices\":[{\"text\":\"a\"}]}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";

/// Bodies that arrived.
type Bodies = Arc<Mutex<Vec<String>>>;

/// A server that ends with the test program.
fn server() -> (SocketAddr, Bodies) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let bodies = Bodies::default();
    let kept = Arc::clone(&bodies);
    std::thread::spawn(move || {
        for socket in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || answer(&socket, &kept));
        }
    });
    (address, bodies)
}

/// Answers every request of a connection; `None` at its end.
fn answer(socket: &TcpStream, bodies: &Bodies) -> Option<()> {
    let mut reader = BufReader::new(socket);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim().to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        bodies.lock().unwrap().push(String::from_utf8(body).ok()?);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
            ANSWER.len()
        );
        let mut socket = socket;
        socket.write_all((head + ANSWER).as_bytes()).ok()?;
    }
}

/// What one process would send.
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
    let (address, bodies) = server();
    let closed = Pace::Closed { concurrency: 7, ramp: Duration::ZERO };
    for pace in [job(1).plan.pace, closed] {
        let mut job = job(200);
        job.plan.target.url = format!("http://{address}");
        job.plan.pace = pace;
        with_workers(&[&run_engine, &run_engine, &run_engine], |addresses| {
            let (outcome, records) = run(addresses, &job);
            let outcome = outcome.unwrap();
            assert_eq!((outcome.load.requests, outcome.load.not_sent, outcome.lost().count()), (200, 0, 0));
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
