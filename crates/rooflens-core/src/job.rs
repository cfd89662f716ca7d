//! From an input to findings and tables, rank by rank, two ranks at a time: memory grows with the two largest
//! ranks, not with the job, and what is found does not depend on the number of threads. Nothing here knows of a
//! command line or prints.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rooflens_analyze::Findings;
use rooflens_analyze::facts::Capture;
use rooflens_ingest::privacy::Privacy;
use rooflens_ingest::{Artefact, IngestError, ReadProgress};
use rooflens_schema::parquet_io::RunReader;
use rooflens_schema::{Notes, RankTables, RunDir, Severity, Stage};

use crate::error::Error;
use crate::in_order::{Turns, in_order};
use crate::input::ranks::{JobClock, Numbering, SameJob};
use crate::input::{Input, TraceFile, gemm_log};
use crate::observer::{Activity, Event, SharedObserver};
use crate::saved::SavedTables;

/// What became of a job.
pub struct JobOutcome {
    pub(crate) findings: Findings,
    /// Whether it was ended early: the findings are those of what was read until then.
    pub(crate) stopped: bool,
}

/// Reads an input and answers every question about it; writes its tables to `tables`, if given.
pub fn analyze(
    input: &Input,
    notes: &Notes,
    tables: Option<&RunDir>,
    observer: &SharedObserver,
) -> Result<JobOutcome, Error> {
    let mut saved = tables.map(|run| SavedTables::new(run, input));
    let outcome = answer(input, notes, observer, |rank| {
        saved.as_mut().map_or(Ok(()), |saved| {
            observer.event(&Event::Began { activity: Activity::Writing, source: &rank.meta.source });
            saved.rank(&rank)
        })
    })?;
    if let Some(saved) = saved {
        saved.finish(&notes.rows())?;
    }
    Ok(outcome)
}

/// Reads an input and answers every question about it; each rank goes to `take` afterwards.
pub(crate) fn answer(
    input: &Input,
    notes: &Notes,
    observer: &SharedObserver,
    mut take: impl FnMut(RankTables) -> Result<(), Error>,
) -> Result<JobOutcome, Error> {
    let mut job = rooflens_analyze::JobAnalyses::default();
    let stopped = each_rank(input, notes, observer, |rank| {
        observer.event(&Event::Began { activity: Activity::Analyzing, source: &rank.meta.source });
        job.rank(&rank);
        take(rank)
    })?;
    Ok(JobOutcome { findings: job.finish(notes.rows()), stopped })
}

/// Reads an input and writes its tables, facts included. Answers whether it was ended early.
pub fn import(
    input: &Input,
    notes: &Notes,
    tables: &RunDir,
    observer: &SharedObserver,
) -> Result<bool, Error> {
    let mut saved = SavedTables::new(tables, input);
    let stopped = each_rank(input, notes, observer, |rank| {
        observer.event(&Event::Began { activity: Activity::Writing, source: &rank.meta.source });
        saved.rank(&rank)
    })?;
    saved.finish(&notes.rows())?;
    Ok(stopped)
}

/// Gives each rank, its facts derived, to `take`. Answers whether it was stopped early.
pub(crate) fn each_rank(
    input: &Input,
    notes: &Notes,
    observer: &SharedObserver,
    take: impl FnMut(RankTables) -> Result<(), Error>,
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
    mut take: impl FnMut(RankTables) -> Result<(), Error>,
) -> Result<bool, Error> {
    let reader = RunReader::open(run).map_err(Error::unreadable_run)?;
    for note in reader.notes().map_err(Error::unreadable_run)? {
        notes.add_many(note.stage, note.severity, &note.code, &note.source, note.count, note.message);
    }
    let ranks = reader.ranks();
    let stream = Mutex::new(reader.each_rank());
    // The files are read from beginning to end: one rank is taken while the next is read.
    let next = |item: usize, turns: &Turns| {
        turns.take(item, || {
            observer.event(&Event::Began {
                activity: Activity::Reading,
                source: &format!("rank {}", ranks[item]),
            });
            stream.lock().unwrap_or_else(PoisonError::into_inner).next()
        })
    };
    let started = in_order(
        (ranks.len(), at_once(ranks.len())),
        || !observer.is_stopped(),
        next,
        |rank| rank.map_or(Ok(()), |rank| take(rank.map_err(Error::unreadable_run)?)),
    )?;
    if started < ranks.len() {
        note_unread(started, ranks.len(), notes)?;
        return Ok(true);
    }
    Ok(observer.is_stopped())
}

/// Ranks in memory at the same time: a second one keeps the other cores busy.
const IN_FLIGHT: usize = 2;

fn cores() -> usize {
    thread::available_parallelism().map_or(IN_FLIGHT, usize::from)
}

fn at_once(ranks: usize) -> usize {
    IN_FLIGHT.min(cores()).min(ranks)
}

/// What the place of a rank in its job depends on, which the ranks before it decide.
struct Places {
    numbering: Numbering,
    clock: JobClock,
    same_job: SameJob,
}

enum Failure {
    /// Nothing of it could be read; the others may be better.
    Unreadable(IngestError),
    NotOneJob(Error),
}

