//! Runs in progress.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use crate::common::Site;

fn begin(root: &std::path::Path) {
    std::fs::create_dir_all(root.join("now/raw/measure")).unwrap();
    let plan = r#"{"steps":[{"name":"measure","kind":"process","purpose":"headline numbers"},
        {"name":"torch_profiler","kind":"process","purpose":"a trace"},{"name":"static","kind":"in_process"}]}"#;
    std::fs::write(root.join("now/plan.json"), plan).unwrap();
    std::fs::write(
        root.join("now/raw/measure/events.jsonl"),
        "{\"event\":\"hello\",\"runtime\":\"pytorch\"}\n",
    )
    .unwrap();
}

fn follow(site: &Site) -> BufReader<TcpStream> {
    let id = site.run_address("now").trim_start_matches("/live/").to_owned();
    let mut stream = site.connect();
    write!(stream, "GET /live/{id}/events HTTP/1.1\r\nHost: {}\r\n\r\n", site.host()).unwrap();
    BufReader::new(stream)
}

fn until(events: &mut BufReader<TcpStream>, words: &str) -> String {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(events.read_line(&mut line).unwrap() > 0, "it ended before {words}: {seen}");
        seen.push_str(&line);
        if line.contains(words) {
            return seen;
        }
    }
}

#[test]
fn a_run_is_followed_step_by_step_to_its_end() {
    let site = Site::new(begin);
    let run = site.root().join("now");
    let page = site.get(&site.run_address("now"));
    assert!(
        page.body.contains("pytorch started") && page.body.contains("data-events=\"/live/"),
        "{}",
        page.body
    );
    assert!(site.get("/live").body.contains(">now</a>") && site.get("/").body.contains("running"));
    let mut events = follow(&site);
    let head = until(&mut events, "Step 1 of 2: measure.");
    assert!(head.contains("text/event-stream"), "{head}");
    let mut file =
        std::fs::OpenOptions::new().append(true).open(run.join("raw/measure/events.jsonl")).unwrap();
    for line in [
        r#"{"event":"batch_end","round":3,"batch":0,"output_tokens":640}"#,
        r#"{"event":"round_end","round":3,"kind":"measured","dur_ns":1500000000}"#,
    ] {
        writeln!(file, "{line}").unwrap();
    }
    until(&mut events, "1.50 s");
    assert!(site.get("/metrics").body.contains("rooflens_serve_live_subscribers 1"));
    std::fs::write(run.join("raw/measure/manifest.json"), r#"{"end":"done","duration_ns":2500000000}"#)
        .unwrap();
    until(&mut events, "2.50 s");
    std::fs::create_dir_all(run.join("raw/torch_profiler")).unwrap();
    until(&mut events, "Step 2 of 2: torch_profiler.");
    std::fs::write(run.join("raw/torch_profiler/manifest.json"), r#"{"end":"failed","duration_ns":1}"#)
        .unwrap();
    until(&mut events, "failed");
    std::fs::create_dir_all(run.join("report")).unwrap();
    std::fs::write(run.join("report/metrics.json"), "{}").unwrap();
    until(&mut events, "The run has ended.");
    until(&mut events, "event: end");
}

#[test]
fn a_load_test_is_followed() {
    let site = Site::new(|root| {
        std::fs::create_dir_all(root.join("now/report")).unwrap();
        let line = r#"{"offered":"16 users","of":400,"elapsed_ns":1000000000,"sent":30,"in_flight":16,"completed":14,"failed":0,"chunks":900}"#;
        std::fs::write(root.join("now/report/progress.jsonl"), format!("{line}\n")).unwrap();
    });
    let mut events = follow(&site);
    let seen = until(&mut events, "900");
    assert!(seen.contains("Load test: 16 users."), "{seen}");
}

#[test]
fn only_so_many_follow_and_all_are_let_go_at_the_end() {
    let site = Site::with(begin, |settings| settings.limits.subscribers = 2);
    let mut first = follow(&site);
    until(&mut first, "measure");
    let mut second = follow(&site);
    until(&mut second, "measure");
    let mut third = String::new();
    follow(&site).read_line(&mut third).unwrap();
    assert!(third.starts_with("HTTP/1.1 503"), "{third}");
    drop(second);
    crate::common::wait_for("a free place", || {
        site.get("/metrics").body.contains("rooflens_serve_live_subscribers 1\n").then_some(())
    });
    let Site { dashboard, folder } = site;
    let address = dashboard.address();
    drop(dashboard);
    // The stream has ended, and nobody listens any more.
    std::io::copy(&mut first, &mut std::io::sink()).unwrap();
    assert!(TcpStream::connect(address).is_err());
    drop(folder);
}
