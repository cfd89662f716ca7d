//! A folder of run directories: listed, filtered, sorted, tagged, deleted, and asked for trends and comparisons.

use std::os::unix::fs::symlink;

use rooflens_schema::parquet_io::edit_run_row;
use rooflens_schema::{RunDir, RunId};
use serde_json::{Value, json};

use super::compare::requests;
use super::*;

/// A run that measured rounds of one request: its time per token in each, µs.
fn measured_run(folder: &Folder, name: &str, start_s: i64, model: &str, tpot_us: &[u64]) -> String {
    requests(folder, name, tpot_us);
    let mut sorted = tpot_us.to_vec();
    sorted.sort_unstable();
    let median_ns = sorted[sorted.len() / 2] * 1000;
    let numbers = json!({"measured": {"tpot_ns": {"p50": median_ns}}});
    folder.write(&format!("{name}/report/metrics.json"), numbers.to_string().as_bytes());
    edit_run_row(&RunDir::new(folder.path(name)), "run", |row| {
        row.run_id = RunId::new();
        row.start_unix_ns = Some(start_s * 1_000_000_000).into();
        row.model = Some(model.to_owned());
        row.status = "complete".to_owned();
    })
    .unwrap();
    folder.text(name)
}

fn names(listed: &Value) -> Vec<&str> {
    listed["runs"].as_array().unwrap().iter().map(|run| run["folder"].as_str().unwrap()).collect()
}

fn three() -> Folder {
    let folder = Folder::new();
    measured_run(&folder, "runs/a", 1_000, "Qwen/Qwen3-8B", &[2000]);
    measured_run(&folder, "runs/deep/b", 2_000, "Qwen/Qwen3-8B", &[1000]);
    measured_run(&folder, "runs/c", 3_000, "tiny", &[3000]);
    folder
}

#[test]
fn a_folder_is_listed_filtered_and_sorted() {
    let folder = three();
    let runs = folder.text("runs");
    let list = |more: &[&str]| run(&[&["runs", &runs, "--format", "json"][..], more].concat());
    let all = list(&[]).json();
    assert_eq!(names(&all), ["c", "deep/b", "a"]);
    assert_eq!((&all["is_folder"], &all["runs"][0]["row"]["model"]), (&json!(true), &json!("tiny")));
    assert_eq!(all["runs"][1]["row"]["metrics"]["tpot_p50_ns"], json!(1_000_000.0));
    assert_eq!(names(&list(&["--where", "model~qwen"]).json()), ["deep/b", "a"]);
    assert_eq!(
        names(&list(&["--where", "tpot_p50_ns<2.5ms", "--sort", "tpot_p50:desc"]).json()),
        ["a", "deep/b"]
    );
    assert!(list(&["--since", "1970-01-02"]).stderr.contains("matches all these options"));
    let screen = text(&["runs", &runs, "--sort", "ttft_p50_ns"]);
    assert!(
        screen.contains("3 runs in") && screen.contains("deep/b") && screen.contains("1.00 ms"),
        "{screen}"
    );
    list(&["--where", "modle=x"]).fails(2, "").hints("did you mean model");
    list(&["--where", "model=other"]).fails(2, "there are Qwen/Qwen3-8B, tiny");
    // By default the current folder.
    let here = Answer::of(rooflens_in(&folder.path("runs"), &["runs", "--format", "json"]).output().unwrap());
    assert_eq!(here.json()["runs"].as_array().unwrap().len(), 3);
    run(&["runs", folder.path("runs/a/raw").to_str().unwrap()]).fails(5, "no run directory in");
}

#[test]
fn a_damaged_run_is_listed_and_hostile_names_are_cleaned() {
    let folder = three();
    std::fs::write(folder.path("runs/a/tables/runs.parquet"), "PAR1").unwrap();
    std::fs::rename(folder.path("runs/c"), folder.path("runs/c\u{1b}[31m<b>")).unwrap();
    let runs = folder.text("runs");
    let screen = text(&["runs", &runs]);
    assert!(screen.contains("1 damaged or not finished") && !screen.contains('\u{1b}'), "{screen}");
    let listed = run(&["runs", &runs, "--format", "json", "--where", "problem!="]).json();
    assert_eq!(names(&listed), ["a"]);
    assert!(listed["runs"][0]["problem"].as_str().unwrap().starts_with("tables/runs.parquet cannot be read"));
}

