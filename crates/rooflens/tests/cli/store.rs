//! Many runs in one place, without an engine: adding, listing, checking, removing, and the SQL for other engines.

use std::path::Path;

use serde_json::Value;

use super::{fixture, rooflens};

/// Standard output of a command that has to succeed.
fn out(args: &[&str]) -> String {
    let output = rooflens(args).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&out(args)).unwrap()
}

/// Exit code and standard error of a command that may fail.
fn failure(args: &[&str]) -> (i32, String) {
    // An engine on the path of this machine would answer.
    let output = rooflens(args).env("PATH", "/nowhere").output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

fn run_in(folder: &Path, name: &str, trace: &str) -> String {
    let run = folder.join(name).to_str().unwrap().to_owned();
    out(&["-q", "analyze", &fixture(trace), "-o", &run]);
    run
}

#[test]
fn runs_are_added_once_listed_checked_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    let set = ["--set", "runtime=vllm", "--set", "node=gpu17", "--tenant", "team-a"];
    let add = || json(&[&["store", "add", &run, "--store", &store, "--format", "json"][..], &set].concat());
    let first = add();
    assert_eq!(first["runs"][0]["was_there"], false);
    assert!(first["runs"][0]["kernels"].as_u64().unwrap() > 0);
    assert_eq!(add()["runs"][0]["was_there"], true);
    let listed = json(&["runs", &store, "--format", "json"]);
    let row = &listed["runs"][0]["row"];
    assert_eq!([&row["runtime"], &row["node"], &listed["runs"][0]["tenant"]], ["vllm", "gpu17", "team-a"]);
    assert!(out(&["runs", &store]).contains("1 run in"));
    assert_eq!(
        json(&["store", "verify", "--store", &store, "--format", "json"])["damaged"],
        Value::Array(vec![])
    );
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    // On a screen, ids are as long as they must be to be typed again.
    let screen = out(&["runs", &store]);
    assert!(screen.contains(&id[..8]) && !screen.contains(id), "{screen}");
    let (code, said) =
        failure(&["store", "add", &run, "--store", &store, "--tenant", "team-a", "--set", "label=x"]);
    assert!(code != 0 && said.contains(&format!("rooflens store set {id} label=")), "{said}");
    out(&["store", "set", &id[..8], "label=nightly", "runtime_version=0.12.0", "--store", &store]);
    let row = &json(&["runs", &store, "--format", "json", "--where", "label=nightly"])["runs"][0]["row"];
    assert_eq!([&row["label"], &row["runtime_version"], &row["node"]], ["nightly", "0.12.0", "gpu17"]);
    let (code, said) = failure(&["store", "rm", &id[..3], "--store", &store]);
    assert!(code == 2 && said.contains("at least 8 characters"), "{said}");
    let (code, said) = failure(&["store", "add", &run, "--store", &run]);
    assert!(code == 2 && said.contains("is a run directory"), "{said}");
    out(&["store", "rm", &id[..10], "--store", &store, "--reason", "a test"]);
    assert_eq!(json(&["runs", &store, "--format", "json"])["runs"], Value::Array(vec![]));
    let (code, said) = failure(&["store", "add", &run, "--store", &store, "--tenant", "team-a"]);
    assert!(code != 0 && said.contains("was removed"), "{said}");
}

#[test]
fn nothing_private_is_in_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    out(&["-q", "store", "add", &run, "--store", &store]);
    let mut files = vec![folder.path().join("store")];
    let mut seen = 0;
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        seen += 1;
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for private in ["decode.json", folder.path().to_str().unwrap()] {
            assert!(!text.contains(private), "{}: {private}", path.display());
        }
    }
    assert!(seen > 8);
}

#[test]
fn what_is_wrong_is_said_with_what_helps() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let (_, said) = failure(&["runs", &store]);
    assert!(said.contains("there is no store at") && said.contains("rooflens store add RUN"), "{said}");
    let (_, said) = failure(&["store", "add", folder.path().to_str().unwrap(), "--store", &store]);
    assert!(said.contains("not a run directory") && said.contains("rooflens analyze"), "{said}");
    let (code, said) = failure(&["store", "add", "x", "--store", "s3://KEY:SECRET@bucket/x"]);
    assert!(code == 2 && !said.contains("SECRET"), "{said}");
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    let (_, said) = failure(&["store", "add", &run, "--store", &store, "--set", "run_id=x"]);
    assert!(said.contains("cannot be set; these can: hardware, model"), "{said}");
    let (_, said) = failure(&["store", "add", &run, "--store", &store, "--tenant", "a/b"]);
    assert!(said.contains("cannot name a tenant"), "{said}");
    out(&["-q", "store", "add", &run, "--store", &store]);
    let (code, said) = failure(&["query", "SELECT 1", "--store", &store]);
    assert!(code == 3 && said.contains("rooflens-query is not installed"), "{code}: {said}");
    assert!(said.contains("cargo install") && said.contains("rooflens export duckdb"), "{said}");
    let (code, said) = failure(&["query", "top-kernel", "--store", &store]);
    assert!(code == 2 && said.contains("top-kernels"), "{said}");
    let (code, said) = failure(&["query", "top-kernels", "--store", &store, "sinc=2026-11-01"]);
    assert!(code == 2 && said.contains("has no parameter"), "{said}");
    let (code, said) = failure(&["query", "top-kernels"]);
    assert!(code == 2 && said.contains("--store"), "{said}");
}

