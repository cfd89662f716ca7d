//! What strangers try: all of it is refused, and the server still serves.

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::Duration;

use crate::common::{Site, read_answer};
use crate::runs_made::{HOSTILE, row_run, trace_run};

const SECRET: &str = "nobody-may-read-this";

#[test]
fn no_path_leads_out_of_the_folder() {
    let site = Site::new(|root| {
        row_run(&root.join("one"), "a", 1e6, 0);
        std::fs::write(root.join("../secret.txt"), SECRET).unwrap();
        std::fs::write(root.join("one/notes.txt"), SECRET).unwrap();
    });
    let outside = site.folder.path().join("secret.txt").display().to_string();
    let encoded: String = outside.bytes().map(|byte| format!("%{byte:02x}")).collect();
    for path in [
        "/../secret.txt",
        "/runs/../secret.txt",
        "/runs/..%2f..%2fsecret.txt",
        "/runs/%2e%2e/%2e%2e/secret.txt",
        "/runs/one",
        "/runs/one/notes.txt",
        "/live/..%2f..%2fsecret.txt/events",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/%00",
        "/runs/%00",
        "/runs/%ff%fe",
        "//etc/passwd",
        "/etc/passwd",
        "/compare?run=../../secret.txt&run=one",
        "/queries/..%2f..%2fsecret",
        &outside,
        &format!("/runs/{encoded}"),
        &format!("/compare?run={encoded}&run={encoded}"),
    ] {
        let answer = site.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.head);
        assert!(!answer.body.contains(SECRET) && !answer.body.contains("root:"), "{path}");
    }
    site.check();
}

#[test]
fn links_out_of_the_folder_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    row_run(&outside.path().join("hidden-run"), SECRET, 1e6, 0);
    trace_run(&outside.path().join("hidden-trace"), SECRET);
    std::fs::write(
        outside.path().join("events.jsonl"),
        format!("{{\"event\":\"working\",\"what\":\"{SECRET}\"}}\n"),
    )
    .unwrap();
    let site = Site::new(|root| {
        // A run, its tables, its numbers, one table, and what a run in progress writes.
        symlink(outside.path().join("hidden-run"), root.join("linked-run")).unwrap();
        std::fs::create_dir(root.join("linked-tables")).unwrap();
        symlink(outside.path().join("hidden-run/tables"), root.join("linked-tables/tables")).unwrap();
        row_run(&root.join("linked-numbers"), "a", 1e6, 0);
        symlink(
            outside.path().join("hidden-trace/report/metrics.json"),
            root.join("linked-numbers/report/metrics.json"),
        )
        .unwrap();
        trace_run(&root.join("linked-kernels"), "own_kernel");
        std::fs::remove_file(root.join("linked-kernels/tables/kernels.parquet")).unwrap();
        symlink(
            outside.path().join("hidden-trace/tables/kernels.parquet"),
            root.join("linked-kernels/tables/kernels.parquet"),
        )
        .unwrap();
        std::fs::create_dir_all(root.join("linked-live/raw/measure")).unwrap();
        let plan = r#"{"steps":[{"name":"measure","kind":"process"},{"name":"../../up","kind":"process"}]}"#;
        std::fs::write(root.join("linked-live/plan.json"), plan).unwrap();
        symlink(outside.path().join("events.jsonl"), root.join("linked-live/raw/measure/events.jsonl"))
            .unwrap();
        // One that leads to a folder of its own is no harm, and no second run.
        row_run(&root.join("own"), "b", 1e6, 1);
        symlink(root.join("own"), root.join("latest")).unwrap();
        symlink(root, root.join("own/loop")).unwrap();
    });
    let list = site.get("/").body;
    for name in ["linked-run", "linked-tables", "latest"] {
        assert!(!list.contains(&format!("\">{name}</a>")), "{name}: {list}");
    }
    assert!(!list.contains(SECRET));
    for name in ["linked-numbers", "linked-kernels", "linked-live"] {
        let answer = site.get(&site.run_address(name));
        assert_eq!(answer.status, 403, "{name}: {}", answer.body);
        assert!(!answer.body.contains(SECRET), "{name}");
    }
    let id = |name: &str| site.run_address(name).rsplit('/').next().unwrap().to_owned();
    let compared = site.get(&format!("/compare?run={}&run={}", id("own"), id("linked-kernels")));
    assert!(compared.status == 403 && !compared.body.contains(SECRET));
    assert_eq!(site.get(&format!("/live/{}/events", id("linked-live"))).status, 403);
    assert_eq!(site.get(&site.run_address("own")).status, 200);
    site.check();
}