#[test]
fn tags_are_kept_in_the_run() {
    let folder = three();
    let runs = folder.text("runs");
    let tags = |name: &str| {
        let listed = json(&["runs", &runs]);
        let all = listed["runs"].as_array().unwrap().clone();
        all.into_iter().find(|run| run["folder"] == name).unwrap()["tags"].clone()
    };
    let id =
        run(&["runs", &runs, "--format", "json", "--where", "folder=c"]).json()["runs"][0]["run_id"].clone();
    text(&["runs", "tag", "a", "deep/b", id.as_str().unwrap(), "base", "--in", &runs]);
    text(&["runs", "tag", "a", "fp8", "--in", &runs]);
    assert_eq!([tags("a"), tags("c")], [json!(["base", "fp8"]), json!(["base"])]);
    let saved = std::fs::read_to_string(folder.path("runs/a/.rooflens/tags.json")).unwrap();
    is_written_as("tags", &saved, "saved");
    let untagged = json(&["runs", "untag", "a", "c", "base", "--in", &runs]);
    assert_eq!(untagged["runs"][0]["tags"], json!(["fp8"]));
    assert_eq!([tags("a"), tags("c")], [json!(["fp8"]), json!([])]);
    run(&["runs", "tag", "a", "two words", "--in", &runs]).fails(2, "cannot be a tag");
    run(&["runs", "tag", "ab", "x", "--in", &runs]).fails(2, "no run in");
    // Analysing a tagged run again keeps its tags.
    let analyzed = folder.text("runs/traced");
    text(&["-q", "analyze", &fixture("kineto/decode.json"), "-o", &analyzed]);
    text(&["runs", "tag", "traced", "kept", "--in", &runs]);
    text(&["-q", "analyze", &fixture("kineto/decode.json"), "-o", &analyzed]);
    assert_eq!(tags("traced"), json!(["kept"]));
}

#[test]
fn only_runs_in_the_folder_are_deleted() {
    let folder = three();
    let (runs, outside) = (folder.text("runs"), measured_run(&folder, "elsewhere/d", 1, "tiny", &[1]));
    symlink(&outside, folder.path("runs/linked")).unwrap();
    symlink(&outside, folder.path("runs/a/inner")).unwrap();
    std::fs::create_dir(folder.path("runs/plain")).unwrap();
    folder.write("runs/a/notes.txt", b"mine");
    let delete = |name: &str| run(&["runs", "delete", name, "--yes", "--in", &runs]);
    for (name, why) in [
        (outside.as_str(), "is not in"),
        ("../elsewhere/d", "is not in"),
        ("linked", "is a symbolic link"),
        ("plain", "is not a run directory"),
        ("a/tables", "is not a run directory"),
        (".", "is not a run directory"),
        ("absent", "no run in"),
    ] {
        let refused = delete(name);
        assert!(
            refused.code == 2 && refused.stderr.contains(why),
            "{name}: {} {}",
            refused.code,
            refused.stderr
        );
    }
    // Nobody can be asked, and nobody agreed.
    run(&["runs", "delete", "a", "--in", &runs]).fails(2, "").hints("--yes");
    let dry = json(&["runs", "delete", "a", "--dry-run", "--in", &runs]);
    assert_eq!(dry["deleted"][0]["others"], json!(["inner", "notes.txt"]));
    assert!(dry["deleted"][0]["files"].as_u64().unwrap() >= 4 && folder.path("runs/a").is_dir());
    delete("a").fine();
    assert!(!folder.path("runs/a").exists());
    // What a link in it led to is still there.
    assert!(folder.path("elsewhere/d/tables/runs.parquet").is_file());
    // A run that is the folder itself is not deleted from within.
    let own = run(&["runs", "delete", ".", "--yes", "--in", &folder.text("runs/c")]);
    assert!(own.code == 2 && folder.path("runs/c").is_dir(), "{}", own.stderr);
    assert_eq!(names(&json(&["runs", &runs])), ["c", "deep/b"]);
}