#[test]
fn queries_are_listed_and_shown_without_an_engine() {
    let listed = json(&["query", "--list", "--format", "json"]);
    let names: Vec<&str> =
        listed["queries"].as_array().unwrap().iter().map(|query| query["name"].as_str().unwrap()).collect();
    assert!(names.len() >= 10 && names.contains(&"top-kernels"), "{names:?}");
    let text = out(&["query", "--list"]);
    assert!(names.iter().all(|name| text.contains(name)));
    let duckdb = out(&["query", "kernel-latency", "--show", "duckdb", "kernel=it's"]);
    assert!(duckdb.contains("'it''s'"), "{duckdb}");
    let clickhouse = out(&["query", "kernel-latency", "--show", "clickhouse", "kernel=x"]);
    assert_ne!(duckdb, clickhouse);
}

#[test]
fn statements_for_other_engines_name_the_files_that_count() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    out(&["-q", "analyze", &fixture("kineto/decode.json"), "--store", &store]);
    let added = json(&["store", "add", &run, "--store", &store, "--format", "json"]);
    assert_eq!(added["runs"][0]["was_there"], true, "analyze --store adds what store add adds");
    for engine in ["duckdb", "clickhouse", "trino", "iceberg"] {
        let text = out(&["export", engine, "--store", &store]);
        assert!(text.contains("kernels") && text.contains("day="), "{engine}: {text}");
    }
    for engine in ["duckdb", "clickhouse", "spark"] {
        let text = out(&["export", engine, "--views", "--store", &store]);
        assert!(text.contains("VIEW") && text.contains("day="), "{engine}: {text}");
    }
    let (code, said) = failure(&["export", "oracle", "--store", &store]);
    assert!(code == 2 && said.contains("clickhouse, duckdb"), "{said}");
}

#[test]
fn a_trend_over_a_store_needs_a_metric_that_its_runs_have() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    out(&["-q", "store", "add", &run, "--store", &store]);
    let (_, said) = failure(&["trend", "--store", &store, "--key", "tpot_p50"]);
    assert!(said.contains("has tpot_p50_ns; they have device_busy_share, step_p50_ns"), "{said}");
    // What a trace tells of its steps can be followed.
    let found = json(&["trend", "--store", &store, "--key", "step_p50_ns", "--format", "json"]);
    assert!(found["values"][0].as_f64().unwrap() > 0.0 && found["notes"] == Value::Array(vec![]), "{found}");
    let (_, said) = failure(&["trend", "--store", &store, "--where", "colour=red"]);
    assert!(said.contains("no column") && said.contains("hardware"), "{said}");
    // A store stands in place of a folder of runs; where runs are to be named, that is said.
    let here = json(&["trend", &store, "--key", "step_p50_ns", "--format", "json"]);
    assert_eq!(here, found);
    let (_, said) = failure(&["compare", &store]);
    assert!(said.contains("is a store") && said.contains("rooflens compare ID ID --store"), "{said}");
}

#[test]
fn runs_of_a_store_are_compared_and_reported_by_id_and_by_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store").to_str().unwrap().to_owned();
    let run = run_in(folder.path(), "one", "kineto/decode.json");
    out(&["-q", "store", "add", &run, "--store", &store, "--set", "label=main"]);
    let listed = json(&["runs", &store, "--format", "json"]);
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    let compared = json(&["compare", &id[..12], "label=main", &run, "--store", &store, "--format", "json"]);
    assert_eq!(compared["pairs"].as_array().map(Vec::len), Some(2), "{compared}");
    let busy = &compared["pairs"][1]["accounts"][0]["rows"][1];
    assert_eq!(busy["a_ns"], busy["b_ns"], "the store has the run as it was");
    let report = folder.path().join("report");
    out(&["-q", "report", id, "--store", &store, "-o", report.to_str().unwrap()]);
    let page = std::fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("flash_fwd_splitkv_kernel"));
    let (_, said) = failure(&["compare", "label=none", &run, "--store", &store]);
    assert!(said.contains("no run has label=none; there are main"), "{said}");
    // With which engine they ran is known from their rows.
    let other = run_in(folder.path(), "other", "kineto/two_ranks");
    out(&[
        "-q",
        "store",
        "add",
        &other,
        "--store",
        &store,
        "--set",
        "label=other",
        "--set",
        "runtime=sglang",
    ]);
    let compared = out(&["compare", "label=main", "label=other", "--store", &store]);
    let engine = compared.lines().find(|line| line.trim_start().starts_with("runtime "));
    assert!(engine.is_some_and(|line| line.contains("sglang")), "{compared}");
}