#[test]
fn names_are_never_markup() {
    let site = Site::new(|root| {
        // A folder cannot have a slash in its name.
        let name = HOSTILE.replace('/', "_");
        trace_run(&root.join(&name), HOSTILE);
        row_run(&root.join("row"), HOSTILE, 1e6, 0);
        std::fs::create_dir_all(root.join("live/raw/measure")).unwrap();
        let text = serde_json::to_string(HOSTILE).unwrap();
        let plan =
            format!("{{\"steps\":[{{\"name\":\"measure\",\"kind\":\"process\",\"purpose\":{text}}}]}}");
        std::fs::write(root.join("live/plan.json"), plan).unwrap();
        let event = format!("{{\"event\":\"working\",\"what\":{text}}}\n");
        std::fs::write(root.join("live/raw/measure/events.jsonl"), event).unwrap();
    });
    let list = site.get("/").body;
    let ids: Vec<&str> = list.split("name=\"run\" value=\"").skip(1).map(|rest| &rest[..16]).collect();
    assert_eq!(ids.len(), 3);
    let word: String = url_encoded(HOSTILE);
    let mut pages: Vec<String> = ids.iter().map(|id| format!("/runs/{id}")).collect();
    pages.push(format!("/compare?run={}&run={}", ids[0], ids[1]));
    pages.extend(ids.iter().map(|id| format!("/live/{id}")));
    for parameter in ["q", "model", "sort", "page", "label"] {
        pages.push(format!("/?{parameter}={word}"));
        pages.push(format!("/trend?metric=tpot_p50_ns&{parameter}={word}"));
    }
    pages.extend(["/".to_owned(), "/trend".to_owned(), "/live".to_owned()]);
    pages.extend([
        format!("/queries/{word}"),
        format!("/queries/top-kernels?go=1&kernel={word}"),
        format!("/{word}"),
    ]);
    for path in &pages {
        let body = site.get(path).body;
        assert!(!body.is_empty(), "{path}");
        for mark in ["<img", "onerror=alert(1)>\"", "<script>alert"] {
            assert!(!body.contains(mark), "{path}: {mark}");
        }
    }
    let told = site.post("/sql", &format!("sql={word}")).body;
    assert!(told.contains("&lt;img") && !told.contains("<img"));
    let login = site.post("/login", &format!("token={word}")).body;
    assert!(!login.contains("<img"));
    site.check();
}

