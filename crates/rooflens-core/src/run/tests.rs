//! A run that is read again tells what it told when it was made. What each step leaves is given.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rooflens_analyze::compare::headline;
use rooflens_collect::execute::Scripted;
use rooflens_schema::parquet_io::{edit_run_row, read_notes, read_table, write_table};
use rooflens_schema::tables::{Counters, RunRow, Runs};
use rooflens_schema::{Note, Notes, RunDir};
use serde_json::Value as Json;

use super::job::{self, RunOutcome};
use super::{Planned, Run, RunRequest, launch};
use crate::config::folders;
use crate::error::ErrorKind;
use crate::input::Input;
use crate::model::ModelRequest;
use crate::observer::Unobserved;
use crate::{analysis, report, saved};

pub(super) const EVENTS: &str = r#"{"event":"hello","runtime":"pytorch","python":"3.11","versions":{"torch":"2.0"},"clock":{"monotonic_ns":500,"unix_ns":2000000}}
{"event":"model","name":"tiny","dtype":"float32","device":"cpu","load_ns":7}
{"event":"dataset","name":"starter","batch_size":1}
{"event":"round_begin","t_ns":900,"round":0,"kind":"warmup","epoch":0}
{"event":"round_end","t_ns":1500,"round":0,"kind":"warmup","dur_ns":600}"#;
pub(super) const REQUESTS: &str = r#"{"round":0,"kind":"warmup","prompt_tokens":4,"output_tokens":1,"start_ns":1000,"token_ns":[1400]}
{"round":1,"kind":"measured","prompt_tokens":4,"output_tokens":3,"start_ns":5000,"token_ns":[5400,5500,5600]}
{"round":2,"kind":"measured","prompt_tokens":4,"output_tokens":2,"start_ns":6000,"token_ns":[6300,6450]}
{"round":2,"kind":"meas"#;
pub(super) const STEPS: &str =
    "kind,phase,decode_tokens,start_ns,dur_ns\nmeasured,prefill,0,5000,400\nmeasured,decode,1,5410,90\n";

/// Two decode steps of one sequence: those of the trace, once they are named so.
const PROFILED: &str =
    "kind,phase,batch,prefill_tokens,decode_tokens,kv_tokens,prompts,pictures,start_ns,dur_ns
measured,decode,1,0,1,9,,none,5410,90
profiled,decode,1,0,1,9,,none,5410,90
profiled,decode,1,0,1,10,,none,5510,90
";

/// A run whose measured pass lost a line; with or without a profiled pass that left a trace.
fn taken(folder: &Path, with_trace: bool) -> RunOutcome {
    let own =
        ["pipeline.static_analysis.enable=false", &format!("pipeline.torch_profiler.enable={with_trace}")];
    taken_with(folder, &own, STEPS)
}

fn taken_with_model(folder: &Path) -> RunDir {
    let own = ["hardware=h100", "pipeline.torch_profiler.enable=true", "output.top=1"];
    RunDir::new(taken_with(folder, &own, PROFILED).folder)
}

pub(super) fn planned(overrides: &[&str]) -> Planned {
    let conf = concat!(env!("CARGO_MANIFEST_DIR"), "/../rooflens-collect/skeleton/conf");
    let overrides = overrides.iter().map(|one| (*one).to_owned()).collect();
    let request = RunRequest { config_dir: Some(conf.into()), overrides, ..RunRequest::default() };
    launch::plan(&request, &Unobserved::shared()).unwrap()
}

/// The name and content of a file that a step leaves.
pub(super) type LeftFile = (String, Vec<u8>);

pub(super) fn file(name: &str, bytes: impl AsRef<[u8]>) -> LeftFile {
    (name.to_owned(), bytes.as_ref().to_vec())
}

/// Takes the steps of a run below a folder; what each leaves is given.
pub(super) fn take(
    folder: &Path,
    own: &[&str],
    files: &[(&str, Vec<LeftFile>)],
    exit_codes: BTreeMap<String, i32>,
) -> RunOutcome {
    let place = format!("hydra.run.dir={}/run", folder.display());
    let planned = planned(&[&[place.as_str()][..], own].concat());
    folders::make(&planned.jobs[0].composed, false).unwrap();
    let files = files.iter().map(|(step, files)| ((*step).to_owned(), files.clone())).collect();
    job::take(&planned.jobs[0], &Scripted { files, exit_codes }, &Unobserved::shared()).unwrap()
}

fn taken_with(folder: &Path, own: &[&str], steps: &str) -> RunOutcome {
    let workload = |requests: &str| {
        vec![
            file("events.jsonl", EVENTS),
            file("steps.csv", steps),
            file("requests.jsonl", requests),
            file("tokens.jsonl", ""),
        ]
    };
    let trace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/kineto/decode.json");
    let whole = REQUESTS.rsplit_once('\n').unwrap().0;
    let mut profiled = workload(&whole.replace("measured", "profiled"));
    let named = ["ProfilerStep#1", "ProfilerStep#2"]
        .iter()
        .filter(|_| steps == PROFILED)
        .fold(fs::read_to_string(trace).unwrap(), |text, name| {
            text.replace(name, "execute_context_0(0)_generation_1(1)")
        });
    profiled.push(file("trace.json.gz", named));
    take(folder, own, &[("measure", workload(REQUESTS)), ("torch_profiler", profiled)], BTreeMap::new())
}

#[test]
fn a_step_that_fails_makes_the_run_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let request = r#"{"round":1,"kind":"measured","prompt_tokens":5,"output_tokens":2,"start_ns":10,"token_ns":[30,37]}"#;
    let measured = vec![
        file("events.jsonl", ""),
        file("steps.csv", "kind,phase,decode_tokens,dur_ns\n"),
        file("requests.jsonl", request),
        file("tokens.jsonl", ""),
    ];
    let exit_codes = BTreeMap::from([("torch_profiler".to_owned(), 1)]);
    let done = take(folder.path(), &[], &[("measure", measured)], exit_codes);
    assert_eq!((done.fault(), done.outcomes.len()), (Some(ErrorKind::Workload), 2));
    assert_eq!(done.document.status, "incomplete");
    let tpot = done.document.measured.and_then(|measured| measured.tpot_ns);
    assert_eq!(tpot.map(|tpot| tpot.p50), Some(7.0));
    for name in ["plan.json", ".rooflens/config.yaml", "report/metrics.json", "report/static_compute.json"] {
        assert!(done.folder.join(name).is_file(), "{name}");
    }
}

