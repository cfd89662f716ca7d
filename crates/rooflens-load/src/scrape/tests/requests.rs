use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crate::scrape::{
    HttpError, PlainClient, PlainUrl, ScrapeSettings, Scraper, ServerCounter, ServerKind, ServerSummary,
};

/// Answers each connection by what is given for its number, path and body, until it gives nothing.
fn serve(mut answer: impl FnMut(usize, &str, &str) -> Option<Vec<u8>> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for (number, socket) in listener.incoming().enumerate() {
            let mut socket = BufReader::new(socket.unwrap());
            let (mut first, mut length) = (String::new(), 0);
            socket.read_line(&mut first).unwrap();
            loop {
                let mut line = String::new();
                socket.read_line(&mut line).unwrap();
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.trim().parse().unwrap();
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            socket.read_exact(&mut body).unwrap();
            let path = first.split(' ').nth(1).unwrap().to_owned();
            match answer(number, &path, &String::from_utf8(body).unwrap()) {
                Some(bytes) => socket.get_mut().write_all(&bytes).unwrap(),
                None => return,
            }
        }
    });
    address
}

fn get(response: &'static str) -> Result<(u16, String), HttpError> {
    let address = serve(move |_, _, _| Some(response.as_bytes().to_vec()));
    let url = PlainUrl::parse(&format!("http://{address}/metrics")).unwrap();
    PlainClient::default().get(&url).map(|answer| (answer.status, answer.text()))
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
    let address = serve(|_, _, _| {
        let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        endless.resize(33 * 1024 * 1024, b'x');
        Some(endless)
    });
    let url = PlainUrl::parse(&format!("http://{address}/")).unwrap();
    assert!(matches!(PlainClient::default().get(&url), Err(HttpError::TooLarge)));
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(300_000));
    let address = serve(move |_, _, _| Some(head.clone().into_bytes()));
    let url = PlainUrl::parse(&format!("http://{address}/")).unwrap();
    assert!(matches!(PlainClient::default().get(&url), Err(HttpError::Protocol(_))));
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
    let address = serve(|_, path, body| Some(format!("HTTP/1.1 200 OK\r\n\r\n{path} {body}").into_bytes()));
    let client = PlainClient {
        headers: vec![
            ("x".to_owned(), "1\r\ncontent-length: 9".to_owned()),
            ("authorization".to_owned(), "secret".to_owned()),
        ],
        ..PlainClient::default()
    };
    let url = PlainUrl::parse(&format!("http://{address}/start")).unwrap();
    assert_eq!(client.post(&url, Some("{}")).unwrap().text(), "/start {}");
    assert_eq!(client.post(&url, None).unwrap().text(), "/start ");
    assert!(!format!("{client:?}").contains("secret"));
}

fn metrics(tokens: usize) -> Option<Vec<u8>> {
    let page = format!("vllm:generation_tokens_total {tokens}\nvllm:num_requests_running 1\n");
    Some(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len()).into_bytes())
}

#[test]
fn the_last_page_is_read_when_counters_no_longer_grow() {
    // The first page, the version, then pages that grow up to 40.
    let address = serve(|number, path, _| match path {
        "/version" => Some(b"HTTP/1.1 200 OK\r\n\r\n{\"version\":\"0.32.0\"}".to_vec()),
        _ => metrics((number * 10).min(40)),
    });
    let mut settings = ScrapeSettings::new(format!("http://{address}/metrics"));
    settings.interval = Duration::from_secs(3600);
    settings.settle = Duration::from_secs(3600);
    let scraper = Scraper::start(settings).unwrap();
    assert_eq!(scraper.latest().unwrap().counter(ServerCounter::GeneratedTokens), Some(0.0));
    let series = scraper.stop();
    assert_eq!((series.kind, series.version.as_deref()), (Some(ServerKind::Vllm), Some("0.32.0")));
    // Pages 0, then 2 to 5: the fourth and the fifth say 40.
    assert_eq!(series.pages, 5);
    assert_eq!(series.grown(ServerCounter::GeneratedTokens), Ok(40.0));
    assert!(series.samples.windows(2).all(|two| two[0].ts_ns <= two[1].ts_ns));
    assert_eq!(ServerSummary::of(&series).generated_tokens, Some(40.0));
}

#[test]
fn failures_are_counted_and_told_once() {
    let address = serve(|number, _, _| match number {
        0 | 2 => Some(b"HTTP/1.1 500 x\r\n\r\n".to_vec()),
        1 => Some(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec()),
        _ => metrics(7),
    });
    let mut settings = ScrapeSettings::new(format!("http://{address}/metrics"));
    settings.interval = Duration::from_secs(3600);
    settings.settle = Duration::from_secs(3600);
    let series = Scraper::start(settings).unwrap().stop();
    assert_eq!((series.failed_pages, series.pages), (3, 2));
    assert_eq!(series.errors.len(), 2, "{:?}", series.errors);
    assert!(series.errors[0].ends_with("answers 500"), "{:?}", series.errors);
}

#[test]
fn pages_are_read_in_the_background() {
    let (told, heard) = std::sync::mpsc::channel();
    let address = serve(move |number, path, _| {
        if path == "/version" {
            return Some(b"HTTP/1.1 404 x\r\n\r\n".to_vec());
        }
        let _ = told.send(());
        metrics(number)
    });
    let mut settings = ScrapeSettings::new(format!("http://{address}/metrics"));
    settings.interval = Duration::from_millis(1);
    settings.settle = Duration::ZERO;
    let scraper = Scraper::start(settings).unwrap();
    for _ in 0..4 {
        heard.recv().unwrap();
    }
    let series = scraper.stop();
    assert!(series.pages >= 4, "{}", series.pages);
    assert_eq!(series.version, None);
}

#[test]
fn the_page_of_trtllm_serve_is_found_behind_one_of_json() {
    let address = serve(|_, path, _| {
        let page = if path == "/metrics" { "[{\"iter\": 1}]" } else { "trtllm_num_requests_running 1\n" };
        Some(format!("HTTP/1.1 200 OK\r\n\r\n{page}").into_bytes())
    });
    let kind = |address: SocketAddr| {
        let urls = ScrapeSettings::candidates(&format!("http://{address}"));
        let found =
            Scraper::start_at_first(&urls, &PlainClient::default(), Duration::from_secs(60), |_, _| ());
        found.and_then(|scraper| scraper.stop().kind)
    };
    assert_eq!(kind(address), Some(ServerKind::TensorrtLlm));
    let nothing = serve(|_, _, _| Some(b"HTTP/1.1 404 x\r\n\r\n".to_vec()));
    assert_eq!(kind(nothing), None);
}

#[test]
fn pages_of_a_server_stand_beside_its_api() {
    assert_eq!(
        ScrapeSettings::candidates("http://h:1/v1/"),
        ["http://h:1/metrics", "http://h:1/prometheus/metrics"]
    );
}
