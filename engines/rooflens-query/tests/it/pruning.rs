//! What queries do not read.

use std::fs;

use crate::engine::{Answer, sql};
use crate::store::{TestStore, kernels, run_row};

fn store() -> TestStore {
    let store = TestStore::empty();
    for day in 1..=9 {
        let (day, run) = (format!("2026-11-0{day}"), format!("r{day}"));
        store.run("a", &day, &run, &[("runs", run_row(&run, "H100")), ("kernels", kernels(&run, 20, 2000))]);
        store.run("b", &day, &run, &[("runs", run_row(&run, "H100"))]);
    }
    store
}

fn bytes(store: &TestStore, text: &str) -> (Vec<String>, u64) {
    let answer: Answer = sql(store.path(), text);
    (answer.lines(), answer.scanned())
}

#[test]
fn counts_and_days_come_from_manifests() {
    let store = store();
    assert_eq!(bytes(&store, "SELECT count(*) FROM kernels"), (vec!["360000".to_owned()], 0));
    assert_eq!(
        bytes(&store, "SELECT count(*) FROM kernels WHERE day >= '2026-11-08'"),
        (vec!["80000".to_owned()], 0)
    );
    assert_eq!(bytes(&store, "SELECT max(day) FROM kernels"), (vec!["2026-11-09".to_owned()], 0));
}

#[test]
fn other_days_are_not_read() {
    let store = store();
    let (_, all) = bytes(&store, "SELECT sum(dur_ns) FROM kernels");
    let (lines, one) = bytes(&store, "SELECT count(dur_ns) FROM kernels WHERE day = '2026-11-03'");
    assert_eq!(lines, ["40000"]);
    assert!(one > 0 && one * 8 < all, "{one} of {all}");
    let tests = [
        "day BETWEEN '2026-11-03' AND '2026-11-03'",
        "day LIKE '%-03'",
        "day IN ('2026-11-03', '2020-01-01')",
        "tenant = 'a' AND substr(day, 9) = '03'",
        "tenant <> 'b' AND day = CAST('2026-11-03' AS VARCHAR)",
    ];
    for test in tests {
        let text = format!("SELECT count(dur_ns) FROM kernels WHERE {test}");
        assert_eq!(bytes(&store, &text), (vec!["40000".to_owned()], one), "{test}");
    }
    let text = "SELECT count(dur_ns) FROM kernels WHERE day = '2026-11-03' OR kernel_id = -1";
    assert_eq!(bytes(&store, text).0, ["40000"]);
}

#[test]
fn manifests_of_other_days_are_not_read() {
    let store = store();
    fs::write(store.path().join("tenant=a/log/day=2026-11-01/run-r1.json"), "damaged").expect("writable");
    assert_eq!(
        sql(store.path(), "SELECT run_id FROM runs WHERE day > '2026-11-08' AND tenant = 'a'").lines(),
        ["r9"]
    );
    let answer = sql(store.path(), "SELECT run_id FROM runs");
    let (kind, message) = answer.error();
    assert_eq!(kind, "store");
    assert!(message.contains("run-r1.json is damaged"), "{message}");
}

#[test]
fn a_day_that_a_subquery_finds_is_found() {
    let store = store();
    let (_, all) = bytes(&store, "SELECT sum(dur_ns) FROM kernels");
    let text = "SELECT count(dur_ns) FROM kernels WHERE day = (SELECT max(day) FROM runs)";
    let (lines, read) = bytes(&store, text);
    assert_eq!(lines, ["40000"]);
    assert!(read <= all, "{read} of {all}");
}

#[test]
fn pages_of_other_kernels_are_not_read() {
    // Of a small file it is not worth a second request.
    let store = TestStore::empty();
    store.run("a", "2026-11-01", "r1", &[("kernels", kernels("r1", 20, 20_000))]);
    let (_, all) = bytes(&store, "SELECT sum(dur_ns + kernel_id) FROM kernels");
    let (lines, one) = bytes(&store, "SELECT count(dur_ns) FROM kernels WHERE kernel_id = 7");
    assert_eq!(lines, ["20000"]);
    assert!(one * 4 < all, "{one} of {all}");
}

#[test]
fn small_files_are_read_once() {
    let store = store();
    let files = fs::read_dir(store.path().join("tenant=a/events/kernels")).expect("a folder");
    let sizes = files.flatten().flat_map(|day| fs::read_dir(day.path()).expect("a folder").flatten());
    let all: u64 = sizes.map(|file| file.metadata().expect("a file").len()).sum();
    // With a condition, files are looked into for bloom filters by a reader of their own.
    for condition in ["", "WHERE kernel_id = 7 AND run_id <> 'r0'"] {
        let (_, read) = bytes(&store, &format!("SELECT sum(dur_ns) FROM kernels {condition}"));
        assert_eq!(read, all, "{condition}");
    }
}
