//! Run directories that an older version saved, given to every command that takes one.

use serde_json::Value;

use super::*;

/// A copy of a saved folder: commands may write into it.
fn copy(folder: &Folder, name: &str) -> PathBuf {
    let source = fixture(&format!("documents/v1.0/saved/{name}"));
    for file in files(Path::new(&source)) {
        folder.write(&format!("{name}/{file}"), &std::fs::read(Path::new(&source).join(&file)).unwrap());
    }
    folder.path(name)
}

fn json(args: &[&str]) -> Value {
    run(&[args, &["--format", "json"]].concat()).json()
}

fn saved(run_dir: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(run_dir.join("report/metrics.json")).unwrap()).unwrap()
}

#[test]
fn an_old_analysis_is_read_by_every_command() {
    let folder = Folder::new();
    let old = copy(&folder, "analysis");
    let (path, trace) = (old.to_str().unwrap(), fixture("kineto/decode.json"));
    let before = saved(&old);
    let now = json(&["analyze", path]);
    for finding in ["trace", "kernels", "operators", "devices"] {
        assert!(now[finding] != Value::Null, "{finding}");
    }
    let total = |document: &Value| -> i64 {
        document["kernels"].as_array().unwrap().iter().map(|row| row["total_ns"].as_i64().unwrap()).sum()
    };
    assert_eq!(total(&now), total(&before));
    assert!(!json(&["advise", path])["ledger"]["phases"].as_array().unwrap().is_empty());
    assert!(!json(&["kernels", "top", path])["kernels"].as_array().unwrap().is_empty());
    let compared = json(&["compare", path, &trace]);
    assert!(compared["pairs"][0]["places"].as_array().is_some(), "{compared}");
    run(&["report", path]).fine();
    assert_eq!(total(&saved(&old)), total(&before));
}

#[test]
fn an_old_run_is_read_by_every_command() {
    let folder = Folder::new();
    let old = copy(&folder, "run");
    let path = old.to_str().unwrap();
    let before = saved(&old);
    let tpot = before["measured"]["tpot_ns"]["p50"].as_f64().unwrap();
    let compared = json(&["compare", path, path]);
    let headline = compared["pairs"][0]["headline"].as_array().unwrap();
    let row = headline.iter().find(|row| row["metric"] == "tpot_p50_ns").unwrap();
    assert_eq!(row["a"].as_f64(), Some(tpot), "{row}");
    assert_eq!(json(&["trend", path, path])["values"], serde_json::json!([tpot, tpot]));
    assert!(!json(&["advise", path])["ledger"]["phases"].as_array().unwrap().is_empty());
    assert_eq!(json(&["analyze", path])["trace"]["format"], before["analysis"]["trace"]["format"]);
    run(&["report", path]).fine();
    assert_eq!(saved(&old)["measured"]["tpot_ns"], before["measured"]["tpot_ns"]);
}

#[test]
fn the_report_of_an_old_sweep_is_written_again() {
    let folder = Folder::new();
    let old = copy(&folder, "sweep");
    run(&["report", old.to_str().unwrap()]).fine();
    assert!(old.join("index.html").is_file());
}
