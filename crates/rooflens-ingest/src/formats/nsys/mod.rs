//! Nsight Systems: the SQLite file that `nsys export --type sqlite` writes, of schema 3.0 to 3.25, or the same
//! tables as a folder of Parquet or Arrow files.
//!
//! Columns are asked for by name; a table or column that a version does not write is absent, as is one
//! that nothing was recorded for. Only names that a record refers to are read: the file's strings hold
//! the environment of every process of the machine.
//!
//! * `tables`: the folders.
//! * `device`, `host`, `nvtx`: records to rows.

mod device;
mod host;
mod nvtx;
#[cfg(test)]
mod range_tests;
#[cfg(test)]
mod table_tests;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use rooflens_schema::tables::DeviceRow;
use rooflens_schema::{Interner, NameId, RankTables, Severity};
use rusqlite::types::ValueRef;
use rusqlite::{Row, Statement};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::reading::{Extent, Format, Reading, narrow};
use crate::sqlite::{self, Database, number, text};

pub(crate) use tables::{is_beside, keep_one};

pub(crate) const FORMAT: Format = Format {
    name: "nsys",
    about: "Nsight Systems export: .sqlite, or a folder, by nsys export --type sqlite, parquetdir, arrowdir",
    sniff,
    read,
};

fn sniff(probe: &Probe) -> bool {
    // The text of the schema stands on the first pages.
    let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
    tables::is_one(probe)
        || probe.head.starts_with(sqlite::MAGIC)
            && ["StringIds", "CUPTI_ACTIVITY_KIND", "NVTX_EVENTS", "TARGET_INFO_SESSION"].into_iter().any(has)
}

fn read(from: Artefact, reading: &Reading<'_>) -> Result<RankTables, IngestError> {
    let folder = from.file().filter(|_| tables::is_one(from.probe())).map(Path::to_owned);
    let name = match folder.as_deref().and_then(Path::parent).and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => from.name().to_owned(),
    };
    let reading = &Reading { source: name, ..*reading };
    let database = match &folder {
        Some(file) => tables::load(file).and_then(|(connection, damaged)| {
            damaged.into_iter().for_each(|message| reading.lost("damaged_table", 1, message));
            Database::loaded(connection, &from, reading)
        }),
        None => Database::of(from, reading),
    };
    let database = database.map_err(|error| reading.fail(error.to_string()))?;
    let interner = Interner::default();
    let (tables, extent, records) = read_all(&database, &interner);
    database.all_is_read();
    let extent = extent.0.ok_or_else(|| reading.fail("nothing was recorded in it"))?;
    Ok(reading.finish(tables, interner, records, extent))
}

fn read_all(database: &Database<'_>, interner: &Interner) -> (RankTables, Extent, i64) {
    let mut reader = Reader {
        strings: Strings::new(database, interner),
        database,
        processes: Vec::new(),
        tables: RankTables::default(),
        extent: Extent::default(),
        records: 0,
    };
    reader.device();
    reader.host();
    reader.nvtx();
    reader.about();
    (reader.tables, reader.extent, reader.records)
}

struct Reader<'a> {
    database: &'a Database<'a>,
    strings: Strings<'a>,
    /// Processes in the order they are met: correlation ids are theirs alone.
    processes: Vec<i64>,
    tables: RankTables,
    extent: Extent,
    records: i64,
}

impl Reader<'_> {
    /// Start and duration of a record, which widen the extent of the trace. Without both it is counted
    /// as lost.
    fn span(&mut self, start: Option<i64>, end: Option<i64>) -> Option<(i64, i64)> {
        self.records += 1;
        let message = match (start, end) {
            (Some(start), Some(end)) if start <= end => {
                self.extent.saw(start, end);
                return Some((start, end.saturating_sub(start)));
            }
            (Some(_), Some(_)) => "records that end before they start",
            _ => "records without a start or an end",
        };
        self.database.reading.lost("event_without_time", 1, message);
        None
    }

    /// A correlation id that is one of the whole file: those of the first process stay as they are.
    fn correlation(&mut self, global: Option<i64>, id: Option<i64>) -> Option<i64> {
        // A process or thread of a machine: 8 bits of type, 8 of machine, 24 of process, 24 of thread.
        let process = global.unwrap_or(0) >> 24;
        let index = self.processes.iter().position(|known| *known == process).unwrap_or_else(|| {
            self.processes.push(process);
            self.processes.len() - 1
        });
        id.filter(|id| *id > 0).map(|id| ((index as i64) << 32) | (id & 0xffff_ffff))
    }
}

/// The thread of a global id. Threads of a machine have different numbers, whatever their process.
fn thread(global: Option<i64>) -> i64 {
    global.unwrap_or(0) & 0xff_ffff
}

fn process(global: Option<i64>) -> i64 {
    (global.unwrap_or(0) >> 24) & 0xff_ffff
}

