//! What is refused, and what is said when something fails.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::engine::{ask, sql};
use crate::store::{TestStore, kernels, run_row};

fn store() -> TestStore {
    let store = TestStore::empty();
    store.run("a", "2026-11-01", "r1", &[("runs", run_row("r1", "H100"))]);
    store
}

#[test]
fn statements_that_are_not_queries_are_refused() {
    let store = store();
    let outside = tempfile::tempdir().expect("a temporary folder");
    let copy = outside.path().join("x.parquet");
    for text in [
        "CREATE TABLE x AS SELECT 1",
        "CREATE VIEW x AS SELECT 1",
        "CREATE EXTERNAL TABLE x STORED AS PARQUET LOCATION '/etc'",
        "DROP TABLE runs",
        "INSERT INTO runs SELECT * FROM runs",
        "UPDATE runs SET kind = 'x'",
        "DELETE FROM runs",
        "SET datafusion.execution.batch_size = 1",
        "SHOW TABLES",
        "BEGIN",
        "SELECT 1; SELECT 2",
        &format!("COPY runs TO '{}'", copy.display()),
        &format!("EXPLAIN ANALYZE COPY runs TO '{}'", copy.display()),
        "WITH x AS (SELECT 1) INSERT INTO runs SELECT * FROM x",
        "SELECT 1 INTO x",
        "",
    ] {
        let answer = sql(store.path(), text);
        assert_eq!(answer.error().0, "sql", "{text}");
        assert_eq!(answer.code, Some(1), "{text}");
        assert!(answer.bytes.is_empty(), "{text}");
    }
    assert!(!copy.exists());
}

#[test]
fn other_files_cannot_be_read() {
    let store = store();
    let path = store.path().join("tenant=a/rollups/runs/day=2026-11-01/r1.parquet");
    let path = path.display();
    for text in [
        format!("SELECT * FROM '{path}'"),
        format!("SELECT * FROM \"{path}\""),
        format!("SELECT * FROM read_parquet('{path}')"),
        format!("SELECT * FROM parquet_metadata('{path}')"),
        "SELECT * FROM read_csv('/etc/passwd')".to_owned(),
        "SELECT * FROM information_schema.tables".to_owned(),
    ] {
        assert_eq!(sql(store.path(), &text).error().0, "sql", "{text}");
    }
}

#[test]
fn unknown_names_come_with_a_hint() {
    let store = store();
    let answer = sql(store.path(), "SELECT * FROM kernel");
    assert_eq!(answer.error(), ("sql", "there is no table 'kernel'"));
    assert_eq!(answer.hint(), "did you mean 'kernels'?");
    let answer = sql(store.path(), "SELECT * FROM something_else");
    assert!(answer.hint().starts_with("tables: runs, run_metrics"), "{}", answer.hint());
    let answer = sql(store.path(), "SELECT run_idd FROM runs");
    assert_eq!(answer.error(), ("sql", "there is no column 'run_idd'"));
    assert_eq!(answer.hint(), "did you mean 'run_id'?");
    let answer = sql(store.path(), "SELECT r.durns FROM runs r JOIN kernels k ON r.run_id = k.run_id");
    assert_eq!(answer.error(), ("sql", "there is no column 'r.durns'"));
    let answer = sql(store.path(), "SELECT run_id FROM runs r JOIN kernels k ON r.run_id = k.run_id");
    assert_eq!(answer.error(), ("sql", "the column 'run_id' is in more than one table"));
    let answer = sql(store.path(), "SELECT sqrtt(1)");
    assert_eq!(answer.error(), ("sql", "Invalid function 'sqrtt'"));
    assert_eq!(answer.hint(), "did you mean 'sqrt'?");
}

#[test]
fn messages_are_those_of_the_statement() {
    let store = store();
    let messages = [
        (
            "SELEC 1",
            "the SQL cannot be parsed: Expected: an SQL statement, found: SELEC at Line: 1, Column: 1",
        ),
        ("SELECT 1 / 0", "Divide by zero error"),
        ("SELECT CAST('x' AS BIGINT)", "Cannot cast string 'x' to value of Int64 type"),
    ];
    for (text, expected) in messages {
        let answer = sql(store.path(), text);
        let (kind, message) = answer.error();
        assert_eq!((kind, message), ("sql", expected), "{text}");
    }
    let answer = sql(store.path(), "SELECT run_id, count(*) FROM runs");
    let (kind, message) = answer.error();
    assert_eq!(kind, "sql");
    assert!(!message.contains("Error during planning") && !message.contains('\n'), "{message}");
}

#[test]
fn a_place_without_a_store_is_no_empty_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for tenants in [json!(null), json!(["a"])] {
        let answer = ask(&json!({"sql": "SELECT 1", "store": folder.path(), "tenants": tenants}));
        let (kind, message) = answer.error();
        assert_eq!(kind, "store");
        assert!(message.starts_with("there is no store at "), "{message}");
    }
    let answer = ask(&json!({"sql": "SELECT 1", "store": folder.path().join("none")}));
    assert_eq!(answer.error().0, "store");
    let answer = ask(&json!({"sql": "SELECT 1", "store": "ftp://x/y"}));
    assert_eq!(answer.error().0, "store");
}

#[test]
fn damaged_and_missing_files_are_named() {
    let store = TestStore::empty();
    let mut paths = Vec::new();
    for day in 1..=4 {
        let (day, run) = (format!("2026-11-0{day}"), format!("r{day}"));
        paths.extend(store.run("a", &day, &run, &[("kernels", kernels(&run, 20, 2000))]));
    }
    let name = paths[2].strip_prefix(store.path()).expect("in the store").display().to_string();
    let is_named = || {
        let answer = sql(store.path(), "SELECT sum(dur_ns), sum(ts_ns), max(run_id) FROM kernels");
        let (kind, message) = answer.error();
        assert_eq!(kind, "store", "{message}");
        assert!(message.contains(&name), "{message}");
        assert!(!message.contains(&store.path().display().to_string()[1..]), "{message}");
    };
    let whole = fs::read(&paths[2]).expect("a file");
    let (mut pages, mut footer, end) = (whole.clone(), whole.clone(), whole.len());
    pages[100..4000].fill(0xff);
    footer[end - 40..].fill(0);
    for damaged in [&pages[..], &footer[..], &whole[..end / 2]] {
        fs::write(&paths[2], damaged).expect("writable");
        is_named();
    }
    fs::remove_file(&paths[2]).expect("a file");
    is_named();
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    assert_eq!(ask(&json!({"store": "/x"})).error().0, "engine");
    let output = |argument: &str| {
        Command::new(env!("CARGO_BIN_EXE_rooflens-query")).arg(argument).output().expect("it was built")
    };
    assert_eq!(output("runs").status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output("--help").stdout).contains("rooflens query"));
    assert!(String::from_utf8_lossy(&output("--version").stdout).starts_with("rooflens-query 0."));
}
