//! What the workload of `rooflens run` leaves in the folder of a step, `raw/<step>/`: `requests.jsonl` and
//! `steps.csv` become the tables `requests`, `tokens` and `steps`; `events.jsonl` and `phases.jsonl` say what ran and
//! when.
//!
//! A folder is read as a whole ([`read_folder`]), since its times mean something only with the clock that
//! `events.jsonl` tells. So this format is not in [`ALL`](super::ALL), whose files are traces of ranks.
//!
//! A workload may be killed at any moment, so that the last line of any file may be cut; and another program may
//! write these files. What cannot be read is counted in a note, and what is not known is null.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use rooflens_schema::parquet_io::Columnar;
use rooflens_schema::tables::{
    PhaseKind, RequestRow, RequestStatus, Requests, StepRow, Steps, TokenRow, Tokens,
};
use rooflens_schema::{Note, Notes, Opt, Severity, Stage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::{csv, lines};

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
pub fn lost_rows(stage: &str, notes: &[Note]) -> i64 {
    let sources = [REQUESTS, STEPS].map(|file| format!("{stage}/{file}"));
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

/// One moment on the workload's clock and since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReading {
    /// On the clock of all other times of the workload.
    pub monotonic_ns: i64,
    /// Since 1970.
    pub unix_ns: i64,
}

/// A round of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Its number.
    pub round: i64,
    /// What it is for: `warmup`, `measured`, `profiled`, `predicted`.
    pub kind: Option<String>,
    /// The pass over the dataset it belongs to.
    pub epoch: Option<i64>,
    /// When it began; `None` where only its end was recorded.
    pub ts_ns: Option<i64>,
    /// When it ended; `None` where it was cut off.
    pub end_ts_ns: Option<i64>,
    /// How long it took, as the workload measured it.
    pub dur_ns: Option<i64>,
}

impl Round {
    fn shift(&mut self, delta_ns: i64) {
        for ts in [&mut self.ts_ns, &mut self.end_ts_ns].into_iter().flatten() {
            *ts = ts.saturating_add(delta_ns);
        }
    }
}

/// A phase, or a step of one, that a program marked with `rooflens.probe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeMark {
    /// What the program calls the phase.
    pub phase: String,
    /// Number of the step in the phase; `None` for the phase itself.
    pub step: Option<i64>,
    /// When it began.
    pub ts_ns: i64,
    /// How long it took.
    pub dur_ns: i64,
}

impl Reader<'_> {
    fn events(&mut self) {
        let mut unknown_clocks = 0;
        self.each_line("events.jsonl", |workload, line, _| {
            let Ok(event @ Json::Object(_)) = serde_json::from_str::<Json>(line) else { return false };
            let Some(name) = event["event"].as_str().map(str::to_owned) else { return false };
            if name == "hello" {
                match serde_json::from_value(event["clock"].clone()) {
                    Ok(clock) => workload.clock = Some(clock),
                    Err(_) => unknown_clocks += 1,
                }
            }
            if let "round_begin" | "round_end" = name.as_str() {
                let Some(round) = event["round"].as_i64() else { return false };
                round_event(&mut workload.rounds, round, name == "round_end", &event);
            }
            workload.said.insert(name, event);
            true
        });
        let message = "the workload does not record wall-clock time: its times are on its own clock";
        self.warn("unaligned_clock", "events.jsonl", unknown_clocks, message);
    }

    fn marks(&mut self) {
        self.each_line("phases.jsonl", |workload, line, _| {
            let Ok(event) = serde_json::from_str::<Json>(line) else { return false };
            let times = (event["start_ns"].as_i64(), event["dur_ns"].as_i64());
            let (Some(phase), (Some(ts_ns), Some(dur_ns))) = (event["phase"].as_str(), times) else {
                return false;
            };
            let step = event["step"].as_i64();
            let is_step = !event["step"].is_null();
            if is_step && step.is_none() {
                return false;
            }
            workload.marks.push(ProbeMark { phase: phase.to_owned(), step, ts_ns, dur_ns });
            true
        });
    }
}

fn round_event(rounds: &mut Vec<Round>, number: i64, is_end: bool, event: &Json) {
    let begun = rounds.iter_mut().rev().find(|round| round.round == number && round.end_ts_ns.is_none());
    let ts_ns = event["t_ns"].as_i64();
    match begun.filter(|_| is_end) {
        Some(round) => {
            round.end_ts_ns = ts_ns;
            round.dur_ns = event["dur_ns"].as_i64();
        }
        None => rounds.push(Round {
            round: number,
            kind: event["kind"].as_str().map(str::to_owned),
            epoch: event["epoch"].as_i64(),
            ts_ns: ts_ns.filter(|_| !is_end),
            end_ts_ns: ts_ns.filter(|_| is_end),
            dur_ns: event["dur_ns"].as_i64(),
        }),
    }
}

const REQUESTS: &str = "requests.jsonl";

/// A line. Fields that are not named here may be there; those without a default must be.
#[derive(Deserialize)]
struct Line {
    round: i64,
    kind: String,
    #[serde(default)]
    batch_index: Option<i64>,
    #[serde(default)]
    sample: Option<String>,
    prompt_tokens: i64,
    output_tokens: i64,
    start_ns: i64,
    #[serde(default)]
    queued_ns: Option<i64>,
    token_ns: Vec<i64>,
    #[serde(default)]
    finish: Option<String>,
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let line: Line = serde_json::from_str(line).ok()?;
        // Counts and clocks are never negative; whoever wrote such a number meant something else.
        let numbers = [line.round, line.prompt_tokens, line.output_tokens, line.start_ns];
        let all = numbers.iter().chain(&line.token_ns).chain(&line.batch_index);
        all.into_iter().all(|number| *number >= 0).then_some(line)
    }
}

