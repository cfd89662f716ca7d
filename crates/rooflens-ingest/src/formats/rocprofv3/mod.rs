//! rocprofv3: the CSV files that `rocprofv3 --output-format csv` writes, of ROCm 6.2 to 7.
//!
//! A process has a file for its kernels, one for its copies, one for the calls of each library and one
//! for its ranges. They share a prefix, and any of them stands for all. Columns are found by name.
//!
//! * `line`: a line to values.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rooflens_schema::tables::DeviceRow;
use rooflens_schema::{Interner, RankTables, Severity};

use super::rocm::{Call, Copy, Dispatch, RocmRows};
use crate::artefact::{Artefact, InputSource, Probe, ReadProgress, STOPPED};
use crate::csv;
use crate::error::IngestError;
use crate::lines::each_up_to;
use crate::reading::{Format, Reading, narrow};

/// No line is longer; a longer one is no record.
const LONGEST_LINE: usize = 1 << 20;

pub(crate) const FORMAT: Format = Format {
    name: "rocprofv3",
    about: "rocprofv3 CSV: PREFIX_kernel_trace.csv with its siblings for copies, calls and ranges",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    let end = memchr::memchr(b'\n', &probe.head).unwrap_or(probe.head.len());
    std::str::from_utf8(&probe.head[..end]).is_ok_and(|line| Header::of(line).is_some())
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let interner = Interner::default();
    let mut rows = RocmRows::new(&interner, reading);
    let file = from.file().map(Path::to_owned);
    let progress = from.progress();
    lines(from, &mut rows, reading);
    if let Some(file) = file {
        join(&file, &mut rows, reading, &progress);
    }
    rows.tell();
    let RocmRows { tables, extent, records, .. } = rows;
    let extent = extent.0.ok_or_else(|| reading.fail("no line of it is a record with a start and an end"))?;
    Ok(reading.finish(tables, interner, records, extent))
}

/// Reads what stands beside a file of a set, and says so.
fn join(file: &Path, rows: &mut RocmRows<'_>, reading: &Reading<'_>, progress: &ReadProgress) {
    let mut joined = Vec::new();
    for path in siblings(file) {
        // The bytes to read are counted without siblings: they can stop the reading, not move it on.
        let progress = progress.clone();
        let sibling = Artefact::open(&InputSource::File(path), Arc::new(move |_| progress(0)));
        match sibling {
            Ok(sibling) if sniff(sibling.probe()) => {
                joined.push(sibling.name().to_owned());
                let own = Reading { source: sibling.name().to_owned(), ..*reading };
                lines(sibling, rows, &own);
            }
            Ok(sibling) => {
                let name = sibling.name();
                let message = format!("{name} does not have the expected columns and was not read");
                reading.lost("damaged_header", 1, message);
            }
            // A file without even a header: nothing of its kind was recorded.
            Err(IngestError::Empty { .. }) => {}
            Err(error) => reading.lost("stream_error", 1, error.to_string()),
        }
    }
    if let Some(path) = agents(file)
        && let Ok(agents) = Artefact::open(&InputSource::File(path), crate::no_progress())
    {
        joined.push(agents.name().to_owned());
        devices(agents, &mut rows.tables);
    }
    if !joined.is_empty() {
        let message = format!("read with it, as files of the same process: {}", joined.join(", "));
        reading.note(Severity::Info, "joined_files", 1, message);
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
fn lines(from: Artefact, rows: &mut RocmRows<'_>, reading: &Reading<'_>) {
    let mut header: Option<Header> = None;
    let (mut columns, mut whole) = (0, true);
    let error = each_up_to(from.into_reader(), LONGEST_LINE, |line, is_whole| {
        whole = is_whole;
        let Some(header) = &header else {
            header = Header::of(line);
            columns = csv::cells(line).len();
            return;
        };
        if line.is_empty() {
            return;
        }
        if line.contains(char::REPLACEMENT_CHARACTER) {
            reading.lost("invalid_text", 1, "names that are not valid UTF-8; bad bytes were replaced");
        }
        let values = csv::cells(line);
        if values.len() == columns {
            record(header, &values, rows);
        } else {
            rows.records += 1;
            reading.lost("damaged_event", 1, "lines with more or fewer values than columns");
        }
    });
    if let Some(error) = error {
        let code = if error.to_string() == STOPPED { "stopped" } else { "stream_error" };
        reading.lost(code, 1, format!("the stream ends early: {error}; the rest is missing"));
    } else if !whole && header.is_some() {
        let message = "the last line has no newline: the file may be truncated";
        reading.note(Severity::Warning, "unended_line", 1, message);
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
    if from.into_reader().take(LONGEST_LINE as u64).read_to_string(&mut text).is_err() {
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

/// What stands behind the prefix; the first that is there stands for the set.
const PARTS: &[&str] = &[
    "_kernel_trace.csv",
    "_memory_copy_trace.csv",
    "_hip_api_trace.csv",
    "_hip_runtime_api_trace.csv",
    "_hip_compiler_api_trace.csv",
    "_hsa_api_trace.csv",
    "_rccl_api_trace.csv",
    "_marker_api_trace.csv",
];

const AGENTS: &str = "_agent_info.csv";

/// A file of a set: folder and prefix, and which part it is. A name without a prefix tells nothing about
/// its neighbours: it is a set of its own.
fn part(path: &Path) -> Option<(PathBuf, usize)> {
    let name = path.file_name()?.to_str()?;
    PARTS.iter().enumerate().find_map(|(index, part)| {
        let prefix = name.strip_suffix(part).filter(|prefix| !prefix.is_empty())?;
        Some((path.with_file_name(prefix), index))
    })
}

fn siblings(path: &Path) -> Vec<PathBuf> {
    let Some((prefix, own)) = part(path) else { return vec![] };
    let others = PARTS.iter().enumerate().filter(|(index, _)| *index != own);
    others.map(|(_, part)| with_suffix(&prefix, part)).filter(|path| path.is_file()).collect()
}

fn agents(path: &Path) -> Option<PathBuf> {
    let (prefix, _) = part(path)?;
    Some(with_suffix(&prefix, AGENTS)).filter(|path| path.is_file())
}

/// Whether a file is no trace itself but read beside one.
pub(crate) fn is_beside_a_set(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let prefix = name.and_then(|name| name.strip_suffix(AGENTS)).filter(|prefix| !prefix.is_empty());
    let set = prefix.map(|prefix| path.with_file_name(prefix));
    set.is_some_and(|set| PARTS.iter().any(|part| with_suffix(&set, part).is_file()))
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = prefix.file_name().unwrap_or_default().to_owned();
    name.push(suffix);
    prefix.with_file_name(name)
}

/// Keeps one item of each set, the one with the kernels where there is one: it is read with its siblings.
pub(crate) fn keep_one_a_set<T>(items: &mut Vec<T>, path: impl Fn(&T) -> Option<&Path>) {
    let mut first: HashMap<PathBuf, usize> = HashMap::new();
    for (set, index) in items.iter().filter_map(|item| part(path(item)?)) {
        let best = first.entry(set).or_insert(index);
        *best = index.min(*best);
    }
    items.retain(|item| match path(item).and_then(part) {
        Some((set, index)) => first.get(&set) == Some(&index),
        None => true,
    });
}