/// Names by their number in `StringIds`.
struct Strings<'a> {
    lookup: Option<Statement<'a>>,
    interner: &'a Interner,
    known: HashMap<i64, NameId, foldhash::fast::RandomState>,
    /// Texts that were asked for as such: a range's name may stand at a million ranges.
    texts: HashMap<i64, Option<Rc<str>>, foldhash::fast::RandomState>,
}

impl<'a> Strings<'a> {
    fn new(database: &'a Database<'_>, interner: &'a Interner) -> Self {
        // `id` is the key of whole numbers that `rowid` stands for.
        let lookup = database.by_number("StringIds", &["value"]);
        Strings { lookup, interner, known: HashMap::default(), texts: HashMap::default() }
    }

    fn intern(&self, text: &str) -> NameId {
        self.interner.intern(text)
    }

    /// The text of a number, through `shape`, which makes a name of it.
    fn get(&mut self, id: i64, shape: fn(&str) -> &str) -> NameId {
        if let Some(name) = self.known.get(&id) {
            return *name;
        }
        let name = self.look_up(id).map_or_else(
            || self.interner.intern(&format!("(string {id} is missing)")),
            |text| self.interner.intern(shape(&text)),
        );
        self.known.insert(id, name);
        name
    }

    fn text(&mut self, id: i64) -> Option<Rc<str>> {
        if let Some(text) = self.texts.get(&id) {
            return text.clone();
        }
        let found = self.look_up(id);
        self.texts.insert(id, found.clone());
        found
    }

    fn look_up(&mut self, id: i64) -> Option<Rc<str>> {
        let mut rows = self.lookup.as_mut()?.query([id]).ok()?;
        rows.next().ok().flatten().and_then(|row| text(row, 0).map(Rc::from))
    }

    /// The first name of a row: each column is a text itself, or the number of one.
    fn of_row(&mut self, row: &Row<'_>, columns: &[usize], shape: fn(&str) -> &str) -> Option<NameId> {
        columns.iter().find_map(|column| match row.get_ref(*column) {
            Ok(ValueRef::Integer(id)) => Some(self.get(id, shape)),
            Ok(ValueRef::Text(bytes)) => {
                std::str::from_utf8(bytes).ok().map(|text| self.interner.intern(shape(text)))
            }
            _ => None,
        })
    }
}

const KEPT: &[(&str, &str)] =
    &[("EXPORT_PRODUCT_VERSION", "nsys_version"), ("EXPORT_SCHEMA_VERSION", "nsys_schema_version")];

impl Reader<'_> {
    fn about(&mut self) {
        self.devices();
        self.database.each("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |row| {
            self.tables.meta.base_unix_ns = number(row, 0);
        });
        for table in ["META_DATA_EXPORT", "EXPORT_META_DATA"] {
            self.database.each(table, &["name", "value"], |row| {
                let (Some(name), Some(value)) = (text(row, 0), text(row, 1)) else { return };
                if let Some((_, kept)) = KEPT.iter().find(|(known, _)| *known == name) {
                    self.tables.meta.properties.push(((*kept).to_owned(), value.to_owned()));
                }
            });
        }
        self.complaints();
    }

    /// The file counts devices of the machine; kernels name those that their process sees.
    fn devices(&mut self) {
        let mut seen_as = Vec::new();
        self.database.each("TARGET_INFO_CUDA_DEVICE", &["gpuId", "cudaId"], |row| {
            seen_as.extend(number(row, 0).zip(number(row, 1)));
        });
        let columns = ["id", "cuDevice", "name", "totalMemory", "smCount", "computeMajor", "computeMinor"];
        self.database.each("TARGET_INFO_GPU", &columns, |row| {
            let id = number(row, 0);
            let by_process = seen_as.iter().find(|(gpu, _)| Some(*gpu) == id).map(|(_, cuda)| *cuda);
            let Some(device) = by_process.or(number(row, 1)).or(id).map(narrow) else { return };
            let version = number(row, 5).zip(number(row, 6));
            // A machine has more devices than a program uses.
            if self.tables.kernels.device.contains(&device) && !self.tables.devices.device.contains(&device) {
                self.tables.devices.push(DeviceRow {
                    device,
                    name: text(row, 2).unwrap_or_default().to_owned(),
                    memory_bytes: number(row, 3).into(),
                    units: number(row, 4).map(narrow).into(),
                    architecture: version.map(|(major, minor)| format!("{major}.{minor}")),
                });
            }
        });
    }

    fn complaints(&mut self) {
        const WARNING: i64 = 2;
        self.database.each("DIAGNOSTIC_EVENT", &["severity", "text"], |row| {
            let (Some(severity), Some(text)) = (number(row, 0), text(row, 1)) else { return };
            if severity >= WARNING {
                let message = format!("nsys says: {}", without_paths(text));
                self.database.reading.note(Severity::Warning, "nsys_diagnostic", 1, message);
            }
        });
    }
}

/// A path may tell who somebody is.
fn without_paths(text: &str) -> String {
    let words = text.split_whitespace();
    words.map(|word| if word.contains('/') { "[path]" } else { word }).collect::<Vec<_>>().join(" ")
}
