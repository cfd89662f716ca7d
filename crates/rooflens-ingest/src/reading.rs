//! A format, and what its readers have in common: notes and errors about an input, and the extent of its records.

use rooflens_schema::{Interner, Notes, RankTables, Severity, Stage};

use crate::artefact::{Artefact, Probe};
use crate::error::IngestError;

/// A tool's output that can be turned into tables.
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether the input is in this format, by its name and first bytes; never by the extension alone.
    pub(crate) sniff: fn(&Probe) -> bool,
    /// Reads the whole input. What cannot be read becomes a note; only an input that gives no record
    /// at all is an error.
    pub(crate) read: fn(Artefact, &Reading<'_>) -> Result<RankTables, IngestError>,
}

impl Format {
    /// Name: on the command line, in manifests, in the documentation.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it is, in one line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Reads an input that is in this format.
    pub fn read(&self, from: Artefact, notes: &Notes) -> Result<RankTables, IngestError> {
        let reading = Reading { source: from.name().to_owned(), format: self.name, notes };
        (self.read)(from, &reading)
    }
}

/// An input that is being read, for notes and errors about it.
pub(crate) struct Reading<'n> {
    pub(crate) source: String,
    pub(crate) format: &'static str,
    pub(crate) notes: &'n Notes,
}

impl Reading<'_> {
    /// Counts occurrences; nothing happens for zero.
    pub(crate) fn note(&self, severity: Severity, code: &str, count: i64, message: impl Into<String>) {
        self.notes.add_many(Stage::Ingest, severity, code, &self.source, count, message.into());
    }

    /// Counts something that is missing in the tables.
    pub(crate) fn lost(&self, code: &str, count: i64, message: impl Into<String>) {
        self.note(Severity::DataLoss, code, count, message);
    }

    /// Notes that the stream broke off.
    pub(crate) fn broke_off(&self, error: &std::io::Error) {
        self.lost("stream_error", 1, format!("the stream ends early: {error}; the rest is missing"));
    }

    /// The error of an input that gives no record.
    pub(crate) fn fail(&self, why: impl Into<String>) -> IngestError {
        IngestError::NoRecords { source_name: self.source.clone(), format: self.format, why: why.into() }
    }

    /// What every reader ends with: what the trace says about itself, and times from its first record on.
    pub(crate) fn finish(
        &self,
        mut tables: RankTables,
        interner: Interner,
        records: i64,
        (first_ns, last_ns): (i64, i64),
    ) -> RankTables {
        tables.meta.source.clone_from(&self.source);
        tables.meta.format = self.format.to_owned();
        tables.meta.events = records;
        (tables.meta.first_ns, tables.meta.last_ns) = (first_ns, last_ns);
        tables.names = interner.freeze();
        tables.shift(first_ns.saturating_neg());
        tables
    }
}

/// First start and last end of the records so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Extent(pub(crate) Option<(i64, i64)>);

impl Extent {
    pub(crate) fn saw(&mut self, start: i64, end: i64) {
        let (first, last) = self.0.unwrap_or((start, end));
        self.0 = Some((first.min(start), last.max(end)));
    }
}

/// Device, stream and launch sizes are small; what is not is held at the edge.
pub(crate) fn narrow(value: i64) -> i32 {
    value.clamp(i64::from(i32::MIN) + 1, i64::from(i32::MAX)) as i32
}
