//! A run on disk: its tables, its findings, and what people read.

use std::path::{Path, PathBuf};

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::Trace;
use rooflens_report::run::RunFacts;
use rooflens_report::{Extras, MarkdownPage};
use rooflens_schema::parquet_io::{self, RunWriter};
use rooflens_schema::tables::{RunRow, Runs};
use rooflens_schema::{Note, RankTables, RunDir, RunId, Severity};

use crate::document::{AnalysisDocument, FindingDocument, timeline};
use crate::error::Error;
use crate::input::Input;
use crate::model::ModelRecord;

pub(crate) use crate::disk::{METRICS, make, read_json, report_destination, write_json};
pub use crate::disk::{destination, remove, same_folder, scratch, write};

/// The row of a run that was read from traces, rank by rank.
pub(crate) struct TraceRow {
    row: RunRow,
    first_ns: i64,
    last_ns: i64,
    sources: Vec<String>,
}

const SOURCES: usize = 10;

impl TraceRow {
    pub(crate) fn new() -> Self {
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let row = RunRow { rooflens_version: version, ..RunRow::new("trace") };
        TraceRow { row, first_ns: i64::MAX, last_ns: i64::MIN, sources: vec![] }
    }

    /// Adds what a rank tells.
    pub(crate) fn rank(&mut self, tables: &RankTables) {
        let (meta, row) = (&tables.meta, &mut self.row);
        if row.ranks == 0 {
            row.format.clone_from(&meta.format);
        }
        if row.base_unix_ns.get().is_none() {
            row.base_unix_ns = meta.base_unix_ns.into();
        }
        row.events += meta.events;
        row.ranks += 1;
        row.world_size = row.world_size.get().max(meta.world_size).into();
        let named = || tables.devices.name.iter().find(|name| !name.is_empty()).cloned();
        row.hardware = row.hardware.take().or_else(named);
        let property = |name: &str| meta.properties.iter().find(|(key, _)| key == name);
        let driver = || property("cuda_driver_version").map(|(_, value)| value.clone());
        row.driver = row.driver.take().or_else(driver);
        self.first_ns = self.first_ns.min(meta.first_ns);
        self.last_ns = self.last_ns.max(meta.last_ns);
        self.sources.push(meta.source.clone());
    }

    /// The row of all ranks. The same input gives the same bytes: no time of day, no randomness.
    pub(crate) fn finish(self, run_id: RunId, notes: &[Note]) -> RunRow {
        let mut row = self.row;
        row.run_id = run_id;
        row.start_unix_ns = row.base_unix_ns.get().map(|base| base.saturating_add(self.first_ns)).into();
        row.source = self.sources[..self.sources.len().min(SOURCES)].join(", ");
        row.span_ns = self.last_ns.saturating_sub(self.first_ns);
        let lost = notes.iter().any(|note| note.severity == Severity::DataLoss);
        row.status = if lost { "incomplete" } else { "complete" }.to_owned();
        row
    }
}

/// Writes tables rank by rank. Nothing is touched on disk before there is a rank to write.
pub(crate) struct SavedTables {
    run: RunDir,
    copied: Option<RunDir>,
    writer: Option<RunWriter>,
    row: TraceRow,
}

impl SavedTables {
    /// For the run at `run`. What is read may be a run, too: then this one is a copy of it.
    pub(crate) fn new(run: &RunDir, input: &Input) -> Self {
        SavedTables {
            run: run.clone(),
            copied: match input {
                Input::Run(copied) => Some(copied.clone()),
                Input::Traces(_) => None,
            },
            writer: None,
            row: TraceRow::new(),
        }
    }

