//! The thread that keeps the beat.
//!
//! On the beat it asks the sources and pushes rows into columns that have room already: nothing is
//! allocated, written or waited for. Full columns go to the reader through a channel of fixed size and come
//! back empty. Where the reader is slow, the columns at hand grow: rows wait, and none is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rooflens_schema::tables::Counters;
use rooflens_schema::{Note, Notes, Severity, Stage};
use serde::Serialize;

use crate::sample::clock::{Anchor, Beat, monotonic_ns, thread_cpu_ns};
use crate::sample::source::{Moment, SampleClock, Source};

const PARTS: usize = 4;
/// A clock that was set by more than this moves samples against a trace.
const STEP_NS: i64 = 1_000_000;

/// How to sample.
#[derive(Debug, Clone, Copy)]
pub struct SamplingSettings {
    /// From one sample to the next.
    pub interval: Duration,
    /// Rows reach the reader after this long at most.
    pub hand_over: Duration,
    /// The time of day that is 0 in `ts_ns`, in nanoseconds since 1970.
    pub base_unix_ns: i64,
    /// Ends by itself after so many beats.
    pub beats: Option<i64>,
}

impl Default for SamplingSettings {
    fn default() -> Self {
        SamplingSettings {
            interval: Duration::from_millis(100),
            hand_over: Duration::from_millis(500),
            base_unix_ns: 0,
            beats: None,
        }
    }
}

/// How well the beat was kept, and what it cost.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct BeatTally {
    /// Beats that were due.
    pub due: i64,
    /// Beats on which samples were taken.
    pub taken: i64,
    /// Beats that were given up since the machine slept or stood still for over a second.
    pub missed: i64,
    /// Beats that began over half an interval late.
    pub late: i64,
    /// The latest of all.
    pub latest_ns: i64,
    pub(crate) elapsed_ns: i64,
    pub(crate) cpu_ns: i64,
}

impl BeatTally {
    /// Part of one core that sampling took.
    pub fn core_share(&self) -> Option<f64> {
        (self.elapsed_ns > 0).then(|| self.cpu_ns as f64 / self.elapsed_ns as f64)
    }
}

/// What is left once sampling has ended.
pub struct SamplingOutcome {
    /// Rows that the reader has not seen yet.
    pub rows: Counters,
    /// How well the sampling interval was kept.
    pub tally: BeatTally,
    /// What went wrong.
    pub notes: Vec<Note>,
    /// The clock of the rows.
    pub timeline: SampleClock,
    /// The sources, to be asked what they could not tell.
    pub sources: Vec<Box<dyn Source>>,
}

/// Sampling that goes on until it is stopped. Dropped, it stops and forgets.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    full: Receiver<Counters>,
    empty: SyncSender<Counters>,
    timeline: SampleClock,
    thread: Option<JoinHandle<Finished>>,
}

struct Finished {
    rows: Counters,
    tally: BeatTally,
    notes: Notes,
    sources: Vec<Box<dyn Source>>,
}

impl Sampler {
    /// Begins at once.
    pub fn start(settings: SamplingSettings, sources: Vec<Box<dyn Source>>) -> std::io::Result<Self> {
        let timeline = SampleClock::from(settings.base_unix_ns);
        let stop = Arc::new(AtomicBool::new(false));
        let (to_reader, full) = sync_channel(PARTS);
        let (empty, from_reader) = sync_channel(PARTS);
        let room = room(&settings, &sources);
        for _ in 0..PARTS {
            let _ = empty.try_send(with_room(room));
        }
        let keeper = Keeper {
            settings,
            timeline,
            stop: Arc::clone(&stop),
            to_reader,
            from_reader,
            room,
            rows: with_room(room),
            notes: Notes::default(),
            sources,
        };
        let thread = std::thread::Builder::new().name("sampler".to_owned()).spawn(move || keeper.run())?;
        Ok(Sampler { stop, full, empty, timeline, thread: Some(thread) })
    }

