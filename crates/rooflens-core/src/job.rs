//! From an input to findings and tables, rank by rank: memory grows with the largest rank, not with
//! the job. Nothing here knows of a command line or prints.

use std::sync::Arc;

use rooflens_analyze::Findings;
use rooflens_analyze::facts::Capture;
use rooflens_ingest::privacy::Privacy;
use rooflens_ingest::{Artefact, IngestError, Progress};
use rooflens_schema::parquet_io::RunReader;
use rooflens_schema::{Notes, RankTables, RunDir, Severity, Stage};

use crate::error::Error;
use crate::input::ranks::{Clock, Numbering, SameJob};
use crate::input::{Input, TraceFile};
use crate::observer::{Activity, Event, SharedObserver};
use crate::saved::SavedTables;

/// What became of a job.
pub struct Outcome {
    /// Every answer.
    pub findings: Findings,
    /// Whether it was ended early: the findings are those of what was read until then.
    pub stopped: bool,
}

/// Reads an input and answers every question about it; writes its tables to `tables`, if given.
pub fn analyze(
    input: &Input,
    notes: &Notes,
    tables: Option<&RunDir>,
    observer: &SharedObserver,
) -> Result<Outcome, Error> {
    let mut job = rooflens_analyze::Job::default();
    let mut saved = tables.map(SavedTables::new);
    let stopped = each_rank(input, notes, observer, |rank| {
        observer.event(&Event::Began { activity: Activity::Analyzing, source: &rank.meta.source });
        job.rank(rank);
        saved.as_mut().map_or(Ok(()), |saved| {
            observer.event(&Event::Began { activity: Activity::Writing, source: &rank.meta.source });
            saved.rank(rank)
        })
    })?;
    let rows = notes.rows();
    if let Some(saved) = saved {
        saved.finish(&rows)?;
    }
    Ok(Outcome { findings: job.finish(rows), stopped })
}

/// Reads an input and writes its tables, facts included. Answers whether it was ended early.
pub fn import(
    input: &Input,
    notes: &Notes,
    tables: &RunDir,
    observer: &SharedObserver,
) -> Result<bool, Error> {
    let mut saved = SavedTables::new(tables);
    let stopped = each_rank(input, notes, observer, |rank| {
        observer.event(&Event::Began { activity: Activity::Writing, source: &rank.meta.source });
        saved.rank(rank)
    })?;
    saved.finish(&notes.rows())?;
    Ok(stopped)
}

/// Gives each rank, its facts derived, to `take`. Answers whether it was stopped early.
pub fn each_rank(
    input: &Input,
    notes: &Notes,
    observer: &SharedObserver,
    take: impl FnMut(&RankTables) -> Result<(), Error>,
) -> Result<bool, Error> {
    observer.event(&Event::Found { bytes: input.stored_bytes() });
    let stopped = match input {
        Input::Run(run) => each_stored_rank(run, notes, observer, take),
        Input::Traces(files) => each_trace(files, notes, observer, take),
    };
    observer.event(&Event::Finished);
    stopped
}

fn each_stored_rank(
    run: &RunDir,
    notes: &Notes,
    observer: &SharedObserver,
    mut take: impl FnMut(&RankTables) -> Result<(), Error>,
) -> Result<bool, Error> {
    let reader = RunReader::open(run).map_err(Error::UnreadableRun)?;
    for note in reader.notes().map_err(Error::UnreadableRun)? {
        notes.add_many(note.stage, note.severity, &note.code, &note.source, note.count, note.message);
    }
    let ranks = reader.ranks();
    for (done, &rank) in ranks.iter().enumerate() {
        if observer.is_stopped() {
            note_unread(done, ranks.len(), notes)?;
            return Ok(true);
        }
        observer.event(&Event::Began { activity: Activity::Reading, source: &format!("rank {rank}") });
        take(&reader.rank(rank).map_err(Error::UnreadableRun)?)?;
    }
    Ok(observer.is_stopped())
}

