//! Nsight Systems: the SQLite file that `nsys export --type sqlite` writes, of schema 3.0 to 3.25, or the same
//! tables as a folder of Parquet or Arrow files.
//!
//! Columns are asked for by name; a table or column that a version does not write is absent, as is one
//! that nothing was recorded for. Only names that a record refers to are read: the file's strings hold
//! the environment of every process of the machine.
//!
//! * `tables`: the folders.
//! * `strings`: names by their number.
//! * `device`, `host`, `nvtx`: records to rows.
//! * `about`: devices, clock, versions, and what the tool itself complains of.

mod about;
mod device;
mod host;
mod nvtx;
#[cfg(test)]
mod range_tests;
mod strings;
#[cfg(test)]
mod table_tests;
mod tables;
#[cfg(test)]
mod tests;

use std::path::Path;

use rooflens_schema::{Interner, Notes, RankTables, Severity, Stage};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;
use crate::formats::{Format, finish};
use crate::sqlite::{self, Database};
use strings::Strings;

pub(crate) use tables::{is_beside, keep_one};

/// The format.
pub(crate) struct Nsys;

impl Format for Nsys {
    fn name(&self) -> &'static str {
        "nsys"
    }

    fn about(&self) -> &'static str {
        "Nsight Systems export: .sqlite, or a folder, by nsys export --type sqlite, parquetdir, arrowdir"
    }

    fn sniff(&self, probe: &Probe) -> bool {
        // The text of the schema stands on the first pages.
        let has = |word: &str| memchr::memmem::find(&probe.head, word.as_bytes()).is_some();
        tables::is_one(probe)
            || probe.head.starts_with(sqlite::MAGIC)
                && ["StringIds", "CUPTI_ACTIVITY_KIND", "NVTX_EVENTS", "TARGET_INFO_SESSION"]
                    .into_iter()
                    .any(has)
    }

    fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let folder = from.file().filter(|_| tables::is_one(from.probe())).map(Path::to_owned);
        let source = match folder.as_deref().and_then(Path::parent).and_then(Path::file_name) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => from.name().to_owned(),
        };
        let fail = |why: String| IngestError::NoRecords { source_name: source.clone(), format: "nsys", why };
        let database = match &folder {
            Some(file) => tables::load(file).and_then(|(connection, damaged)| {
                for message in damaged {
                    notes.add(Stage::Ingest, Severity::DataLoss, "damaged_table", &source, message);
                }
                Database::loaded(connection, &source, &from, notes)
            }),
            None => Database::of(from, notes),
        };
        let database = database.map_err(|error| fail(error.to_string()))?;
        let interner = Interner::default();
        let (tables, extent, records) = read_all(&database, &interner);
        database.all_is_read();
        let Some(extent) = extent else {
            return Err(fail("nothing was recorded in it".to_owned()));
        };
        Ok(finish(tables, interner, (self.name(), source), records, extent))
    }
}

/// The rows, the first start and last end among them, and how many records there are.
fn read_all(database: &Database<'_>, interner: &Interner) -> (RankTables, Option<(i64, i64)>, i64) {
    let mut reader = Reader {
        strings: Strings::new(database, interner),
        database,
        processes: Vec::new(),
        tables: RankTables::default(),
        extent: None,
        records: 0,
    };
    reader.device();
    reader.host();
    reader.nvtx();
    reader.about();
    (reader.tables, reader.extent, reader.records)
}

/// Rows so far, and what is needed to read more.
struct Reader<'a> {
    database: &'a Database<'a>,
    strings: Strings<'a>,
    /// Processes in the order they are met: correlation ids are theirs alone.
    processes: Vec<i64>,
    tables: RankTables,
    extent: Option<(i64, i64)>,
    records: i64,
}

impl Reader<'_> {
    /// Start and duration of a record, which widen the extent of the trace. Without both it is counted
    /// as lost.
    fn span(&mut self, start: Option<i64>, end: Option<i64>) -> Option<(i64, i64)> {
        self.records += 1;
        let (Some(start), Some(end)) = (start, end) else {
            self.database.lost("event_without_time", "records without a start or an end");
            return None;
        };
        if end < start {
            self.database.lost("event_without_time", "records that end before they start");
            return None;
        }
        let (first, last) = self.extent.unwrap_or((start, end));
        self.extent = Some((first.min(start), last.max(end)));
        Some((start, end.saturating_sub(start)))
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

/// The process of a global id.
fn process(global: Option<i64>) -> i64 {
    (global.unwrap_or(0) >> 24) & 0xff_ffff
}