    /// The next rows, in order; `None` where none came in this time. Give them back when done.
    pub fn next(&self, within: Duration) -> Option<Counters> {
        match self.full.recv_timeout(within) {
            Ok(rows) => Some(rows),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // It has ended by itself; nobody should spin on that.
                std::thread::sleep(within.min(Duration::from_millis(20)));
                None
            }
        }
    }

    /// Returns columns that were read, to be filled again.
    pub fn give_back(&self, mut rows: Counters) {
        rows.clear();
        let _ = self.empty.try_send(rows);
    }

    /// Whether it has ended by itself.
    pub fn is_done(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends it, at once or after the last beat that was asked for.
    pub fn stop(mut self) -> SamplingOutcome {
        let finished = self.end();
        let mut rows = Counters::default();
        while let Ok(mut more) = self.full.try_recv() {
            rows.append(&mut more);
        }
        let mut finished = finished.unwrap_or_else(|| {
            let notes = Notes::default();
            let message = "the sampling thread ended by a bug; its last rows are missing".to_owned();
            notes.add(Stage::Collect, Severity::DataLoss, "sampler_failed", "", message);
            Finished { rows: Counters::default(), tally: BeatTally::default(), notes, sources: Vec::new() }
        });
        rows.append(&mut finished.rows);
        tell(&finished.tally, &finished.notes);
        tell_step(&self.timeline.anchor, &finished.notes);
        SamplingOutcome {
            rows,
            tally: finished.tally,
            notes: finished.notes.rows(),
            timeline: self.timeline,
            sources: finished.sources,
        }
    }

    fn end(&mut self) -> Option<Finished> {
        let thread = self.thread.take()?;
        self.stop.store(true, Ordering::SeqCst);
        thread.thread().unpark();
        thread.join().ok()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Rows that come between two hand-overs, and as many again.
fn room(settings: &SamplingSettings, sources: &[Box<dyn Source>]) -> usize {
    let subjects: usize = sources.iter().map(|source| source.subjects().len()).sum();
    let beats = settings.hand_over.as_nanos() / settings.interval.as_nanos().max(1) + 1;
    let beats = usize::try_from(beats).unwrap_or(usize::MAX).min(1 << 16);
    2 * beats * subjects.max(1)
}

fn with_room(rows: usize) -> Counters {
    let mut counters = Counters::default();
    counters.reserve(rows);
    counters
}

struct Keeper {
    settings: SamplingSettings,
    timeline: SampleClock,
    stop: Arc<AtomicBool>,
    to_reader: SyncSender<Counters>,
    from_reader: Receiver<Counters>,
    room: usize,
    rows: Counters,
    notes: Notes,
    sources: Vec<Box<dyn Source>>,
}

impl Keeper {
    fn run(mut self) -> Finished {
        let interval_ns = i64::try_from(self.settings.interval.as_nanos()).unwrap_or(i64::MAX).max(1);
        let hand_over_ns = i64::try_from(self.settings.hand_over.as_nanos()).unwrap_or(i64::MAX);
        let (start_ns, start_cpu_ns) = (monotonic_ns(), thread_cpu_ns());
        let mut beat = Beat::new(start_ns, interval_ns);
        let mut tally = BeatTally::default();
        let mut hand_over_at = start_ns.saturating_add(hand_over_ns);
        while self.settings.beats.is_none_or(|beats| beat.due_so_far() < beats) && self.wait(beat.due_ns()) {
            let now_ns = monotonic_ns();
            let late_ns = beat.begin(now_ns);
            let moment = Moment { due_ns: now_ns - late_ns, timeline: self.timeline };
            for source in &mut self.sources {
                source.sample(&moment, &mut self.rows, &self.notes);
            }
            tally.taken += 1;
            tally.late += i64::from(late_ns > interval_ns / 2);
            tally.latest_ns = tally.latest_ns.max(late_ns);
            let now_ns = monotonic_ns();
            if now_ns >= hand_over_at {
                self.hand_over();
                hand_over_at = now_ns.saturating_add(hand_over_ns);
            }
        }
        tally.due = beat.due_so_far();
        tally.missed = beat.missed();
        tally.elapsed_ns = monotonic_ns() - start_ns;
        tally.cpu_ns = thread_cpu_ns() - start_cpu_ns;
        Finished { rows: self.rows, tally, notes: self.notes, sources: self.sources }
    }

    fn wait(&self, until_ns: i64) -> bool {
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return false;
            }
            match u64::try_from(until_ns - monotonic_ns()) {
                Ok(left @ 1..) => std::thread::park_timeout(Duration::from_nanos(left)),
                _ => return true,
            }
        }
    }

    fn hand_over(&mut self) {
        if self.rows.is_empty() {
            return;
        }
        let next = self.from_reader.try_recv().unwrap_or_else(|_| with_room(self.room));
        match self.to_reader.try_send(std::mem::replace(&mut self.rows, next)) {
            Ok(()) => {}
            // The reader is slow: keep them, and go on behind them.
            Err(TrySendError::Full(rows) | TrySendError::Disconnected(rows)) => self.rows = rows,
        }
    }
}

fn tell(tally: &BeatTally, notes: &Notes) {
    if tally.missed > 0 {
        let message = format!(
            "{} of {} samples were not taken: the machine was suspended or stalled for over a second",
            tally.missed, tally.due
        );
        notes.add_many(Stage::Collect, Severity::DataLoss, "samples_missed", "", tally.missed, message);
    }
    if tally.late > 0 {
        let message = format!(
            "{} of {} samples were taken over half an interval late, at worst by {:.1} ms: the machine was busy",
            tally.late,
            tally.due,
            tally.latest_ns as f64 / 1e6
        );
        notes.add_many(Stage::Collect, Severity::Info, "samples_late", "", tally.late, message);
    }
}

fn tell_step(anchor: &Anchor, notes: &Notes) {
    let step_ns = anchor.stepped_ns(&Anchor::take());
    if step_ns.abs() > STEP_NS {
        let message = format!(
            "the system's clock was set by {:.1} ms while sampling; samples keep the original clock",
            step_ns as f64 / 1e6
        );
        notes.add(Stage::Collect, Severity::Warning, "clock_set", "", message);
    }
}