#[test]
fn trend_takes_a_folder_and_a_query() {
    let folder = Folder::new();
    for at in 0..24 {
        let us = if at < 12 { 1000 + at % 3 } else { 1300 + at % 3 };
        measured_run(&folder, &format!("runs/{at}"), 1_000 + at as i64, "tiny", &[us]);
    }
    measured_run(&folder, "runs/other", 5_000, "large", &[9_000]);
    let runs = folder.text("runs");
    let found = json(&["trend", &runs, "--where", "model=tiny", "--metric", "tpot_p50_ns"]);
    assert_eq!(found["values"].as_array().unwrap().len(), 24);
    assert_eq!((&found["change_points"][0]["index"], &found["runs"][12]), (&json!(12), &json!("12")));
    let mixed = run(&["trend", &runs]);
    assert!(mixed.stderr.contains("2 values of model"), "{}", mixed.stderr);
    run(&["trend", &runs, "--metric", "mbu_decode"]).fails(2, "they have tpot_p50_ns");
    run(&["trend", &runs, &runs, "--where", "model=tiny"]).fails(2, "one folder of runs");
}

#[test]
fn compare_takes_the_last_two_runs_or_two_groups() {
    let folder = Folder::new();
    for at in 0..6 {
        let jitter = [0, 3, 1, 4, 2, 5][at];
        measured_run(&folder, &format!("runs/before-{at}"), 1_000 + at as i64, "tiny", &[1000 + jitter]);
        measured_run(&folder, &format!("runs/after-{at}"), 2_000 + at as i64, "tiny", &[1200 + jitter]);
        text(&["runs", "tag", &format!("before-{at}"), "main", "--in", &folder.text("runs")]);
        text(&["runs", "tag", &format!("after-{at}"), "change", "--in", &folder.text("runs")]);
    }
    let runs = folder.text("runs");
    let last = json(&["compare", &runs]);
    assert_eq!((&last["pairs"][0]["a"], &last["pairs"][0]["b"]), (&json!("after-4"), &json!("after-5")));
    let grouped = json(&["compare", &runs, "--by", "tag"]);
    let pair = &grouped["pairs"][0];
    assert_eq!((&pair["a"], &pair["b"]), (&json!("tag=main (6 runs)"), &json!("tag=change (6 runs)")));
    let tpot =
        pair["headline"].as_array().unwrap().iter().find(|row| row["metric"] == "tpot_p50_ns").unwrap();
    assert_eq!((&tpot["a_rounds"], &tpot["is_change"]), (&json!(6), &json!(true)));
    assert!((tpot["ratio"]["ratio"].as_f64().unwrap() - 1.2).abs() < 0.01, "{tpot}");
    let named = json(&["compare", &runs, "--by", "tag=change,main"]);
    assert_eq!(named["pairs"][0]["a"], "tag=change (6 runs)");
    run(&["compare", &runs, "--by", "tag", "--fail-on", "tpot_p50>+3%"]).fails(1, "");
    run(&["compare", &runs, "--by", "folder"]).fails(2, "two values of folder are needed");
    run(&["compare", &runs, "--where", "folder=after-1"]).fails(2, "two runs are needed");
}

#[test]
fn a_run_of_a_store_is_tagged_by_its_label_and_deleted() {
    let folder = Folder::new();
    let (store, run_dir) = (folder.text("store"), folder.text("one"));
    text(&["-q", "analyze", &fixture("kineto/decode.json"), "-o", &run_dir]);
    text(&["-q", "store", "add", &run_dir, "--store", &store]);
    let list = || json(&["runs", &store]);
    let id = list()["runs"][0]["run_id"].as_str().unwrap().to_owned();
    text(&["runs", "tag", &id[..8], "release-3", "--store", &store]);
    assert_eq!(list()["runs"][0]["row"]["label"], "release-3");
    let tagged = json(&["runs", &store, "--where", "tag=release-3"]);
    assert_eq!(tagged["runs"][0]["tags"], json!(["release-3"]));
    run(&["runs", "tag", &id[..8], "other", "--store", &store]).fails(2, "has only one");
    text(&["runs", "untag", &id[..8], "release-3", "--store", &store]);
    assert_eq!(list()["runs"][0]["tags"], json!([]));
    let deleted = json(&["runs", "delete", &id[..8], "--yes", "--store", &store]);
    assert_eq!(deleted["deleted"][0]["run_id"], json!(id));
    assert_eq!(list()["runs"], json!([]));
}
