//! A run that is read again tells what it told when it was made. What each step leaves is given.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rooflens_collect::execute::Scripted;
use rooflens_compare::headline;
use rooflens_schema::parquet_io::{edit_run_row, read_notes, read_table, write_table};
use rooflens_schema::tables::{Counters, RunRow, Runs};
use rooflens_schema::{Note, Notes, RunDir};
use serde_json::Value as Json;

use super::job::{self, RunOutcome};
use super::{Run, RunRequest, launch};
use crate::config::folders;
use crate::input::Input;
use crate::model::ModelRequest;
use crate::observer::Unobserved;
use crate::{analysis, report, saved};

const EVENTS: &str = r#"{"event":"hello","runtime":"pytorch","python":"3.11","versions":{"torch":"2.0"},"clock":{"monotonic_ns":500,"unix_ns":2000000}}
{"event":"model","name":"tiny","dtype":"float32","device":"cpu","load_ns":7}
{"event":"dataset","name":"starter","batch_size":1}
{"event":"round_begin","t_ns":900,"round":0,"kind":"warmup","epoch":0}
{"event":"round_end","t_ns":1500,"round":0,"kind":"warmup","dur_ns":600}"#;
/// The last line is cut off.
const REQUESTS: &str = r#"{"round":0,"kind":"warmup","prompt_tokens":4,"output_tokens":1,"start_ns":1000,"token_ns":[1400]}
{"round":1,"kind":"measured","prompt_tokens":4,"output_tokens":3,"start_ns":5000,"token_ns":[5400,5500,5600]}
{"round":2,"kind":"measured","prompt_tokens":4,"output_tokens":2,"start_ns":6000,"token_ns":[6300,6450]}
{"round":2,"kind":"meas"#;
const STEPS: &str =
    "kind,phase,decode_tokens,start_ns,dur_ns\nmeasured,prefill,0,5000,400\nmeasured,decode,1,5410,90\n";

/// A run whose measured pass lost a line; with or without a profiled pass that left a trace.
fn taken(folder: &Path, with_trace: bool) -> RunOutcome {
    let observer = Unobserved::shared();
    let conf = concat!(env!("CARGO_MANIFEST_DIR"), "/../rooflens-project/skeleton/conf");
    let overrides = [
        format!("hydra.run.dir={}/run", folder.display()),
        "pipeline.static_analysis.enable=false".to_owned(),
        format!("pipeline.torch_profiler.enable={with_trace}"),
    ];
    let request =
        RunRequest { config_dir: Some(conf.into()), overrides: overrides.to_vec(), ..RunRequest::default() };
    let planned = launch::plan(&request, &observer).unwrap();
    folders::make(&planned.jobs[0].composed, false).unwrap();
    let file = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    let workload = |requests: &str| {
        vec![
            file("events.jsonl", EVENTS.as_bytes()),
            file("steps.csv", STEPS.as_bytes()),
            file("requests.jsonl", requests.as_bytes()),
            file("tokens.jsonl", b""),
        ]
    };
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kineto/decode.json");
    let whole = REQUESTS.rsplit_once('\n').unwrap().0;
    let mut profiled = workload(&whole.replace("measured", "profiled"));
    profiled.push(file("trace.json.gz", &fs::read(trace).unwrap()));
    let files =
        BTreeMap::from([("measure".to_owned(), workload(REQUESTS)), ("torch_profiler".to_owned(), profiled)]);
    job::take(&planned.jobs[0], &Scripted { files, exit_codes: BTreeMap::new() }, &observer).unwrap()
}

fn numbers(run: &RunDir) -> Json {
    saved::read_json(&run.report().join(saved::METRICS))
}

fn row(run: &RunDir) -> RunRow {
    read_table::<Runs>(&run.table("runs")).unwrap().row(0).unwrap()
}

/// A row in words, to be compared.
fn told(run: &RunDir) -> String {
    let row = row(run);
    format!(
        "{} {} {} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        row.run_id,
        row.kind,
        row.source,
        row.status,
        row.ranks,
        row.base_unix_ns.get(),
        row.start_unix_ns.get(),
        row.model,
        row.runtime,
        row.runtime_version,
        row.dtype,
        row.workload,
        row.metrics
    )
}

fn codes(notes: &[Note]) -> Vec<&str> {
    notes.iter().map(|note| note.code.as_str()).collect()
}

#[test]
fn notes_are_the_same_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let done = taken(folder.path(), true);
    let run = RunDir::new(&done.folder);
    let stored = read_notes(&run).unwrap();
    assert!(codes(&stored).contains(&"damaged_line"), "{stored:?}");
    assert_eq!((&*done.document.status, row(&run).status.as_str()), ("incomplete", "incomplete"));
    assert_eq!(done.findings.unwrap().notes, stored);
    let before = numbers(&run);
    assert_eq!(serde_json::from_value::<Vec<Note>>(before["analysis"]["notes"].clone()).unwrap(), stored);
    report::rewrite(run.root(), None, &Unobserved::shared()).unwrap();
    let after = numbers(&run);
    for key in ["status", "measured", "steps", "model", "versions", "not_computed"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    for key in ["notes", "health"] {
        assert_eq!(after["analysis"][key], before["analysis"][key], "{key}");
    }
    assert_eq!((read_notes(&run).unwrap(), row(&run).status.as_str()), (stored, "incomplete"));
}

#[test]
fn a_run_without_a_trace_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(taken(folder.path(), false).folder);
    assert_eq!(codes(&read_notes(&run).unwrap()), ["damaged_line"]);
    let (before, of_row) = (numbers(&run), told(&run));
    assert_eq!(before["status"], "incomplete");
    report::rewrite(run.root(), None, &Unobserved::shared()).unwrap();
    assert_eq!((numbers(&run), told(&run)), (before, of_row));
}

