//! rocprofv3: the CSV files that `rocprofv3 --output-format csv` writes, of ROCm 6.2 to 7.
//!
//! A process has a file for its kernels, one for its copies, one for the calls of each library and one
//! for its ranges. They share a prefix, and any of them stands for all. Columns are found by name.
//!
//! * `set`: which files belong together.
//! * `line`: a line to values.

mod set;
#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use rooflens_schema::tables::DeviceRow;
use rooflens_schema::{Interner, Notes, RankTables, Severity, Stage};

use super::rocm::{Call, Copy, Dispatch, RocmRows};
use super::{finish, narrow};
use crate::artefact::{Artefact, InputSource, Probe, ReadProgress};
use crate::csv;
use crate::error::IngestError;
use crate::formats::Format;
pub(crate) use set::{is_beside_a_set, keep_one_a_set};

/// No line is longer; a longer one is no record.
const LONGEST_LINE: u64 = 1 << 20;

/// The format.
pub(crate) struct Rocprofv3;

impl Format for Rocprofv3 {
    fn name(&self) -> &'static str {
        "rocprofv3"
    }

    fn about(&self) -> &'static str {
        "rocprofv3 CSV: PREFIX_kernel_trace.csv with its siblings for copies, calls and ranges"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        let end = memchr::memchr(b'\n', &probe.head).unwrap_or(probe.head.len());
        std::str::from_utf8(&probe.head[..end]).is_ok_and(|line| Header::of(line).is_some())
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let source = from.name().to_owned();
        let interner = Interner::default();
        let mut rows = RocmRows::new(&interner, notes, &source);
        let file = from.file().map(Path::to_owned);
        let progress = from.progress();
        lines(from, &mut rows, notes);
        if let Some(file) = file {
            join(&file, &source, &mut rows, notes, &progress);
        }
        rows.tell();
        let RocmRows { tables, extent, records, .. } = rows;
        let Some(extent) = extent else {
            let why = "no line of it is a record with a start and an end".to_owned();
            return Err(IngestError::NoRecords { source_name: source, format: self.name(), why });
        };
        Ok(finish(tables, interner, (self.name(), source), records, extent))
    }
}

/// Reads what stands beside a file of a set, and says so.
fn join(file: &Path, source: &str, rows: &mut RocmRows<'_>, notes: &Notes, progress: &ReadProgress) {
    let mut joined = Vec::new();
    for path in set::siblings(file) {
        // The bytes to read are counted without siblings: they can stop the reading, not move it on.
        let progress = progress.clone();
        let sibling = Artefact::open(&InputSource::File(path), Arc::new(move |_| progress(0)));
        match sibling {
            Ok(sibling) if Rocprofv3.sniff(sibling.probe()) => {
                joined.push(sibling.name().to_owned());
                lines(sibling, rows, notes);
            }
            Ok(sibling) => {
                let message = format!(
                    "{} does not have the expected columns and was not \
                                       read",
                    sibling.name()
                );
                notes.add(Stage::Ingest, Severity::DataLoss, "damaged_header", source, message);
            }
            // A file without even a header: nothing of its kind was recorded.
            Err(IngestError::Empty { .. }) => {}
            Err(error) => {
                notes.add(Stage::Ingest, Severity::DataLoss, "stream_error", source, error.to_string());
            }
        }
    }
    if let Some(path) = set::agents(file)
        && let Ok(agents) = Artefact::open(&InputSource::File(path), crate::no_progress())
    {
        joined.push(agents.name().to_owned());
        devices(agents, &mut rows.tables);
    }
    if !joined.is_empty() {
        let message = format!("read with it, as files of the same process: {}", joined.join(", "));
        notes.add(Stage::Ingest, Severity::Info, "joined_files", source, message);
    }
}

/// What the lines of a file are, and where their values stand.
enum Header {
    Kernels(Vec<Option<usize>>),
    Copies(Vec<Option<usize>>),
    Calls(Vec<Option<usize>>),
}

const KERNEL: &[&str] = &[
    "Start_Timestamp",
    "End_Timestamp",
    "Kernel_Name",
    "Agent_Id",
    "Queue_Id",
    "Correlation_Id",
    "Grid_Size_X",
    "Grid_Size_Y",
    "Grid_Size_Z",
    "Workgroup_Size_X",
    "Workgroup_Size_Y",
    "Workgroup_Size_Z",
    "VGPR_Count",
    "LDS_Block_Size",
    // The same before ROCm 6.4.
    "Group_Segment_Size",
];
const COPY: &[&str] = &[
    "Start_Timestamp",
    "End_Timestamp",
    "Direction",
    "Source_Agent_Id",
    "Destination_Agent_Id",
    "Correlation_Id",
];
const CALL: &[&str] =
    &["Start_Timestamp", "End_Timestamp", "Domain", "Function", "Thread_Id", "Correlation_Id"];

