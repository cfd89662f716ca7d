//! What the workload of `rooflens run` leaves in the folder of a step, `raw/<step>/`: `requests.jsonl` and
//! `steps.csv` become the tables `requests`, `tokens` and `steps`; `events.jsonl` and `phases.jsonl` say what ran and
//! when.
//!
//! A folder is read as a whole ([`read_folder`]), since its times mean something only with the clock that
//! `events.jsonl` tells. So this format is not in [`ALL`](super::ALL), whose files are traces of ranks.
//!
//! A workload may be killed at any moment, so that the last line of any file may be cut; and another program may
//! write these files. What cannot be read is counted in a note, and what is not known is null.

mod events;
mod requests;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use rooflens_schema::tables::{Requests, Steps, Tokens};
use rooflens_schema::{Note, Notes, Severity, Stage};
use serde_json::Value as Json;

use crate::lines;

pub use events::{ClockReading, ProbeMark, Round};

/// Longer lines are not of a workload: a line holds the times of every token of a request, some 20 bytes each.
const LONGEST_LINE: usize = 64 << 20;

/// What the workload of a step left, on the workload's own clock until [`WorkloadRecords::align`] moves it.
#[derive(Debug, Default)]
pub struct WorkloadRecords {
    /// Its requests, in the order in which they were recorded.
    pub requests: Requests,
    /// When each output token of them was there.
    pub tokens: Tokens,
    /// Its forward passes.
    pub steps: Steps,
    /// Its rounds, warm-up included.
    pub rounds: Vec<Round>,
    /// Phases and steps that the program marked with `rooflens.probe`.
    pub marks: Vec<ProbeMark>,
    /// The last event of each name: what it said of itself, as `hello`, `model`, `dataset`, `memory`.
    pub said: BTreeMap<String, Json>,
    /// One moment on its clock and on the wall clock; `None` where it did not say.
    pub clock: Option<ClockReading>,
    /// Lines that could not be read.
    pub lost: i64,
    /// Those of them that would be rows of the tables.
    pub lost_rows: i64,
}

impl WorkloadRecords {
    /// Moves every time onto the clock of a run whose `ts_ns` 0 is at `base_unix_ns`. Answers whether that was
    /// possible: without a reading of both clocks, times stay on the workload's own.
    pub fn align(&mut self, base_unix_ns: i64) -> bool {
        let Some(clock) = self.clock else { return false };
        let delta_ns = clock.unix_ns.saturating_sub(clock.monotonic_ns).saturating_sub(base_unix_ns);
        self.requests.shift(delta_ns);
        self.tokens.shift(delta_ns);
        self.steps.shift(delta_ns);
        self.rounds.iter_mut().for_each(|round| round.shift(delta_ns));
        self.marks.iter_mut().for_each(|mark| mark.ts_ns = mark.ts_ns.saturating_add(delta_ns));
        // From now on both clocks are the run's.
        self.clock = Some(ClockReading { monotonic_ns: clock.unix_ns.saturating_sub(base_unix_ns), ..clock });
        true
    }

    /// The last event of a name has this field, and it is not null.
    pub fn fact(&self, event: &str, field: &str) -> Option<&Json> {
        self.said.get(event)?.get(field).filter(|value| !value.is_null())
    }

    /// The same, where it is text.
    pub fn text(&self, event: &str, field: &str) -> Option<&str> {
        self.fact(event, field)?.as_str()
    }

    /// The pass over the dataset that each round went through, where the workload says so.
    pub fn epochs(&self) -> BTreeMap<i64, i64> {
        self.rounds.iter().filter_map(|round| Some((round.round, round.epoch?))).collect()
    }

