use std::net::TcpListener;
use std::time::Duration;

use crate::scrape::{HttpError, PlainClient, PlainUrl, Scraper, ServerCounter, ServerKind, ServerSummary};
use crate::test_server::{Asked, ByteServer, Reply};

fn serve(answer: impl Fn(&Asked) -> Vec<u8> + Send + Sync + 'static) -> ByteServer {
    ByteServer::start(move |asked| Reply::Close(answer(asked)))
}

fn url(server: &ByteServer) -> PlainUrl {
    PlainUrl::parse(&format!("{}/metrics", server.url())).unwrap()
}

/// Reads the first page, and the last when the counters no longer grow.
fn start(server: &ByteServer) -> Scraper {
    let (url, hour) = (format!("{}/metrics", server.url()), Duration::from_secs(3600));
    Scraper::start(&url, PlainClient::default(), hour, hour).unwrap()
}

fn get(response: &'static str) -> Result<(u16, String), HttpError> {
    let server = serve(move |_| response.into());
    PlainClient::default().get(&url(&server)).map(|answer| (answer.status, answer.text()))
}

#[test]
fn addresses_are_taken_apart() {
    let parts = |url: &str| {
        let url = PlainUrl::parse(url).unwrap();
        (url.is_tls, url.host, url.port, url.path)
    };
    assert_eq!(parts("http://a"), (false, "a".to_owned(), 80, "/".to_owned()));
    assert_eq!(parts("https://a.b/x?y=1#z"), (true, "a.b".to_owned(), 443, "/x?y=1".to_owned()));
    assert_eq!(parts("http://[::1]:8000/metrics"), (false, "::1".to_owned(), 8000, "/metrics".to_owned()));
    assert_eq!(parts("http://a:1?q"), (false, "a".to_owned(), 1, "/?q".to_owned()));
    for url in [
        "a:80",
        "ftp://a",
        "http://",
        "http://a:b",
        "http://a:99999",
        "http://u@a",
        "http://[::1",
        "http://a/ b",
    ] {
        assert!(matches!(PlainUrl::parse(url), Err(HttpError::Address { .. })), "{url}");
    }
    let error = PlainUrl::parse("http://user:secret@a/x").unwrap_err().to_string();
    assert!(!error.contains("secret") && error.contains("a/x"), "{error}");
}

#[test]
fn bodies_come_by_length_in_chunks_or_until_the_end() {
    let known = get("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloX").unwrap();
    assert_eq!(known, (200, "hello".to_owned()));
    let chunked = get(
        "HTTP/1.1 503 x\r\ntransfer-encoding: chunked\r\n\r\n3;ext\r\nhel\r\n2\r\nlo\r\n0\r\nt: 1\r\n\r\n",
    )
    .unwrap();
    assert_eq!(chunked, (503, "hello".to_owned()));
    assert_eq!(get("HTTP/1.0 200 OK\r\n\r\nhello").unwrap(), (200, "hello".to_owned()));
    let continued = get("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n").unwrap();
    assert_eq!(continued, (204, String::new()));
}

#[test]
fn broken_answers_are_errors() {
    for broken in [
        "",
        "SSH-2.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabc\r\n",
    ] {
        assert!(matches!(get(broken), Err(HttpError::Protocol(_))), "{broken}");
    }
    assert!(matches!(
        get("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n"),
        Err(HttpError::TooLarge)
    ));
    // A port that nobody listens on.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = PlainUrl::parse(&format!("http://{free}/")).unwrap();
    assert!(matches!(PlainClient::default().get(&url), Err(HttpError::Io(_))));
}

#[test]
fn redirects_are_answers() {
    let moved =
        get("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n").unwrap();
    assert_eq!(moved, (302, String::new()));
}

#[test]
fn large_answers_are_refused() {
    let endless = serve(|_| {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        bytes.resize(33 * 1024 * 1024, b'x');
        bytes
    });
    assert!(matches!(PlainClient::default().get(&url(&endless)), Err(HttpError::TooLarge)));
    let head = serve(|_| format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(300_000)).into());
    assert!(matches!(PlainClient::default().get(&url(&head)), Err(HttpError::Protocol(_))));
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = PlainUrl::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let client = PlainClient { timeout: Duration::from_millis(50), ..PlainClient::default() };
    assert!(matches!(client.get(&url), Err(HttpError::Timeout(_))));
}