impl Header {
    fn of(line: &str) -> Option<Self> {
        let names = csv::cells(line.trim_end_matches('\r'));
        let has = |name: &str| names.iter().any(|known| known == name);
        let places = |wanted: &[&str]| {
            wanted.iter().map(|name| names.iter().position(|known| known == name)).collect::<Vec<_>>()
        };
        if !has("Start_Timestamp") || !has("End_Timestamp") {
            None
        } else if has("Kernel_Name") && has("Dispatch_Id") && !has("Counter_Name") {
            Some(Header::Kernels(places(KERNEL)))
        } else if has("Direction") && has("Source_Agent_Id") {
            Some(Header::Copies(places(COPY)))
        } else if has("Domain") && has("Function") {
            Some(Header::Calls(places(CALL)))
        } else {
            None
        }
    }
}

/// Reads the lines of a file that has a known header.
fn lines(from: Artefact, rows: &mut RocmRows<'_>, notes: &Notes) {
    let source = from.name().to_owned();
    let lost = |code: &str, message: String| {
        notes.add(Stage::Ingest, Severity::DataLoss, code, &source, message);
    };
    let mut reader = BufReader::with_capacity(1 << 16, from.into_reader());
    let mut header = None;
    let (mut bytes, mut columns, mut whole) = (Vec::new(), 0, true);
    loop {
        bytes.clear();
        match reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                let stopped = error.to_string() == crate::artefact::STOPPED;
                let code = if stopped { "stopped" } else { "stream_error" };
                return lost(code, format!("the stream ends early: {error}; the rest is missing"));
            }
        }
        whole = bytes.ends_with(b"\n");
        let text = String::from_utf8_lossy(&bytes);
        let line = text.trim_end_matches(['\n', '\r']);
        let Some(header) = &header else {
            header = Header::of(line);
            columns = csv::cells(line).len();
            if header.is_none() {
                return;
            }
            continue;
        };
        if line.is_empty() {
            continue;
        }
        if matches!(text, std::borrow::Cow::Owned(_)) {
            lost("invalid_text", "names that are not valid UTF-8; bad bytes were replaced".to_owned());
        }
        let values = csv::cells(line);
        if values.len() == columns {
            record(header, &values, rows);
        } else {
            rows.records += 1;
            lost("damaged_event", "lines with more or fewer values than columns".to_owned());
        }
    }
    if !whole && header.is_some() {
        let message = "the last line has no newline: the file may be truncated";
        notes.add(Stage::Ingest, Severity::Warning, "unended_line", &source, message.to_owned());
    }
}

fn record(header: &Header, values: &[String], rows: &mut RocmRows<'_>) {
    let (Header::Kernels(places) | Header::Copies(places) | Header::Calls(places)) = header;
    let text = |column: usize| places.get(column).copied().flatten().and_then(|at| values.get(at));
    let word = |column: usize| text(column).map(String::as_str);
    let number = |column: usize| text(column).and_then(|value| trailing_number(value));
    let span = (number(0), number(1));
    match header {
        Header::Kernels(_) => rows.dispatch(&Dispatch {
            span,
            name: word(2),
            agent: number(3),
            queue: number(4),
            correlation: number(5),
            grid_items: [number(6), number(7), number(8)],
            workgroup: [number(9), number(10), number(11)],
            registers: number(12),
            lds_bytes: number(13).or(number(14)),
        }),
        Header::Copies(_) => rows.copy(&Copy {
            span,
            direction: word(2).unwrap_or_default(),
            from_agent: number(3),
            to_agent: number(4),
            correlation: number(5),
            ..Copy::default()
        }),
        Header::Calls(_) => rows.call(&Call {
            span,
            domain: word(2).unwrap_or_default(),
            name: word(3),
            thread: number(4),
            correlation: number(5),
        }),
    }
}

/// The devices that were used, as the file of agents describes them.
fn devices(from: Artefact, tables: &mut RankTables) {
    const COLUMNS: &[&str] = &["Node_Id", "Agent_Type", "Product_Name", "Name", "Cu_Count"];
    let mut text = String::new();
    if from.into_reader().take(LONGEST_LINE).read_to_string(&mut text).is_err() {
        return;
    }
    let mut lines = text.lines().map(csv::cells);
    let Some(names) = lines.next() else { return };
    let places: Vec<Option<usize>> =
        COLUMNS.iter().map(|name| names.iter().position(|known| known == name)).collect();
    for values in lines.filter(|values| values.len() == names.len()) {
        let value = |column: usize| places[column].and_then(|at| values.get(at));
        let number = |column: usize| value(column).and_then(|value| trailing_number(value)).map(narrow);
        let is_gpu = value(1).is_some_and(|kind| kind == "GPU");
        let Some(device) = number(0).filter(|device| is_gpu && tables.kernels.device.contains(device)) else {
            continue;
        };
        tables.devices.push(DeviceRow {
            device,
            name: value(2).cloned().unwrap_or_default(),
            memory_bytes: None.into(),
            units: number(4).into(),
            architecture: value(3).cloned(),
        });
    }
}

/// The number in a value: `4`, or the 4 of `Agent 4`.
fn trailing_number(value: &str) -> Option<i64> {
    value.rsplit(' ').next()?.parse().ok()
}