    /// Appends what another step left. Ids go on from here.
    pub fn append(&mut self, mut other: WorkloadRecords) {
        let (requests, steps) = (self.requests.len() as i64, self.steps.len() as i64);
        other.requests.request_id.iter_mut().for_each(|id| *id += requests);
        other.tokens.request_id.iter_mut().for_each(|id| *id += requests);
        other.steps.step_id.iter_mut().for_each(|id| *id += steps);
        self.requests.append(&mut other.requests);
        self.tokens.append(&mut other.tokens);
        self.steps.append(&mut other.steps);
        self.rounds.append(&mut other.rounds);
        self.marks.append(&mut other.marks);
        self.lost += other.lost;
        self.lost_rows += other.lost_rows;
    }
}

/// Reads the folder of a step, `raw/<step>/`. A file that is not there has no rows; `stage` names the step in the
/// tables. Rows are in the order of the files.
pub fn read_folder(folder: &Path, stage: &str, notes: &Notes) -> WorkloadRecords {
    let workload = read_events(folder, stage, notes);
    let mut reader = Reader { folder, stage, notes, workload };
    let before = reader.workload.lost;
    reader.requests();
    reader.steps();
    reader.workload.lost_rows = reader.workload.lost - before;
    reader.workload
}

/// Reads only what the workload said of itself and when its rounds and marks were, `events.jsonl` and
/// `phases.jsonl`: for a run whose tables have its rows.
pub fn read_events(folder: &Path, stage: &str, notes: &Notes) -> WorkloadRecords {
    let mut reader = Reader { folder, stage, notes, workload: WorkloadRecords::default() };
    reader.events();
    reader.marks();
    reader.workload
}

/// The lines of a stage that would be rows of the tables and could not be read, by the notes of its run.
#[must_use]
pub fn lost_rows(stage: &str, notes: &[Note]) -> i64 {
    let sources = [requests::FILE, steps::FILE].map(|file| format!("{stage}/{file}"));
    let is_lost = |note: &&Note| [DAMAGED, BROKEN].contains(&&*note.code) && sources.contains(&note.source);
    notes.iter().filter(is_lost).map(|note| note.count).sum()
}

/// A line that could not be read.
const DAMAGED: &str = "damaged_line";
/// A file that could not be read to its end.
const BROKEN: &str = "stream_error";

struct Reader<'a> {
    folder: &'a Path,
    stage: &'a str,
    notes: &'a Notes,
    workload: WorkloadRecords,
}

impl Reader<'_> {
    /// Gives each line that is not blank to `take`, and whether its end was written too; it answers whether the
    /// line could be read.
    fn each_line(&mut self, name: &str, mut take: impl FnMut(&mut WorkloadRecords, &str, bool) -> bool) {
        let file = match File::open(self.folder.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.broken(name, &error),
        };
        let (mut damaged, mut first) = (0, None);
        let mut number = 0;
        let error = lines::each_up_to(file, LONGEST_LINE, |line, is_whole| {
            number += 1;
            if !line.trim().is_empty() && !take(&mut self.workload, line, is_whole) {
                damaged += 1;
                first.get_or_insert(number);
            }
        });
        self.workload.lost += damaged;
        let message =
            format!("truncated or damaged lines were skipped, the first is line {}", first.unwrap_or(0));
        let source = self.source(name);
        self.notes.add_many(Stage::Ingest, Severity::DataLoss, DAMAGED, &source, damaged, message);
        if let Some(error) = error {
            self.broken(name, &error);
        }
    }

    fn broken(&mut self, name: &str, error: &std::io::Error) {
        self.workload.lost += 1;
        let message = format!("it cannot be read to its end: {error}");
        self.notes.add(Stage::Ingest, Severity::DataLoss, BROKEN, &self.source(name), message);
    }

    fn warn(&self, code: &str, name: &str, count: i64, message: &str) {
        let source = self.source(name);
        self.notes.add_many(Stage::Ingest, Severity::Warning, code, &source, count, message.to_owned());
    }

    /// Steps leave files of the same names.
    fn source(&self, name: &str) -> String {
        format!("{}/{name}", self.stage)
    }
}
