//! Real traces of many tools and devices, where they are at hand: `ROOFLENS_CORPUS`, or a folder
//! beside the repository.
#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test may panic, a skipped one says so"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("ROOFLENS_CORPUS").map_or_else(beside, PathBuf::from).join("kineto");
    if folder.is_dir() {
        Some(folder)
    } else {
        eprintln!("skipped: no corpus at {}", folder.display());
        None
    }
}

fn traces(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            traces(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "gz") {
            found.push(path);
        }
    }
}

fn rooflens(args: &[&str]) -> (i32, Vec<u8>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_rooflens")).arg("--quiet").args(args).output().unwrap();
    (output.status.code().unwrap(), output.stdout, String::from_utf8(output.stderr).unwrap())
}

/// Not Kineto traces: they must be refused, with a hint.
const OTHERS: &[&str] = &["memory_timeline.raw.gz", "908_results.json.gz"];

#[test]
fn every_trace_is_analysed_and_every_note_explained() {
    let Some(folder) = corpus() else { return };
    let mut paths = Vec::new();
    traces(&folder, &mut paths);
    paths.sort();
    assert!(!paths.is_empty());
    let notes = rooflens(&["list", "notes", "--format", "json"]).1;
    let notes: serde_json::Value = serde_json::from_slice(&notes).unwrap();
    let known: Vec<&str> =
        notes["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    for path in &paths {
        let text = path.to_str().unwrap();
        let (code, stdout, stderr) = rooflens(&["analyze", text, "--format", "json"]);
        if OTHERS.iter().any(|name| text.ends_with(name)) {
            assert_eq!(code, 5, "{text}");
            assert!(stderr.contains("\nhint: rooflens list formats\n"), "{text}: {stderr}");
            continue;
        }
        assert_eq!((code, stderr.as_str()), (0, ""), "{text}");
        let json: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
        assert!(json["trace"]["events"].as_i64().unwrap() > 0, "{text}");
        for note in json["notes"].as_array().unwrap() {
            let code = note["code"].as_str().unwrap();
            let is_known = known.contains(&code) || code.starts_with("unread_");
            assert!(is_known, "{text}: note {code} is not in `rooflens list notes`");
        }
        // Large files look no different on the screen, and take their time.
        if path.metadata().unwrap().len() < 200_000 {
            let (code, stdout, stderr) = rooflens(&["analyze", text]);
            assert_eq!((code, stderr.as_str()), (0, ""), "{text}");
            assert!(stdout.split(|byte| *byte == b'\n').count() > 5, "{text}");
        }
    }
}

#[test]
fn a_job_and_its_run_give_the_same_answers() {
    let Some(folder) = corpus() else { return };
    let scratch = tempfile::tempdir().unwrap();
    let run = scratch.path().join("run");
    for input in [
        "hta/trace_filter",
        "tracelens/b200/eager_trace.json.gz",
        "cpu_llama/llama8x512_prefill_decode.json.gz",
    ] {
        let path = folder.join(input);
        let (path, run) = (path.to_str().unwrap(), run.to_str().unwrap());
        let (code, of_trace, stderr) = rooflens(&["analyze", path, "--format", "json", "-o", run]);
        assert_eq!(code, 0, "{input}: {stderr}");
        let (code, of_run, stderr) = rooflens(&["analyze", run, "--format", "json"]);
        assert_eq!(code, 0, "{input}: {stderr}");
        assert!(of_run == of_trace, "{input}: the run differs from its trace");
    }
}