fn each_trace(
    files: &[TraceFile],
    notes: &Notes,
    observer: &SharedObserver,
    mut take: impl FnMut(&RankTables) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut numbering = Numbering::new(files);
    let mut clock = Clock::default();
    let mut same_job = SameJob::default();
    let mut first_failure = None;
    let mut taken = 0;
    for (done, file) in files.iter().enumerate() {
        if observer.is_stopped() {
            note_unread(done, files.len(), notes)?;
            return Ok(true);
        }
        let tables = read(file, notes, observer).and_then(|tables| Ok((tables, captured(file, observer)?)));
        match tables {
            Ok((mut tables, capture)) => {
                let checked = same_job.check(&tables, file.path());
                checked.map_err(|(one, other, why)| Error::NotOneJob { one, other, why })?;
                numbering.number(&mut tables, file.rank_by_name, notes);
                if files.len() > 1 {
                    clock.align(&mut tables, notes);
                }
                observer.event(&Event::Began { activity: Activity::Deriving, source: &tables.meta.source });
                let derived = rooflens_analyze::facts::derive_with(&mut tables, capture.as_ref());
                let disagreeing = &derived.contradictions;
                let message = format!("names of one step disagree on {}", disagreeing.first);
                let (steps, source) = (disagreeing.steps as i64, &tables.meta.source);
                notes.add_many(
                    Stage::Analyze,
                    Severity::Warning,
                    "step_names_disagree",
                    source,
                    steps,
                    message,
                );
                if let Some(capture) = capture.filter(|_| derived.placed == 0) {
                    let message = format!(
                        "none of its graph replays has the kernels of the {} launches in the capture",
                        capture.launches()
                    );
                    notes.add(
                        Stage::Analyze,
                        Severity::Warning,
                        "capture_unmatched",
                        &tables.meta.source,
                        message,
                    );
                }
                take(&tables)?;
                taken += 1;
            }
            Err(_) if observer.is_stopped() && taken == 0 => return Err(Error::Interrupted),
            // One damaged rank must not hide the others.
            Err(error) => {
                notes.add(Stage::Ingest, Severity::DataLoss, "unreadable_rank", "", error.to_string());
                first_failure.get_or_insert(error);
            }
        }
    }
    match first_failure {
        Some(error) if taken == 0 => Err(Error::Unreadable(error)),
        _ => Ok(observer.is_stopped()),
    }
}

fn read(file: &TraceFile, notes: &Notes, observer: &SharedObserver) -> Result<RankTables, IngestError> {
    let follower = Arc::clone(observer);
    let progress: Progress = Arc::new(move |count| {
        follower.event(&Event::Read { bytes: count });
        !follower.is_stopped()
    });
    let artefact = Artefact::open(&file.source, progress)?;
    observer.event(&Event::Began { activity: Activity::Reading, source: artefact.name() });
    let mut tables = match file.privacy {
        Privacy::Remove => rooflens_ingest::read(artefact, notes)?,
        Privacy::Keep => rooflens_ingest::read_as_it_is(artefact, notes)?,
    };
    if let Some(log) = &file.gemms {
        crate::input::gemm_log::add(&mut tables, log, notes)?;
    }
    Ok(tables)
}

/// The graphs in the capture that was given with a trace.
fn captured(file: &TraceFile, observer: &SharedObserver) -> Result<Option<Capture>, IngestError> {
    let Some(source) = &file.capture else { return Ok(None) };
    let capture = TraceFile { privacy: file.privacy, ..TraceFile::new(source.clone(), None) };
    // Its gaps are not those of the trace.
    let tables = read(&capture, &Notes::default(), observer)?;
    Ok(Some(rooflens_analyze::facts::captured(tables)))
}

/// Says how many ranks were not read, where any was.
fn note_unread(done: usize, all: usize, notes: &Notes) -> Result<(), Error> {
    if done == 0 {
        return Err(Error::Interrupted);
    }
    let message = format!("reading was stopped after {done} of {all} ranks; the others are missing");
    notes.add_many(Stage::Ingest, Severity::DataLoss, "stopped", "", (all - done) as i64, message);
    Ok(())
}
