//! Many runs in one place, without an engine: adding, listing, checking, removing, and the SQL for other engines.

use super::*;

/// A run of the small trace, and the place of a store that is not there yet.
fn run_and_store() -> (Folder, String, String) {
    let folder = Folder::new();
    let (run, store) = (run_in(&folder, "one", "kineto/decode.json"), folder.text("store"));
    (folder, run, store)
}

fn run_in(folder: &Folder, name: &str, trace: &str) -> String {
    text(&["-q", "analyze", &fixture(trace), "-o", &folder.text(name)]);
    folder.text(name)
}

#[test]
fn runs_are_added_once_listed_checked_and_removed() {
    let (_folder, run_dir, store) = run_and_store();
    let set = ["--set", "runtime=vllm", "--set", "node=gpu17", "--tenant", "team-a"];
    let add = || json(&[&["store", "add", &run_dir, "--store", &store][..], &set].concat());
    let first = add();
    assert_eq!(first["runs"][0]["was_there"], false);
    assert!(first["runs"][0]["kernels"].as_u64().unwrap() > 0);
    assert_eq!(add()["runs"][0]["was_there"], true);
    let listed = json(&["runs", &store]);
    let row = &listed["runs"][0]["row"];
    assert_eq!([&row["runtime"], &row["node"], &listed["runs"][0]["tenant"]], ["vllm", "gpu17", "team-a"]);
    assert!(text(&["runs", &store]).contains("1 run in"));
    assert_eq!(json(&["store", "verify", "--store", &store])["damaged"], Json::Array(vec![]));
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    // On a screen, ids are as long as they must be to be typed again.
    let screen = text(&["runs", &store]);
    assert!(screen.contains(&id[..8]) && !screen.contains(id), "{screen}");
    let again = run(&["store", "add", &run_dir, "--store", &store, "--tenant", "team-a", "--set", "label=x"]);
    again.fails(5, &format!("rooflens store set {id} label="));
    text(&["store", "set", &id[..8], "label=nightly", "runtime_version=0.12.0", "--store", &store]);
    let row = &json(&["runs", &store, "--where", "label=nightly"])["runs"][0]["row"];
    assert_eq!([&row["label"], &row["runtime_version"], &row["node"]], ["nightly", "0.12.0", "gpu17"]);
    run(&["store", "rm", &id[..3], "--store", &store]).fails(2, "at least 8 characters");
    run(&["store", "add", &run_dir, "--store", &run_dir]).fails(2, "is a run directory");
    text(&["store", "rm", &id[..10], "--store", &store, "--reason", "a test"]);
    assert_eq!(json(&["runs", &store])["runs"], Json::Array(vec![]));
    run(&["store", "add", &run_dir, "--store", &store, "--tenant", "team-a"]).fails(5, "was removed");
}

#[test]
fn nothing_private_is_in_a_store() {
    let (folder, run_dir, store) = run_and_store();
    text(&["-q", "store", "add", &run_dir, "--store", &store]);
    let names = files(&folder.path("store"));
    for name in &names {
        let bytes = std::fs::read(folder.path("store").join(name)).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for private in ["decode.json", &folder.text("")] {
            assert!(!text.contains(private), "{name}: {private}");
        }
    }
    assert!(names.len() > 8);
}

#[test]
fn what_is_wrong_is_said_with_what_helps() {
    let (folder, run_dir, store) = run_and_store();
    let said = run(&["runs", &store]).stderr;
    assert!(said.contains("there is no store at") && said.contains("rooflens store add RUN"), "{said}");
    folder.write("empty/no-run", b"");
    let said = run(&["store", "add", &folder.text("empty"), "--store", &store]).stderr;
    assert!(said.contains("not a run directory") && said.contains("rooflens analyze"), "{said}");
    let secret = run(&["store", "add", "x", "--store", "s3://KEY:SECRET@bucket/x"]);
    assert!(!secret.fails(2, "").stderr.contains("SECRET"));
    let said = run(&["store", "add", &run_dir, "--store", &store, "--set", "run_id=x"]).stderr;
    assert!(said.contains("cannot be set; these can: hardware, model"), "{said}");
    let said = run(&["store", "add", &run_dir, "--store", &store, "--tenant", "a/b"]).stderr;
    assert!(said.contains("cannot name a tenant"), "{said}");
    text(&["-q", "store", "add", &run_dir, "--store", &store]);
    // An engine on the path of this machine would answer.
    let mut query = rooflens(&["query", "SELECT 1", "--store", &store]);
    let answer = Answer::of(query.env("PATH", "/nowhere").output().unwrap());
    answer.fails(3, "rooflens-query is not installed").hints("cargo install").hints("rooflens export duckdb");
    run(&["query", "top-kernel", "--store", &store]).fails(2, "top-kernels");
    run(&["query", "top-kernels", "--store", &store, "sinc=2026-11-01"]).fails(2, "has no parameter");
    run(&["query", "top-kernels"]).fails(2, "--store");
}

