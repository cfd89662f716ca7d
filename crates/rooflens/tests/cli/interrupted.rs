//! The first Ctrl-C stops and reports, the second kills.

use std::process::ChildStdin;

use super::*;

/// An analysis of a trace that has not ended.
fn reading(args: &[&str]) -> (Going, ChildStdin) {
    let mut command = rooflens(args);
    command.stdin(Stdio::piped());
    let mut going = Going::start(command);
    let mut trace = going.child.stdin.take().unwrap();
    trace.write_all(b"{\"schemaVersion\": 1, \"traceEvents\": [\n").unwrap();
    // More than a pipe holds: once it is written, the program is reading.
    for i in 0..40_000 {
        let event = format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {i}, "dur": 0.5,
               "args": {{"device": 0, "stream": 7}}}},"#
        );
        trace.write_all(event.as_bytes()).unwrap();
    }
    (going, trace)
}

#[test]
fn the_first_interrupt_reports_what_was_read() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    let (mut reading, mut trace) = reading(&["analyze", "-", "--format", "json", "-o", &run_dir]);
    reading.press();
    reading.wait_for("stopping");
    // The next bytes it meets are one too many. It may close its end at any of them.
    let more = vec![b' '; 1 << 20];
    while trace.write_all(&more).is_ok() {}
    let (code, stdout) = reading.end();
    assert_eq!(code, 130);
    let json: Json = serde_json::from_str(&stdout).unwrap();
    let notes = json["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["code"] == "stopped"), "{notes:?}");
    assert!(json["devices"][0]["activities"].as_i64().unwrap() > 1_000);
    let saved = text(&["analyze", &run_dir, "--format", "json", "--quiet"]);
    assert_eq!(saved, stdout, "the partial run was saved");
}

#[test]
fn the_second_interrupt_kills() {
    let (mut reading, _trace) = reading(&["analyze", "-"]);
    reading.press();
    reading.wait_for("stopping");
    reading.press();
    // Its input is still open: it did not wait for more of it.
    assert_eq!(reading.end(), (130, String::new()));
}