fn each_trace(
    files: &[TraceFile],
    notes: &Notes,
    observer: &SharedObserver,
    mut take: impl FnMut(RankTables) -> Result<(), Error>,
) -> Result<bool, Error> {
    let places = Mutex::new(Places {
        numbering: Numbering::new(files),
        clock: JobClock::default(),
        same_job: SameJob::default(),
    });
    let at_once = at_once(files.len());
    let reading = Reading {
        observer,
        // All cores share the ranks in flight.
        threads: NonZeroUsize::new(cores().div_ceil(at_once.max(1))).unwrap_or(NonZeroUsize::MIN),
        is_abandoned: Arc::default(),
    };
    // Each rank has notes of its own until it is taken, so that they are counted in the order of ranks.
    let prepare = |item: usize, turns: &Turns| {
        let (file, own) = (&files[item], Notes::default());
        let read = reading.read(file, &own).and_then(|tables| Ok((tables, reading.captured(file)?)));
        let placed = turns.take(item, || {
            let (mut tables, capture) = read.map_err(Failure::Unreadable)?;
            let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
            let checked = places.same_job.check(&tables, file.path());
            checked.map_err(Failure::NotOneJob)?;
            places.numbering.number(&mut tables, file.rank_by_name, &own);
            if files.len() > 1 {
                places.clock.align(&mut tables, &own);
            }
            Ok((tables, capture))
        });
        let derived = placed.map(|(mut tables, capture)| {
            derive(&mut tables, capture.as_ref(), &own, observer);
            tables
        });
        (own, derived)
    };
    let mut first_failure = None;
    let mut taken = 0;
    let outcome = in_order(
        (files.len(), at_once),
        || !observer.is_stopped(),
        prepare,
        |(own, derived)| {
            notes.absorb(own);
            let outcome = match derived {
                Ok(tables) => take(tables).inspect(|()| taken += 1),
                Err(Failure::NotOneJob(error)) => Err(error),
                Err(Failure::Unreadable(_)) if observer.is_stopped() && taken == 0 => {
                    Err(Error::interrupted())
                }
                // One damaged rank must not hide the others.
                Err(Failure::Unreadable(error)) => {
                    notes.add(Stage::Ingest, Severity::DataLoss, "unreadable_rank", "", error.to_string());
                    first_failure.get_or_insert(error);
                    Ok(())
                }
            };
            reading.is_abandoned.fetch_or(outcome.is_err(), Ordering::Relaxed);
            outcome
        },
    );
    let started = outcome?;
    if started < files.len() {
        note_unread(started, files.len(), notes)?;
        return Ok(true);
    }
    match first_failure {
        Some(error) if taken == 0 => Err(Error::unreadable(error)),
        _ => Ok(observer.is_stopped()),
    }
}

fn derive(tables: &mut RankTables, capture: Option<&Capture>, notes: &Notes, observer: &SharedObserver) {
    observer.event(&Event::Began { activity: Activity::Deriving, source: &tables.meta.source });
    let derived = rooflens_analyze::facts::derive_with(tables, capture);
    let source = &tables.meta.source;
    let disagreeing = &derived.contradictions;
    let message = format!("annotations of one step disagree on {}", disagreeing.first);
    let steps = disagreeing.steps as i64;
    notes.add_many(Stage::Analyze, Severity::Warning, "step_names_disagree", source, steps, message);
    if let Some(capture) = capture.filter(|_| derived.placed == 0) {
        let message = format!(
            "none of its graph replays has the kernels of the {} launches in the capture",
            capture.launches()
        );
        notes.add(Stage::Analyze, Severity::Warning, "capture_unmatched", source, message);
    }
}

struct Reading<'a> {
    observer: &'a SharedObserver,
    threads: NonZeroUsize,
    /// Whether what is being read is of no use any more, since another rank has failed for good.
    is_abandoned: Arc<AtomicBool>,
}

impl Reading<'_> {
    fn read(&self, file: &TraceFile, notes: &Notes) -> Result<RankTables, IngestError> {
        let (follower, is_abandoned) = (Arc::clone(self.observer), Arc::clone(&self.is_abandoned));
        let progress: ReadProgress = Arc::new(move |count| {
            follower.event(&Event::Read { bytes: count });
            !follower.is_stopped() && !is_abandoned.load(Ordering::Relaxed)
        });
        let artefact = Artefact::open(&file.source, progress)?.with_threads(self.threads);
        self.observer.event(&Event::Began { activity: Activity::Reading, source: artefact.name() });
        let mut tables = match file.privacy {
            Privacy::Remove => rooflens_ingest::read(artefact, notes)?,
            Privacy::Keep => rooflens_ingest::read_as_it_is(artefact, notes)?,
        };
        if let Some(log) = &file.gemms {
            gemm_log::add(&mut tables, log, notes)?;
        }
        Ok(tables)
    }

    fn captured(&self, file: &TraceFile) -> Result<Option<Capture>, IngestError> {
        let Some(source) = &file.capture else { return Ok(None) };
        let capture = TraceFile { privacy: file.privacy, ..TraceFile::new(source.clone(), None) };
        // Its gaps are not those of the trace.
        let tables = self.read(&capture, &Notes::default())?;
        Ok(Some(rooflens_analyze::facts::captured(tables)))
    }
}

fn note_unread(done: usize, all: usize, notes: &Notes) -> Result<(), Error> {
    if done == 0 {
        return Err(Error::interrupted());
    }
    let message = format!("reading was stopped after {done} of {all} ranks; the others are missing");
    notes.add_many(Stage::Ingest, Severity::DataLoss, "stopped", "", (all - done) as i64, message);
    Ok(())
}
