//! Runs without a process: what each step leaves is given.

use std::collections::BTreeMap;
use std::path::Path;

use rooflens_collect::RunSettings;
use rooflens_schema::parquet_io::read_table;
use rooflens_schema::tables::Runs;
use rooflens_schema::{RunDir, SCHEMA_VERSION};

use serde_json::{Value as Json, json};

use super::PageNumbers;
use crate::run::job::RunOutcome;
use crate::run::tests::{file, planned, take};
use crate::saved::read_json;

/// Numbers of a run with what matters to a test; the rest is that of a run that measured nothing.
pub(super) fn numbers(of: Json) -> PageNumbers {
    let tag = |name: &str| json!({"name": name, "version": SCHEMA_VERSION});
    let mut all = json!({
        "schema": tag("rooflens.run"), "run": "r", "status": "complete", "steps": [], "not_computed": {},
        "measured": {"rounds": 1, "requests": 0, "prompt_tokens": 0, "output_tokens": 0, "decode_steps": 0,
            "phases_ns": {}, "lost_rows": 0, "rule": "", "not_computed": {}},
        "analysis": {"schema": tag("rooflens.analysis")},
    });
    for (key, value) in of.as_object().unwrap() {
        match (&mut all[key], value) {
            (Json::Object(usual), Json::Object(own)) => usual.extend(own.clone()),
            (usual, own) => *usual = own.clone(),
        }
    }
    PageNumbers::parse(&all.to_string()).unwrap()
}

const REQUEST: &str = r#"{"round":0,"kind":"predicted","sample":"1-question.txt","prompt_tokens":5,"output_tokens":2,"start_ns":1000,"token_ns":[3000000,7001000]}"#;
const EVENTS: &str = r#"{"event":"hello","python":"3.11","versions":{"torch":"2.0"},"runtime":"pytorch"}
{"event":"round_begin","round":0,"kind":"predicted","epoch":0}"#;

pub(super) fn settings() -> RunSettings {
    planned(&[]).jobs.remove(0).settings
}

fn run(folder: &Path, answer: &str, more: &[&str]) -> RunOutcome {
    let usual = [
        "pipeline.torch_profiler.enable=false",
        "pipeline.static_analysis.enable=false",
        "pipeline.direct_inference.enable=true",
    ];
    let answer =
        json!({"round": 0, "sample": "1-question.txt", "prompt": "why?", "answer": answer, "tokens": 2});
    let files = vec![
        file("events.jsonl", EVENTS),
        file("steps.csv", "kind,phase,decode_tokens,dur_ns\n"),
        file("requests.jsonl", REQUEST),
        file("tokens.jsonl", ""),
        file("spec.json", r#"{"config":{"dataset":{"kind":"text"}}}"#),
        file("predictions.jsonl", answer.to_string()),
    ];
    let steps = ["measure", "direct_inference"].map(|step| (step, files.clone()));
    take(folder, &[&usual[..], more].concat(), &steps, BTreeMap::new())
}

#[test]
fn only_answers() {
    let folder = tempfile::tempdir().unwrap();
    let done = run(folder.path(), "</pre><script>alert(1)</script>", &[]);
    assert_eq!((&*done.document.status, done.outcomes.len(), done.page.is_some()), ("complete", 2, true));
    let report = done.folder.join("report");
    let read = |name: &str| std::fs::read_to_string(report.join(name)).unwrap();
    let page = read("predictions.html");
    assert!(
        page.contains("&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;") && !page.contains("<script>alert")
    );
    assert!(
        page.contains("5 tokens asked · 2 tokens answered · first token after 3.00 ms · all after 7.00 ms")
    );
    assert!(read("predictions.md").contains("```text\n</pre><script>alert(1)</script>\n```"));
    assert_eq!(
        read("predictions.jsonl"),
        std::fs::read_to_string(done.folder.join("raw/direct_inference/predictions.jsonl")).unwrap()
    );
    assert!(!report.join("../raw/torch_profiler").exists() && !RunDir::has_trace(&done.folder));
    let runs: Runs = read_table(&RunDir::new(&done.folder).table("runs")).unwrap();
    let row = runs.row(0).unwrap();
    assert_eq!((row.kind.as_str(), row.status.as_str(), row.ranks), ("run", "complete", 0));
    assert_eq!(
        (row.runtime_version.as_deref(), row.parallelism.as_deref()),
        (Some("2.0"), Some("{\"tp\":1}"))
    );
    let env = read_json(&report.join("env.json"));
    assert_eq!((&env["versions"]["torch"], &env["python"]), (&"2.0".into(), &"3.11".into()));
    assert!(
        read("inputs.yaml")
            .contains("- step: direct_inference\n  epochs:\n  - epoch: 0\n    rounds:\n    - 0\n")
    );
}

#[test]
fn pages_can_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let report =
        run(folder.path(), "a", &["pipeline.direct_inference.output.pages=false"]).folder.join("report");
    assert!(report.join("predictions.jsonl").is_file());
    assert!(!report.join("predictions.html").exists() && !report.join("predictions.md").exists());
    let other = tempfile::tempdir().unwrap();
    let more = ["pipeline.direct_inference.output.predictions=false", "output.formats=[md]"];
    let report = run(other.path(), "a", &more).folder.join("report");
    assert!(!report.join("predictions.jsonl").exists() && !report.join("predictions.html").exists());
    assert!(report.join("predictions.md").is_file());
}