#[test]
fn headers_are_sent_but_never_as_two_lines() {
    let server = serve(|asked| format!("HTTP/1.1 200 OK\r\n\r\n{}", asked.head).into());
    let client = PlainClient {
        headers: vec![
            ("x".to_owned(), "1\r\ncontent-length: 9".to_owned()),
            ("authorization".to_owned(), "secret".to_owned()),
        ],
        ..PlainClient::default()
    };
    let sent = client.post(&url(&server)).unwrap().text();
    assert!(
        sent.starts_with("POST /metrics HTTP/1.1\r\n") && sent.contains("authorization: secret"),
        "{sent}"
    );
    assert!(!sent.contains("x: "), "{sent}");
    assert!(!format!("{client:?}").contains("secret"));
}

fn metrics(tokens: usize) -> Vec<u8> {
    let page = format!("vllm:generation_tokens_total {tokens}\nvllm:num_requests_running 1\n");
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len()).into()
}

#[test]
fn the_last_page_is_read_when_counters_no_longer_grow() {
    // The first page, the version, then pages that grow up to 40.
    let server = serve(|asked| match asked.path() {
        "/version" => b"HTTP/1.1 200 OK\r\n\r\n{\"version\":\"0.32.0\"}".to_vec(),
        _ => metrics((asked.number * 10).min(40)),
    });
    let series = start(&server).stop();
    assert_eq!(series.samples[0].counter(ServerCounter::GeneratedTokens), Some(0.0));
    assert_eq!((series.kind, series.version.as_deref()), (Some(ServerKind::Vllm), Some("0.32.0")));
    // Pages 0, then 2 to 5: the fourth and the fifth say 40.
    assert_eq!(series.pages, 5);
    assert_eq!(series.grown(ServerCounter::GeneratedTokens), Ok(40.0));
    assert!(series.samples.windows(2).all(|two| two[0].ts_ns <= two[1].ts_ns));
    assert_eq!(ServerSummary::of(&series).generated_tokens, Some(40.0));
}

#[test]
fn failures_are_counted_and_told_once() {
    let server = serve(|asked| match asked.number {
        0 | 2 => b"HTTP/1.1 500 x\r\n\r\n".to_vec(),
        1 => b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec(),
        _ => metrics(7),
    });
    let series = start(&server).stop();
    assert_eq!((series.failed_pages, series.pages), (3, 2));
    assert_eq!(series.errors.len(), 2, "{:?}", series.errors);
    assert!(series.errors[0].ends_with("answers 500"), "{:?}", series.errors);
}

#[test]
fn pages_are_read_in_the_background() {
    let (told, heard) = std::sync::mpsc::channel();
    let server = serve(move |asked| {
        if asked.path() == "/version" {
            return b"HTTP/1.1 404 x\r\n\r\n".to_vec();
        }
        let _ = told.send(());
        metrics(asked.number)
    });
    let interval = Duration::from_millis(1);
    let url = format!("{}/metrics", server.url());
    let scraper = Scraper::start(&url, PlainClient::default(), interval, Duration::ZERO).unwrap();
    for _ in 0..4 {
        heard.recv().unwrap();
    }
    let series = scraper.stop();
    assert!(series.pages >= 4, "{}", series.pages);
    assert_eq!(series.version, None);
}

#[test]
fn the_page_of_trtllm_serve_is_found_behind_one_of_json() {
    let server = serve(|asked| {
        let page =
            if asked.path() == "/metrics" { "[{\"iter\": 1}]" } else { "trtllm_num_requests_running 1\n" };
        format!("HTTP/1.1 200 OK\r\n\r\n{page}").into()
    });
    let kind = |server: &ByteServer| {
        let urls = Scraper::candidates(&server.url());
        let found =
            Scraper::start_at_first(&urls, &PlainClient::default(), Duration::from_secs(60), |_, _| ());
        found.and_then(|scraper| scraper.stop().kind)
    };
    assert_eq!(kind(&server), Some(ServerKind::TensorrtLlm));
    let nothing = serve(|_| b"HTTP/1.1 404 x\r\n\r\n".to_vec());
    assert_eq!(kind(&nothing), None);
}

#[test]
fn pages_of_a_server_stand_beside_its_api() {
    assert_eq!(
        Scraper::candidates("http://h:1/v1/"),
        ["http://h:1/metrics", "http://h:1/prometheus/metrics"]
    );
}