fn numbers(run: &RunDir) -> Json {
    saved::read_json(&run.report().join(saved::METRICS))
}

fn rounds(run: &RunDir) -> Vec<Vec<f64>> {
    let opened = Run::open(run.root()).unwrap();
    headline::ALL.iter().map(|metric| opened.rounds(metric)).collect()
}

fn row(run: &RunDir) -> RunRow {
    read_table::<Runs>(&run.table("runs")).unwrap().row(0).unwrap()
}

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
        let measured = rounds(&run);
        assert_eq!(measured[0], [100.0, 150.0]);
        fs::remove_dir_all(run.root().join("raw")).unwrap();
        assert_eq!(rounds(&run), measured);
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
    assert_eq!(rounds(&copy), rounds(&run));
}

fn files_of(run: &RunDir) -> BTreeMap<String, Vec<u8>> {
    let folders = [run.findings(), run.report()];
    let paths =
        folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
    let files = paths.filter(|path| path.is_file());
    files
        .map(|path| {
            (
                path.display().to_string().replace(&run.root().display().to_string(), ""),
                fs::read(path).unwrap(),
            )
        })
        .collect()
}

fn assert_same(after: &BTreeMap<String, Vec<u8>>, before: &BTreeMap<String, Vec<u8>>, what: &str) {
    assert!(after.keys().eq(before.keys()), "{what}: {:?}\n{:?}", after.keys(), before.keys());
    for (name, bytes) in before {
        let (after, before) = (String::from_utf8_lossy(&after[name]), String::from_utf8_lossy(bytes));
        let at = after.bytes().zip(before.bytes()).position(|(a, b)| a != b).unwrap_or(0).saturating_sub(60);
        let around = |text: &str| text.chars().skip(at).take(160).collect::<String>();
        assert!(after == before, "{what}: {name}\n{}\n{}", around(&after), around(&before));
    }
}

