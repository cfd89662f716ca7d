//! Starts the engine and reads what it says.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Value, json};

pub struct Answer {
    pub code: Option<i32>,
    pub bytes: Vec<u8>,
    pub events: Vec<Value>,
}

pub fn start(request: &Value) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rooflens-query"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the engine was built");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(request.to_string().as_bytes()).expect("it reads its request");
    child
}

pub fn end(child: Child) -> Answer {
    let output = child.wait_with_output().expect("it ends");
    let events = String::from_utf8(output.stderr).expect("text");
    let events =
        events.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")));
    Answer { code: output.status.code(), bytes: output.stdout, events: events.collect() }
}

pub fn ask(request: &Value) -> Answer {
    end(start(request))
}

pub fn sql(store: &Path, sql: &str) -> Answer {
    ask(&json!({"sql": sql, "store": store}))
}

impl Answer {
    /// The only event of a kind.
    pub fn event(&self, kind: &str) -> &Value {
        let mut found = self.events.iter().filter(|event| event["event"] == kind);
        let event = found.next().unwrap_or_else(|| panic!("no event {kind}: {:?}", self.events));
        assert!(found.next().is_none(), "more than one {kind}: {:?}", self.events);
        event
    }

    pub fn error(&self) -> (&str, &str) {
        assert_ne!(self.code, Some(0));
        let event = self.event("error");
        (event["kind"].as_str().expect("a word"), event["message"].as_str().expect("a text"))
    }

    pub fn hint(&self) -> &str {
        self.event("error")["hint"].as_str().unwrap_or_default()
    }

    pub fn scanned(&self) -> u64 {
        self.event("done")["scanned_bytes"].as_u64().expect("a number")
    }

    pub fn batches(&self) -> (SchemaRef, Vec<RecordBatch>) {
        assert_eq!(self.code, Some(0), "{:?}", self.events);
        let stream = StreamReader::try_new(self.bytes.as_slice(), None).expect("an Arrow stream");
        let schema = stream.schema();
        (schema, stream.map(|batch| batch.expect("a whole batch")).collect())
    }

    /// The result as lines of words; `-` is null.
    pub fn lines(&self) -> Vec<String> {
        let (_, batches) = self.batches();
        let options = FormatOptions::default().with_null("-");
        let mut lines = Vec::new();
        for batch in &batches {
            let columns: Vec<_> =
                batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options)).collect();
            for row in 0..batch.num_rows() {
                let words = columns
                    .iter()
                    .map(|column| column.as_ref().expect("can be shown").value(row).to_string());
                lines.push(words.collect::<Vec<_>>().join(" "));
            }
        }
        assert_eq!(self.event("done")["rows"], json!(lines.len()));
        lines
    }
}

/// Reads one byte, so that the process is known to answer.
pub fn first_byte(child: &mut Child) {
    let mut byte = [0];
    child.stdout.as_mut().expect("piped").read_exact(&mut byte).expect("a result");
}