#[test]
fn queries_are_listed_and_shown_without_an_engine() {
    let listed = json(&["query", "--list"]);
    let names: Vec<&str> =
        listed["queries"].as_array().unwrap().iter().map(|query| query["name"].as_str().unwrap()).collect();
    assert!(names.len() >= 10 && names.contains(&"top-kernels"), "{names:?}");
    let listing = text(&["query", "--list"]);
    assert!(names.iter().all(|name| listing.contains(name)));
    let duckdb = text(&["query", "kernel-latency", "--show", "duckdb", "kernel=it's"]);
    assert!(duckdb.contains("'it''s'"), "{duckdb}");
    let clickhouse = text(&["query", "kernel-latency", "--show", "clickhouse", "kernel=x"]);
    assert_ne!(duckdb, clickhouse);
}

#[test]
fn statements_for_other_engines_name_the_files_that_count() {
    let (_folder, run_dir, store) = run_and_store();
    text(&["-q", "analyze", &fixture("kineto/decode.json"), "--store", &store]);
    let added = json(&["store", "add", &run_dir, "--store", &store]);
    assert_eq!(added["runs"][0]["was_there"], true, "analyze --store adds what store add adds");
    for engine in ["duckdb", "clickhouse", "trino", "iceberg"] {
        let sql = text(&["export", engine, "--store", &store]);
        assert!(sql.contains("kernels") && sql.contains("day="), "{engine}: {sql}");
    }
    for engine in ["duckdb", "clickhouse", "spark"] {
        let sql = text(&["export", engine, "--views", "--store", &store]);
        assert!(sql.contains("VIEW") && sql.contains("day="), "{engine}: {sql}");
    }
    run(&["export", "oracle", "--store", &store]).fails(2, "clickhouse, duckdb");
}

#[test]
fn a_trend_over_a_store_needs_a_metric_that_its_runs_have() {
    let (_folder, run_dir, store) = run_and_store();
    text(&["-q", "store", "add", &run_dir, "--store", &store]);
    let said = run(&["trend", "--store", &store, "--key", "tpot_p50"]).stderr;
    assert!(said.contains("has tpot_p50_ns; they have device_busy_share, step_p50_ns"), "{said}");
    // What a trace tells of its steps can be followed.
    let found = json(&["trend", "--store", &store, "--key", "step_p50_ns"]);
    assert!(found["values"][0].as_f64().unwrap() > 0.0 && found["notes"] == Json::Array(vec![]), "{found}");
    let said = run(&["trend", "--store", &store, "--where", "colour=red"]).stderr;
    assert!(said.contains("no column") && said.contains("hardware"), "{said}");
    // A store stands in place of a folder of runs; where runs are to be named, that is said.
    let here = json(&["trend", &store, "--key", "step_p50_ns"]);
    assert_eq!(here, found);
    let said = run(&["compare", &store]).stderr;
    assert!(said.contains("is a store") && said.contains("rooflens compare ID ID --store"), "{said}");
}

#[test]
fn runs_of_a_store_are_compared_and_reported_by_id_and_by_what_they_are() {
    let (folder, run_dir, store) = run_and_store();
    text(&["-q", "store", "add", &run_dir, "--store", &store, "--set", "label=main"]);
    let listed = json(&["runs", &store]);
    let id = listed["runs"][0]["run_id"].as_str().unwrap();
    let compared = json(&["compare", &id[..12], "label=main", &run_dir, "--store", &store]);
    assert_eq!(compared["pairs"].as_array().map(Vec::len), Some(2), "{compared}");
    let busy = &compared["pairs"][1]["accounts"][0]["rows"][1];
    assert_eq!(busy["a_ns"], busy["b_ns"], "the store has the run as it was");
    text(&["-q", "report", id, "--store", &store, "-o", &folder.text("report")]);
    let page = std::fs::read_to_string(folder.path("report/index.html")).unwrap();
    assert!(page.contains("flash_fwd_splitkv_kernel"));
    let said = run(&["compare", "label=none", &run_dir, "--store", &store]).stderr;
    assert!(said.contains("no run has label=none; there are main"), "{said}");
    // With which engine they ran is known from their rows.
    let other = run_in(&folder, "other", "kineto/two_ranks");
    let set = ["--set", "label=other", "--set", "runtime=sglang"];
    text(&[&["-q", "store", "add", &other, "--store", &store][..], &set].concat());
    let compared = text(&["compare", "label=main", "label=other", "--store", &store]);
    let engine = compared.lines().find(|line| line.trim_start().starts_with("runtime "));
    assert!(engine.is_some_and(|line| line.contains("sglang")), "{compared}");
}