impl Reader<'_> {
    fn requests(&mut self) {
        let stage = self.stage.to_owned();
        let (mut uncounted, mut unordered) = (0, 0);
        self.each_line(REQUESTS, |workload, line, _| {
            let Some(line) = Line::parse(line) else { return false };
            // A time for each token, or else nobody knows which tokens came together.
            let is_counted = line.token_ns.len() as i64 == line.output_tokens;
            uncounted += i64::from(!is_counted && !line.token_ns.is_empty());
            let times: Vec<i64> =
                std::iter::once(line.start_ns).chain(line.token_ns.iter().copied()).collect();
            unordered += i64::from(!times.is_sorted());
            push_request(workload, &stage, line, is_counted);
            true
        });
        let message = "requests have a different number of token times and tokens: the number of tokens at each time \
             is null";
        self.warn("token_times_differ", REQUESTS, uncounted, message);
        let message = "requests have tokens before they were sent, or before an earlier token";
        self.warn("times_out_of_order", REQUESTS, unordered, message);
    }
}

fn push_request(workload: &mut WorkloadRecords, stage: &str, line: Line, is_counted: bool) {
    let request_id = workload.requests.len() as i64;
    workload.requests.push(RequestRow {
        stage: Some(stage.to_owned()),
        round: Opt::some(line.round),
        round_kind: Some(line.kind),
        batch_index: line.batch_index.into(),
        sample: line.sample,
        sent_ts_ns: Opt::some(line.start_ns),
        first_token_ts_ns: line.token_ns.first().copied().into(),
        last_token_ts_ns: line.token_ns.last().copied().into(),
        queued_ns: line.queued_ns.filter(|ns| *ns >= 0).into(),
        prompt_tokens: Opt::some(line.prompt_tokens),
        output_tokens: Opt::some(line.output_tokens),
        finish: line.finish,
        // The workload writes a request once it is complete.
        ..RequestRow::new(request_id, RequestStatus::Completed)
    });
    for (index, ts_ns) in (0..).zip(line.token_ns) {
        let tokens = if is_counted { Opt::some(1) } else { Opt::NONE };
        workload.tokens.push(TokenRow { request_id, index, ts_ns, tokens, kind: None });
    }
}

const STEPS: &str = "steps.csv";

impl Reader<'_> {
    fn steps(&mut self) {
        let stage = self.stage.to_owned();
        let mut head: Option<Vec<String>> = None;
        let mut unknown_phases = 0;
        self.each_line(STEPS, |workload, line, is_whole| {
            let cells = csv::cells(line);
            let Some(head) = &head else {
                let has = |name: &str| cells.iter().any(|cell| cell == name);
                let is_head = ["kind", "phase", "dur_ns"].into_iter().all(has);
                head = Some(if is_head { cells } else { Vec::new() });
                return is_head;
            };
            // A number that is cut is still a number: without its end a line cannot be trusted.
            if !is_whole || head.is_empty() || cells.len() != head.len() {
                return false;
            }
            let mut row = Row { head, cells: &cells, is_damaged: false };
            let step = row.step(workload.steps.len() as i64, &stage, &mut unknown_phases);
            match step.filter(|_| !row.is_damaged) {
                Some(step) => workload.steps.push(step),
                None => return false,
            }
            true
        });
        let message = "steps have a phase other than prefill, decode or mixed: they count as step";
        self.warn("unknown_phase", STEPS, unknown_phases, message);
    }
}

struct Row<'a> {
    head: &'a [String],
    cells: &'a [String],
    /// Whether a cell that must be a number is none.
    is_damaged: bool,
}

impl Row<'_> {
    /// A cell; `None` where there is no such column, or it is empty: then it is not known.
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.head.iter().position(|known| known == name)?;
        self.cells.get(at).map(String::as_str).filter(|cell| !cell.is_empty())
    }

    fn number(&mut self, name: &str) -> Opt<i64> {
        let Some(cell) = self.text(name) else { return Opt::NONE };
        let number = cell.parse().ok().filter(|number: &i64| *number >= 0);
        self.is_damaged |= number.is_none();
        number.into()
    }

    fn step(&mut self, step_id: i64, stage: &str, unknown_phases: &mut i64) -> Option<StepRow> {
        let dur_ns = self.number("dur_ns").get()?;
        let phase = match self.text("phase")? {
            "prefill" => PhaseKind::Prefill,
            "decode" => PhaseKind::Decode,
            "mixed" => PhaseKind::Mixed,
            _ => {
                *unknown_phases += 1;
                PhaseKind::Step
            }
        };
        let kv_usage = match self.text("kv_usage") {
            Some(cell) => Some(cell.parse().ok().filter(|share: &f64| share.is_finite())?),
            None => None,
        };
        Some(StepRow {
            step_id,
            stage: Some(stage.to_owned()),
            round: self.number("round"),
            round_kind: self.text("kind").map(str::to_owned),
            batch_index: self.number("batch_index"),
            number: self.number("step"),
            phase,
            ts_ns: self.number("start_ns"),
            dur_ns,
            batch_size: self.number("batch"),
            prefill_tokens: self.number("prefill_tokens"),
            decode_tokens: self.number("decode_tokens"),
            computed_tokens: self.number("computed_tokens"),
            context_tokens: self.number("kv_tokens"),
            cache_length: self.number("cache_length"),
            prompts: self.text("prompts").map(str::to_owned),
            pictures: self.text("pictures").map(str::to_owned),
            kv_usage,
            waiting: self.number("waiting"),
        })
    }
}