fn url_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn pages_of_strangers_cannot_act() {
    let site = Site::new(|root| row_run(&root.join("secret-run"), "a", 1e6, 0));
    let own = format!("http://{}", site.host());
    let form = "sql=SELECT+1";
    assert_eq!(site.post("/sql", form).status, 200);
    for lines in [
        &[("Origin", "http://evil.example")][..],
        &[("Origin", "null")],
        &[("Origin", "http://localhost:3000")],
        &[],
        &[("Origin", &own), ("Sec-Fetch-Site", "cross-site")],
        &[("Origin", &own), ("Sec-Fetch-Site", "same-site")],
    ] {
        assert_eq!(site.ask("POST", "/sql", lines, form).status, 403, "{lines:?}");
    }
    // A page elsewhere may link here, and nothing else.
    let link =
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    assert_eq!(site.ask("GET", "/", &link, "").status, 200);
    for dest in ["iframe", "image", "script", "empty"] {
        let lines =
            [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", dest)];
        let answer = site.ask("GET", "/", &lines, "");
        assert!(answer.status == 403 && !answer.body.contains("secret-run"), "{dest}");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let answer = site.ask(method, "/", &[("Origin", &own)], "");
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    site.check();
}

#[test]
fn statements_that_are_no_query_are_refused() {
    let site = Site::new(|_| {});
    for sql in [
        "COPY runs TO 'x.parquet'",
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'",
        "INSERT INTO runs VALUES (1)",
        "DROP TABLE runs",
        "SET datafusion.execution.batch_size = 1",
        "EXPLAIN ANALYZE SELECT 1",
        "",
    ] {
        let answer = site.post("/sql", &format!("sql={}", url_encoded(sql)));
        assert_eq!(answer.status, 422, "{sql}");
    }
    site.check();
}

#[test]
fn who_sends_slowly_is_cut_off() {
    let site = Site::with(
        |root| row_run(&root.join("one"), "a", 1e6, 0),
        |settings| {
            settings.limits.header_time = Duration::from_millis(200);
            settings.limits.request_time = Duration::from_millis(400);
            settings.limits.connections = 64;
        },
    );
    let begun = format!("GET / HTTP/1.1\r\nHost: {}\r\nX-Slow: ", site.host());
    let mut slow: Vec<_> = (0..40).map(|_| site.connect()).collect();
    slow.iter_mut().for_each(|stream| stream.write_all(begun.as_bytes()).unwrap());
    // Others are answered meanwhile.
    site.check();
    for mut stream in slow {
        let mut rest = Vec::new();
        // Ends, with an answer or without one.
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    }
    // Nobody says anything at all, or only half of a body.
    let mut silent = site.connect();
    let _ = silent.read_to_end(&mut Vec::new());
    let mut half = site.connect();
    let kind = "Content-Type: application/x-www-form-urlencoded";
    let head = format!(
        "POST /sql HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n{kind}\r\nContent-Length: 100\r\n\r\nsql=",
        site.host()
    );
    half.write_all(head.as_bytes()).unwrap();
    let answer = read_answer(half);
    assert_eq!(answer.status, 408, "{}", answer.head);
    site.check();
}

#[test]
fn who_never_reads_is_cut_off() {
    let site = Site::with(
        |root| {
            (0..50).for_each(|number| {
                row_run(&root.join(format!("run-{number}")), &"m".repeat(300), 1e6, number)
            })
        },
        |settings| settings.limits.write_time = Duration::from_millis(200),
    );
    let mut greedy = site.connect();
    let one = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", site.host());
    // More answers than all buffers hold; none is read.
    let sent = greedy
        .set_write_timeout(Some(Duration::from_secs(1)))
        .and_then(|()| greedy.write_all(one.repeat(400).as_bytes()));
    drop(sent);
    crate::common::wait_for("the end of the connection", || {
        site.get("/metrics").body.contains("rooflens_serve_open_connections 1\n").then_some(())
    });
    site.check();
}

#[test]
fn what_is_too_large_is_refused() {
    let site = Site::new(|_| {});
    let body = format!("sql={}", "x".repeat(70_000));
    assert_eq!(site.post("/sql", &body).status, 413);
    // A body whose length nobody says.
    let head = format!(
        "POST /sql HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        site.host()
    );
    let chunk = format!("{:x}\r\n{}\r\n", 60_000, "x".repeat(60_000));
    assert_eq!(site.send(format!("{head}{chunk}{chunk}0\r\n\r\n").as_bytes()).status, 413);
    // Bodies of requests that take none are not read.
    let large = format!(
        "GET / HTTP/1.1\r\nHost: {}\r\nContent-Length: 100000000000\r\nConnection: close\r\n\r\n",
        site.host()
    );
    assert_eq!(site.send(large.as_bytes()).status, 413);
    let long = "x".repeat(40_000);
    for request in [
        format!("GET /?q={long} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", site.host()),
        format!("GET / HTTP/1.1\r\nHost: {}\r\nX-Long: {long}\r\n\r\n", site.host()),
        format!("GET / HTTP/1.1\r\nHost: {}\r\n{}\r\n", site.host(), "X-Many: 1\r\n".repeat(200)),
    ] {
        let answer = site.send(request.as_bytes());
        assert!([0, 400, 414, 431].contains(&answer.status), "{}", answer.head);
    }
    for garbage in [
        &b"\x00\x01\x02\r\n\r\n"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        let mut stream = site.connect();
        let _ = stream.write_all(garbage);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert_ne!(read_answer(stream).status, 200);
    }
    site.check();
}