    /// Writes one rank.
    pub(crate) fn rank(&mut self, tables: &RankTables) -> Result<(), Error> {
        self.row.rank(tables);
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => {
                ModelRecord::remove(&self.run)?;
                self.writer.insert(RunWriter::create(&self.run).map_err(Error::unwritable_tables)?)
            }
        };
        writer.rank(tables).map_err(Error::unwritable_tables)
    }

    /// Writes what belongs to the whole run, and marks it as whole.
    pub(crate) fn finish(self, notes: &[Note]) -> Result<(), Error> {
        let Some(writer) = self.writer else { return Ok(()) };
        let mut row = self.row.finish(writer.content_id(), notes);
        if let Some(copied) = &self.copied {
            let known =
                parquet_io::read_table::<Runs>(&copied.table("runs")).map_err(Error::unreadable_run)?;
            row = known.row(0).map_or_else(|| row.clone(), |known| of_copy(row.clone(), known));
            writer.carry_over(copied).map_err(Error::unwritable_tables)?;
        }
        writer.finish(row, notes).map_err(Error::unwritable_tables)?;
        self.copied.map_or(Ok(()), |copied| crate::run::copy_files(&copied, &self.run))
    }
}

/// The row of a copy: what its ranks tell is as they were read now, all else as the run itself knew it. It is the same
/// run, so that it keeps its id; that of a trace follows from what was read.
fn of_copy(read: RunRow, known: RunRow) -> RunRow {
    let is_trace = known.kind == read.kind;
    RunRow {
        run_id: if is_trace { read.run_id } else { known.run_id.clone() },
        source: read.source,
        format: read.format,
        base_unix_ns: read.base_unix_ns,
        span_ns: read.span_ns,
        events: read.events,
        ranks: read.ranks,
        world_size: read.world_size,
        rooflens_version: read.rooflens_version,
        status: if known.status == "incomplete" { known.status.clone() } else { read.status },
        ..known
    }
}

/// Writes the notes of a run in place of those that it had.
pub fn write_notes(run: &RunDir, notes: &[Note]) -> Result<(), Error> {
    parquet_io::write_notes(run, notes).map_err(Error::unwritable_tables)
}

/// Writes each finding to its file, and removes those of an older run.
pub(crate) fn write_findings(run: &RunDir, findings: &Findings) -> Result<(), Error> {
    let folder = run.findings();
    make(&folder)?;
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            std::fs::remove_file(&path).map_err(|source| Error::unwritable(path, source))?;
        }
    }
    for (name, finding) in findings.iter() {
        write_json(folder.join(format!("{name}.json")), &FindingDocument { name, finding })?;
    }
    Ok(())
}

/// Writes the report: a page to open, Markdown, and the numbers. Answers where the page is.
pub(crate) fn write_report(folder: &Path, findings: &Findings, extras: Extras<'_>) -> Result<PathBuf, Error> {
    make(folder)?;
    let page = write_page(folder, findings, extras)?;
    write_markdown(folder, findings, extras)?;
    write_json(folder.join(METRICS), &AnalysisDocument(findings))?;
    Ok(page)
}

/// Writes the page to open, with what its timeline is drawn from, and answers where it is.
pub(crate) fn write_page(folder: &Path, findings: &Findings, extras: Extras<'_>) -> Result<PathBuf, Error> {
    let page = folder.join("index.html");
    timeline::write(folder, findings.timeline.as_ref())?;
    write(page.clone(), rooflens_report::html_with(findings, &title(findings), extras).as_bytes())?;
    Ok(page)
}

pub(crate) fn write_markdown(folder: &Path, findings: &Findings, extras: Extras<'_>) -> Result<(), Error> {
    for markdown in MarkdownPage::ALL {
        let text = rooflens_report::markdown_with(findings, *markdown, extras);
        write(folder.join(markdown.file_name()), text.as_bytes())?;
    }
    Ok(())
}

pub(crate) fn title(findings: &Findings) -> String {
    if let Some(run) = findings.get::<RunFacts>() {
        return run.title.clone();
    }
    let sources = findings.get::<Trace>().map(|trace| (trace.sources.as_slice(), trace.ranks));
    match sources {
        Some(([source], _)) => source.clone(),
        Some(([first, ..], ranks)) => format!("{first} and {} more", ranks.saturating_sub(1)),
        _ => "run".to_owned(),
    }
}
