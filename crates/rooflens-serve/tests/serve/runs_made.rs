//! Runs to serve.

use std::collections::BTreeMap;
use std::path::Path;

use rooflens_core::fleet::{AddRunsRequest, add};
use rooflens_core::model::ModelRequest;
use rooflens_core::{Notes, ReadOptions, RunDir, Unobserved, analyze, open_input, write_report};
use rooflens_schema::RunId;
use rooflens_schema::parquet_io::edit_run_row;

/// What must never come out of the server as it is.
pub const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>";

const TRACE: &str = include_str!("../../../../fixtures/kineto/decode.json");

/// A run of a trace in which one kernel has another name.
pub fn trace_run(folder: &Path, kernel: &str) {
    let name = serde_json::to_string(kernel).unwrap();
    let text = TRACE.replace("nvjet_tst_64x8_64x16_4x1_v_bz_TNN", name.trim_matches('"'));
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let (notes, observer) = (Notes::default(), Unobserved::shared());
    let input = open_input(&[file.path().to_owned()], &ReadOptions::default(), &notes, &observer).unwrap();
    let run = RunDir::new(folder);
    let mut analysis = analyze(&input, &notes, &ModelRequest::default(), Some(&run), &observer).unwrap();
    write_report(&run, &mut analysis).unwrap();
}

/// A run that was measured, with its row alone.
pub fn row_run(folder: &Path, model: &str, tpot_ns: f64, began_s: i64) {
    let run = RunDir::new(folder);
    run.create().unwrap();
    edit_run_row(&run, "run", |row| {
        row.run_id = RunId::new();
        row.model = Some(model.to_owned());
        row.hardware = Some("NVIDIA H100".to_owned());
        row.runtime = Some("vllm".to_owned());
        row.runtime_version = Some(format!("0.{}", began_s % 3));
        row.status = "complete".to_owned();
        row.start_unix_ns = Some(1_760_000_000_000_000_000 + began_s * 1_000_000_000).into();
        row.metrics =
            Some(format!("{{\"tpot_p50_ns\":{tpot_ns},\"output_tokens_per_s\":{}}}", 1e9 / tpot_ns));
    })
    .unwrap();
}

/// A store with these runs.
pub fn store(address: &Path, runs: &[&Path]) {
    let request = AddRunsRequest {
        runs: runs.iter().map(|run| (*run).to_owned()).collect(),
        store: address.display().to_string(),
        tenant: "default".to_owned(),
        day: None,
        set: BTreeMap::from([("label".to_owned(), HOSTILE.to_owned())]),
    };
    let added = add(&request, &Unobserved::shared()).unwrap();
    assert!(added.failed.is_empty(), "{:?}", added.failed);
}
