//! The server as a client sees it, read from the socket by hand.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use clap::Parser as _;
use rooflens_mock::journal::ServerLog;
use rooflens_mock::options::MockOptions;
use rooflens_mock::server::MockServer;
use serde_json::{Value, json};

fn start(options: &[&str]) -> MockServer {
    let words = ["mock", "--flat-out", "--log", "unused"].iter().chain(options);
    MockServer::start(MockOptions::try_parse_from(words).unwrap()).unwrap()
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

fn send(stream: &mut TcpStream, path: &str, body: &Value) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
}

fn ask(address: SocketAddr, path: &str, body: &Value) -> (String, Vec<u8>) {
    let mut stream = connect(address);
    send(&mut stream, path, body);
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    split(&bytes)
}

fn split(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
    let mut rest = &bytes[end + 4..];
    if !head.contains("transfer-encoding: chunked") {
        return (head, rest.to_vec());
    }
    let mut body = Vec::new();
    while let Some(line) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 4 + size..];
    }
    (head, body)
}

fn request(tokens: u64) -> Value {
    json!({"prompt": "one two three", "max_tokens": tokens, "stream": true, "stream_options": {"include_usage": true}})
}

fn events(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(text: &str) -> usize {
    let texts = events(text);
    let texts = texts.iter().filter_map(|event| event["choices"][0]["text"].as_str());
    texts.map(|text| text.split_whitespace().count()).sum()
}

fn only(log: &ServerLog) -> &rooflens_mock::journal::ServedRequest {
    assert_eq!(log.requests.len(), 1);
    &log.requests[0]
}

#[test]
fn framing_does_not_change_what_is_said() {
    let modes: [&[&str]; 8] = [
        &[],
        &["--crlf"],
        &["--comments"],
        &["--byte-frames"],
        &["--split-utf8"],
        &["--empty-deltas"],
        &["--tokens-per-chunk", "4"],
        &["--usage", "continuous"],
    ];
    for mode in modes {
        let server = start(mode);
        let (head, body) = ask(server.address, "/v1/completions", &request(10));
        let text = String::from_utf8(body).unwrap();
        assert!(head.starts_with("http/1.1 200") && head.contains("text/event-stream"), "{mode:?}: {head}");
        assert_eq!(words(&text), 10, "{mode:?}: {text}");
        let last = events(&text).pop().unwrap();
        assert_eq!(last["usage"]["completion_tokens"], 10, "{mode:?}");
        assert_eq!(last["usage"]["prompt_tokens"], 3, "{mode:?}");
        let log = server.stop();
        let served = only(&log);
        assert_eq!((served.output_tokens, served.prompt_tokens, served.complete), (10, 3, true), "{mode:?}");
        assert_eq!(served.writes_ns.len(), served.write_tokens.len());
        assert_eq!(served.write_tokens.iter().sum::<u32>(), 10, "{mode:?}");
        assert!(served.writes_ns.windows(2).all(|pair| pair[0] <= pair[1]));
        assert!(served.arrival_ns <= served.writes_ns[0]);
    }
}

#[test]
fn gzip_is_the_same_text() {
    let server = start(&["--gzip"]);
    let (head, body) = ask(server.address, "/v1/completions", &request(10));
    assert!(head.contains("content-encoding: gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
    assert_eq!(words(&text), 10);
    assert_eq!(only(&server.stop()).output_tokens, 10);
}

#[test]
fn documents_of_every_api() {
    let server = start(&["--threads", "2"]);
    let parsed = |path: &str, body: Value| -> Value {
        let (head, body) = ask(server.address, path, &body);
        assert!(head.starts_with("http/1.1 200") && head.contains("application/json"), "{head}");
        serde_json::from_slice(&body).unwrap()
    };
    let completion = parsed("/v1/completions", json!({"prompt": [1, 2, 3, 4], "max_tokens": 5}));
    assert_eq!(completion["usage"]["total_tokens"], 9);
    let chat = parsed("/v1/chat/completions", json!({"messages": [{"role": "user", "content": "a b"}]}));
    assert_eq!(chat["usage"]["completion_tokens"], 16);
    let response = parsed("/v1/responses", json!({"input": "a b c", "max_output_tokens": 2}));
    assert_eq!(response["usage"]["output_tokens"], 2);
    let vectors = parsed("/v1/embeddings", json!({"input": ["a b", "c"]}));
    assert_eq!(
        (vectors["data"].as_array().unwrap().len(), &vectors["usage"]["prompt_tokens"]),
        (2, &json!(3))
    );
    let ranks = parsed("/v1/rerank", json!({"query": "q", "documents": ["a b", "c"]}));
    assert_eq!(
        (ranks["results"].as_array().unwrap().len(), &ranks["usage"]["prompt_tokens"]),
        (2, &json!(5))
    );
    let (head, _) = ask(server.address, "/start_profile", &json!({}));
    assert!(head.starts_with("http/1.1 200"));
    let (head, _) = ask(server.address, "/v1/nothing", &json!({}));
    assert!(head.starts_with("http/1.1 404"));
    let (head, _) = ask(server.address, "/v1/completions", &json!({"prompt": {"text": 1.5}}));
    assert!(head.starts_with("http/1.1 400"), "{head}");
    let totals = server.stop().totals;
    assert_eq!((totals.requests, totals.complete, totals.output_tokens), (6, 5, 23));
    assert_eq!((totals.profiles_started, totals.profiles_stopped), (1, 0));
}

#[test]
fn faults_are_what_they_are_called() {
    let with = |kind: &str| {
        let server = start(&["--fail", &format!("{kind}:1")]);
        let (head, body) = ask(server.address, "/v1/completions", &request(10));
        let log = server.stop();
        assert_eq!(log.totals.faults.get(kind), Some(&1));
        assert!(!only(&log).complete || kind == "goaway");
        (head, String::from_utf8(body).unwrap(), only(&log).output_tokens)
    };
    let (head, _, tokens) = with("refuse429");
    assert!(head.starts_with("http/1.1 429") && head.contains("retry-after: 1"));
    assert_eq!(tokens, 0);
    assert!(with("error500").0.starts_with("http/1.1 500"));
    assert!(with("wrong_type").0.contains("content-type: text/html"));
    let (head, text, tokens) = with("cut");
    assert!(head.starts_with("http/1.1 200") && !text.contains("[DONE]") && !text.contains("length"));
    assert_eq!((words(&text), tokens), (5, 5));
    let (_, text, tokens) = with("error_event");
    assert_eq!((words(&text), tokens), (5, 5));
    assert!(events(&text).iter().any(|event| event["error"]["code"] == 500));
    assert_eq!(with("goaway").2, 10);
}

fn broken(kind: &str, patience: Duration) -> (Vec<u8>, Option<ErrorKind>, ServerLog) {
    let server = start(&["--fail", &format!("{kind}:1")]);
    let mut stream = connect(server.address);
    stream.set_read_timeout(Some(patience)).unwrap();
    send(&mut stream, "/v1/completions", &request(10));
    let mut bytes = Vec::new();
    let error = stream.read_to_end(&mut bytes).err().map(|error| error.kind());
    (bytes, error, server.stop())
}

#[test]
fn connections_that_break() {
    let (bytes, error, log) = broken("reset", Duration::from_secs(60));
    assert_eq!(error, Some(ErrorKind::ConnectionReset));
    assert!(words(&String::from_utf8_lossy(&bytes)) <= 5);
    assert_eq!(only(&log).output_tokens, 5);
    let (bytes, error, _) = broken("close", Duration::from_secs(60));
    assert_eq!((bytes.len(), error), (0, None));
    let (bytes, error, log) = broken("hang", Duration::from_millis(100));
    assert_eq!((bytes.len(), error), (0, Some(ErrorKind::WouldBlock)));
    assert_eq!(only(&log).fault, Some("hang"));
    let (_, error, log) = broken("stall", Duration::from_millis(100));
    assert_eq!(error, Some(ErrorKind::WouldBlock));
    assert!(!only(&log).complete);
    let (_, error, log) = broken("drip", Duration::from_millis(100));
    assert_eq!(error, Some(ErrorKind::WouldBlock));
    assert_eq!(only(&log).output_tokens, 0);
}

#[test]
fn shares_of_faults_are_the_same_for_the_same_seed() {
    let counts = |seed: &str| {
        let server = start(&["--seed", seed, "--fail", "error500:0.3", "--fail", "refuse429:0.2"]);
        for _ in 0..100 {
            ask(server.address, "/v1/completions", &request(1));
        }
        server.stop().totals.faults
    };
    let first = counts("1");
    assert_eq!(first, counts("1"));
    // Binomial with n = 100: five standard deviations.
    assert!((7..=53).contains(&first["error500"]) && (1..=40).contains(&first["refuse429"]), "{first:?}");
}

#[test]
fn metrics_agree_with_the_log() {
    let server = start(&[]);
    for tokens in [3, 4] {
        ask(server.address, "/v1/completions", &request(tokens));
    }
    let mut stream = connect(server.address);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(split(&bytes).1).unwrap();
    let value = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(&format!("vllm:{name}{{"))).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(value("generation_tokens_total"), 7.0);
    assert_eq!(value("prompt_tokens_total"), 6.0);
    assert_eq!(value("request_queue_time_seconds_count"), 2.0);
    assert_eq!(value("inter_token_latency_seconds_count"), 5.0);
    assert_eq!(value("num_requests_running"), 0.0);
    let totals = server.stop().totals;
    assert_eq!((totals.output_tokens, totals.prompt_tokens), (7, 6));
}
