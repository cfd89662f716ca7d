//! Memory, spilling and interrupts.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::{ask, end, first_byte, start};
use crate::store::{TestStore, kernels};

const RUNS: i64 = 4;
const ROWS: i64 = 100_000;

fn store() -> TestStore {
    let store = TestStore::empty();
    for run in 1..=RUNS {
        let name = format!("r{run}");
        store.run("a", &format!("2026-11-0{run}"), &name, &[("kernels", kernels(&name, 100, ROWS / 100))]);
    }
    store
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(true, |mut entries| entries.next().is_none())
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(sent.expect("a command of every Unix").success());
}

#[test]
fn a_sort_beyond_the_limit_spills() {
    let store = store();
    let spill = store.path().join("spill");
    fs::create_dir(&spill).expect("writable");
    for memory in [8 << 20, 16 << 20] {
        let request = json!({
            "sql": "SELECT ts_ns, kernel_id, run_id FROM kernels ORDER BY ts_ns, run_id",
            "store": store.path(), "memory_bytes": memory, "spill_folder": spill,
        });
        let answer = ask(&request);
        let (_, batches) = answer.batches();
        let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(rows as i64, RUNS * ROWS);
        let mut last = i64::MIN;
        for batch in &batches {
            use datafusion::arrow::array::AsArray;
            for ts in batch.column(0).as_primitive::<datafusion::arrow::datatypes::Int64Type>().values() {
                assert!(*ts >= last);
                last = *ts;
            }
        }
        assert!(answer.event("spilled")["bytes"].as_u64() > Some(1 << 20), "{:?}", answer.events);
        assert!(answer.event("spilled")["files"].as_u64() > Some(0));
        assert!(is_empty(&spill), "left in the spill folder");
    }
}

#[test]
fn an_aggregation_beyond_the_limit_spills_or_says_so() {
    let store = store();
    let spill = store.path().join("spill");
    let request = json!({
        "sql": "SELECT ts_ns, run_id, count(*) AS n FROM kernels GROUP BY ts_ns, run_id ORDER BY n DESC, 1, 2 LIMIT 5",
        "store": store.path(), "memory_bytes": 16 << 20, "spill_folder": spill,
    });
    let answer = ask(&request);
    assert_eq!(answer.lines().len(), 5);
    assert!(answer.event("spilled")["bytes"].as_u64() > Some(0));
    assert!(!spill.exists(), "a folder that was made is removed");
}

#[test]
fn a_limit_that_nothing_fits_into_is_an_error_with_a_hint() {
    let store = store();
    // Collected values cannot be spilled.
    let request = json!({
        "sql": "SELECT median(ts_ns), array_agg(run_id) FROM kernels", "store": store.path(), "memory_bytes": 1 << 20,
    });
    let answer = ask(&request);
    let (kind, message) = answer.error();
    assert_eq!(kind, "memory", "{message}");
    assert!(answer.hint().contains("--memory"), "{}", answer.hint());
}

#[test]
fn signals_end_a_query_at_once() {
    let store = store();
    for signal in ["INT", "TERM"] {
        let spill = store.path().join("spill");
        let request = json!({
            "sql": "SELECT count(*) FROM kernels a, kernels b, kernels c WHERE a.ts_ns + b.ts_ns + c.ts_ns = -1",
            "store": store.path(), "spill_folder": spill,
        });
        let child = start(&request);
        sleep(Duration::from_millis(1500));
        let stopped = Instant::now();
        send(&child, signal);
        let answer = end(child);
        assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
        assert_eq!(answer.code, Some(130));
        assert_eq!(answer.error(), ("stopped", "the query was interrupted"));
        assert!(!spill.exists());
        let progress: Vec<_> = answer.events.iter().filter(|event| event["event"] == "progress").collect();
        assert!(!progress.is_empty() && progress.len() <= 8, "{:?}", answer.events);
        assert!(progress.iter().all(|event| event["of_files"].as_u64() >= Some(RUNS as u64)));
    }
}

#[test]
fn a_signal_is_obeyed_while_nobody_reads_the_result() {
    let store = store();
    let mut child = start(&json!({"sql": "SELECT * FROM kernels", "store": store.path()}));
    first_byte(&mut child);
    sleep(Duration::from_millis(300));
    let stopped = Instant::now();
    send(&child, "INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
}

#[test]
fn a_reader_that_goes_away_ends_the_query() {
    let store = store();
    let mut child = start(&json!({"sql": "SELECT * FROM kernels", "store": store.path()}));
    first_byte(&mut child);
    drop(child.stdout.take());
    assert_eq!(end(child).error().0, "stopped");
}
