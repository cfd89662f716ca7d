//! The rows that a workload leaves: `steps.csv`, `requests.jsonl`, and facts of its events.

use std::fs;
use std::path::Path;

use rooflens_compare::headline::Request;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// The kind of rounds that count.
pub const MEASURED: &str = "measured";

/// A forward pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepRow {
    /// `warmup`, `measured`, …
    pub kind: String,
    /// `prefill`, `decode`, `mixed`.
    pub phase: String,
    /// Sequences that went on by a token.
    pub decode_tokens: u64,
    /// How long it took.
    pub dur_ns: u64,
    /// Sequences in it.
    pub batch: Option<u64>,
    /// Tokens that went through the model, padding counted.
    pub computed_tokens: Option<u64>,
    /// Tokens attended to, over all sequences, padding not counted.
    pub kv_tokens: Option<u64>,
    /// Positions in the cache after it, padding counted.
    pub cache_length: Option<u64>,
    /// The prompts that are read, as `17@0 24@512`.
    pub prompts: Option<String>,
    /// Patches of the pictures that are looked at, as `4x6 6x6`.
    pub pictures: Option<String>,
}

/// A sequence.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct RequestRow {
    /// Its round.
    pub round: u64,
    /// `warmup`, `measured`, …
    pub kind: String,
    /// Tokens of its prompt.
    pub prompt_tokens: u64,
    /// Tokens that were made.
    pub output_tokens: u64,
    /// When its prompt was given to the runtime.
    pub start_ns: u64,
    /// When each token was there.
    pub token_ns: Vec<u64>,
    /// From the prompt given to its first step; null where the runtime has no queue.
    #[serde(default)]
    pub queued_ns: Option<i64>,
}

/// What one pass left.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Forward passes.
    pub steps: Vec<StepRow>,
    /// Sequences.
    pub requests: Vec<RequestRow>,
    /// Rows that could not be read: of a workload that was killed, the last may be cut.
    pub lost: usize,
    /// What it told of itself: the last event of each name.
    pub told: Map<String, Json>,
    /// How long each warm-up round took.
    pub warmups_ns: Vec<u64>,
}

impl Rows {
    /// Reads the folder of a pass. What is not there is empty.
    pub fn read(folder: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (steps, lost_steps) = steps(&text("steps.csv"));
        let (requests, lost_requests) = requests(&text("requests.jsonl"));
        let events = text("events.jsonl");
        Rows {
            steps,
            requests,
            lost: lost_steps + lost_requests,
            told: told(&events),
            warmups_ns: warmups(&events),
        }
    }

    /// The requests that count.
    pub fn measured(&self) -> Vec<Request<'_>> {
        let rows = self.requests.iter().filter(|row| row.kind == MEASURED);
        rows.map(|row| Request {
            round: row.round,
            output_tokens: row.output_tokens,
            start_ns: row.start_ns,
            token_ns: &row.token_ns,
            queued_ns: row.queued_ns.and_then(|ns| u64::try_from(ns).ok()),
        })
        .collect()
    }

    /// A field of the last event of a name.
    pub fn fact(&self, event: &str, field: &str) -> Option<&Json> {
        self.told.get(event)?.get(field).filter(|value| !value.is_null())
    }

    /// The same, where it is text.
    pub fn word(&self, event: &str, field: &str) -> Option<&str> {
        self.fact(event, field)?.as_str()
    }
}

/// Columns are found by name: others may come.
fn steps(text: &str) -> (Vec<StepRow>, usize) {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| head.iter().position(|known| *known == name);
    let columns = || Some((column("kind")?, column("phase")?, column("decode_tokens")?, column("dur_ns")?));
    let Some((kind, phase, decode, dur)) = columns() else { return (Vec::new(), lines.count()) };
    let others = ["batch", "computed_tokens", "kv_tokens", "cache_length", "prompts", "pictures"].map(column);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells.len() == head.len()).then_some(())?;
        let [batch, computed, kv, length, prompts, pictures] = others.map(|at| at.map(|at| cells[at]));
        let number = |cell: Option<&str>| cell.and_then(|cell| cell.parse().ok());
        Some(StepRow {
            kind: cells[kind].to_owned(),
            phase: cells[phase].to_owned(),
            decode_tokens: cells[decode].parse().ok()?,
            dur_ns: cells[dur].parse().ok()?,
            batch: number(batch),
            computed_tokens: number(computed),
            kv_tokens: number(kv),
            cache_length: number(length),
            prompts: prompts.map(str::to_owned),
            pictures: pictures.map(str::to_owned),
        })
    };
    split(lines.map(row))
}

fn requests(text: &str) -> (Vec<RequestRow>, usize) {
    split(text.lines().map(|line| serde_json::from_str(line).ok()))
}

fn split<T>(rows: impl Iterator<Item = Option<T>>) -> (Vec<T>, usize) {
    let mut lost = 0;
    let kept = rows.filter_map(|row| {
        lost += usize::from(row.is_none());
        row
    });
    let kept = kept.collect();
    (kept, lost)
}

/// Only what says what was run: `hello`, `model`, `dataset`, `memory`.
fn told(text: &str) -> Map<String, Json> {
    let mut told = Map::new();
    for event in text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok()) {
        let name = event.get("event").and_then(Json::as_str).map(str::to_owned);
        if let Some(name) =
            name.filter(|name| ["hello", "model", "dataset", "memory"].contains(&name.as_str()))
        {
            told.insert(name, event);
        }
    }
    told
}

/// The durations of warm-up rounds that ended.
fn warmups(text: &str) -> Vec<u64> {
    let events = text.lines().filter_map(|line| serde_json::from_str::<Json>(line).ok());
    let is_warmup = |event: &Json| event["event"] == "round_end" && event["kind"] == "warmup";
    events.filter(is_warmup).filter_map(|event| event["dur_ns"].as_u64()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_cut_is_lost_and_counted() {
        let (rows, lost) =
            steps("kind,phase,decode_tokens,extra,dur_ns\nmeasured,decode,2,,70\nmeasured,dec");
        let row = StepRow {
            kind: "measured".into(),
            phase: "decode".into(),
            decode_tokens: 2,
            dur_ns: 70,
            ..StepRow::default()
        };
        assert_eq!((rows, lost), (vec![row], 1));
        assert_eq!(steps("").0, []);
        assert_eq!(requests("{\"round\":0").1, 1);
    }
}
