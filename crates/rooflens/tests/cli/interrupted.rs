//! The first Ctrl-C stops and reports, the second kills.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, Stdio};

use super::*;

/// The program, in the middle of a trace on standard input.
struct Reading {
    child: Child,
    trace: ChildStdin,
    talk: BufReader<ChildStderr>,
}

impl Reading {
    fn start(args: &[&str]) -> Self {
        let mut command = rooflens(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut trace = child.stdin.take().unwrap();
        let talk = BufReader::new(child.stderr.take().unwrap());
        trace.write_all(b"{\"schemaVersion\": 1, \"traceEvents\": [\n").unwrap();
        // More than a pipe holds: once it is written, the program is reading.
        for i in 0..40_000 {
            let event = format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": {i}, "dur": 0.5,
                   "args": {{"device": 0, "stream": 7}}}},"#
            );
            trace.write_all(event.as_bytes()).unwrap();
        }
        Reading { child, trace, talk }
    }

    fn interrupt(&self) {
        let sent = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn wait_for(&mut self, word: &str) {
        let mut said = String::new();
        while !said.contains(word) {
            assert!(self.talk.read_line(&mut said).unwrap() > 0, "it ended without a word: {said}");
        }
    }
}

#[test]
fn the_first_interrupt_reports_what_was_read() {
    let folder = Folder::new();
    let run_dir = folder.text("run");
    let mut reading = Reading::start(&["analyze", "-", "--format", "json", "-o", &run_dir]);
    reading.interrupt();
    reading.wait_for("stopping");
    // The next bytes it meets are one too many. It may close its end at any of them.
    let more = vec![b' '; 1 << 20];
    while reading.trace.write_all(&more).is_ok() {}
    let mut stdout = String::new();
    reading.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(reading.child.wait().unwrap().code(), Some(130));
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let notes = json["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note["code"] == "stopped"), "{notes:?}");
    assert!(json["devices"][0]["activities"].as_i64().unwrap() > 1_000);
    let saved = run(&["analyze", &run_dir, "--format", "json", "--quiet"]).fine();
    assert_eq!(saved, stdout, "the partial run was saved");
}

#[test]
fn the_second_interrupt_kills() {
    let mut reading = Reading::start(&["analyze", "-"]);
    reading.interrupt();
    reading.wait_for("stopping");
    reading.interrupt();
    // Its input is still open: it did not wait for more of it.
    assert_eq!(reading.child.wait().unwrap().code(), Some(130));
    let mut stdout = String::new();
    reading.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "");
}