fn floor(run: &RunDir) -> Json {
    numbers(run)["analysis"]["ledger"]["phases"][0]["floors"].clone()
}

#[test]
fn a_report_made_again_changes_no_byte() {
    let folder = tempfile::tempdir().unwrap();
    let run = taken_with_model(folder.path());
    assert!(floor(&run)[0]["ns"].is_number(), "{}", numbers(&run)["analysis"]["ledger"]["not_computed"]);
    let (made, observer) = (files_of(&run), Unobserved::shared());
    report::rewrite(run.root(), None, &observer).unwrap();
    assert_same(&files_of(&run), &made, "report");
    let again = |into: &RunDir, request: &ModelRequest| {
        let input = Input::Run(run.clone());
        let tables = Some(into).filter(|into| into.root() != run.root());
        let analyzed = analysis::analyze(&input, &Notes::default(), request, tables, &observer);
        report::save(into, &mut analyzed.unwrap()).unwrap();
    };
    again(&run, &ModelRequest::default());
    assert_same(&files_of(&run), &made, "analyze -o into itself");
    // A copy is the same run: its pages, numbers and lower bounds, too.
    let copy = RunDir::new(folder.path().join("copy/run"));
    again(&copy, &ModelRequest::default());
    for name in ["/report/metrics.json", "/report/index.html", "/findings/ledger.json"] {
        let one = |run: &RunDir| BTreeMap::from([(name.to_owned(), files_of(run)[name].clone())]);
        assert_same(&one(&copy), &one(&run), "copy");
    }
    let copied = files_of(&copy);
    report::rewrite(copy.root(), None, &observer).unwrap();
    for (name, bytes) in &copied {
        assert!(files_of(&copy)[name] == *bytes, "report of a copy: {name}");
    }
    // Elsewhere the numbers are those of the run, too.
    let elsewhere = folder.path().join("public");
    report::rewrite(run.root(), Some(&elsewhere), &observer).unwrap();
    assert!(fs::read(elsewhere.join(saved::METRICS)).unwrap() == made["/report/metrics.json"]);
}

#[test]
fn another_device_counts_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let run = taken_with_model(folder.path());
    let (before, observer) = (floor(&run), Unobserved::shared());
    let input = Input::Run(run.clone());
    let request = ModelRequest { hardware: Some("mi300x".to_owned()), ..ModelRequest::default() };
    let analyzed = analysis::analyze(&input, &Notes::default(), &request, None, &observer);
    report::save(&run, &mut analyzed.unwrap()).unwrap();
    let found = numbers(&run);
    let device = |place: &str| found.pointer(place).and_then(Json::as_str).unwrap_or_default().to_owned();
    assert!(device("/analysis/ledger/floor_of/device").contains("MI300X"));
    assert!(device("/efficiency/device").contains("MI300X"), "{}", found["efficiency"]);
    let cost = fs::read_to_string(run.report().join("static_compute.json")).unwrap();
    assert!(cost.contains("MI300X") && !cost.contains("H100"));
    assert_ne!(floor(&run), before);
    let made = files_of(&run);
    report::rewrite(run.root(), None, &observer).unwrap();
    assert_same(&files_of(&run), &made, "report after another device");
}

#[test]
fn rounds_of_a_pass_that_failed_do_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let run = RunDir::new(taken(folder.path(), false).folder);
    let metric = headline::find("tpot_p50").unwrap();
    assert!(Run::open(run.root()).unwrap().sample(metric).is_some());
    let path = run.report().join(saved::METRICS);
    let text = fs::read_to_string(&path).unwrap().replace(r#""end":"done""#, r#""end":"crashed""#);
    fs::write(&path, text).unwrap();
    assert!(Run::open(run.root()).unwrap().sample(metric).is_none());
}