#[test]
fn a_report_renews_the_row() {
    for with_trace in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(taken(folder.path(), with_trace).folder);
        let of_row = told(&run);
        assert!(row(&run).metrics.is_some_and(|metrics| metrics.contains("\"tpot_p50_ns\":125.0")));
        // As an older build computed it.
        edit_run_row(&run, "run", |row| {
            row.metrics = Some("{}".to_owned());
            row.status = "complete".to_owned();
        })
        .unwrap();
        report::rewrite(run.root(), None, &Unobserved::shared()).unwrap();
        assert_eq!(told(&run), of_row);
    }
}

#[test]
fn numbers_do_not_need_the_raw_files() {
    for with_trace in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::new(taken(folder.path(), with_trace).folder);
        report::rewrite(run.root(), None, &Unobserved::shared()).unwrap();
        let (before, of_row) = (numbers(&run), told(&run));
        let opened = Run::open(run.root()).unwrap();
        let rounds =
            || -> Vec<Vec<f64>> { headline::ALL.iter().map(|metric| opened.rounds(metric)).collect() };
        let measured = rounds();
        assert_eq!(measured[0], [100.0, 150.0]);
        fs::remove_dir_all(run.root().join("raw")).unwrap();
        assert_eq!(rounds(), measured);
        report::rewrite(run.root(), None, &Unobserved::shared()).unwrap();
        assert_eq!(numbers(&run), before);
        assert_eq!(told(&run), of_row);
    }
}

#[test]
fn a_copy_of_a_run_has_all_of_its_tables() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(taken(folder.path(), true).folder);
    write_table(&run, &Counters::default()).unwrap();
    fs::write(run.table("of_a_later_version"), "anything").unwrap();
    let copy = saved::destination(&folder.path().join("copy")).unwrap();
    let observer = Unobserved::shared();
    let (input, request) = (Input::Run(run.clone()), ModelRequest::default());
    let analyzed = analysis::analyze(&input, &Notes::default(), &request, Some(&copy), &observer);
    report::save(&copy, &mut analyzed.unwrap()).unwrap();
    assert_eq!(told(&copy), told(&run));
    for name in ["requests", "tokens", "steps", "counters", "of_a_later_version", "notes"] {
        let bytes = |run: &RunDir| fs::read(run.table(name)).unwrap();
        assert!(bytes(&copy) == bytes(&run), "{name}");
    }
    let rounds = |run: &RunDir| -> Vec<Vec<f64>> {
        let opened = Run::open(run.root()).unwrap();
        headline::ALL.iter().map(|metric| opened.rounds(metric)).collect()
    };
    assert_eq!(rounds(&copy), rounds(&run));
}
