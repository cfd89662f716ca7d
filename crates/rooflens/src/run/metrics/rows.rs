//! The rows that a workload leaves: `steps.csv`, `requests.jsonl`, and facts of its events.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// A forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRow {
    /// `warmup`, `measured`, …
    pub kind: String,
    /// `prefill`, `decode`, `mixed`.
    pub phase: String,
    /// Sequences that went on by a token.
    pub decode_tokens: u64,
    /// How long it took.
    pub dur_ns: u64,
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
}

impl Rows {
    /// Reads the folder of a pass. What is not there is empty.
    pub fn read(folder: &Path) -> Self {
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (steps, lost_steps) = steps(&text("steps.csv"));
        let (requests, lost_requests) = requests(&text("requests.jsonl"));
        Rows { steps, requests, lost: lost_steps + lost_requests, told: told(&text("events.jsonl")) }
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
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells.len() == head.len()).then_some(())?;
        Some(StepRow {
            kind: cells[kind].to_owned(),
            phase: cells[phase].to_owned(),
            decode_tokens: cells[decode].parse().ok()?,
            dur_ns: cells[dur].parse().ok()?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_cut_is_lost_and_counted() {
        let (rows, lost) =
            steps("kind,phase,decode_tokens,extra,dur_ns\nmeasured,decode,2,,70\nmeasured,dec");
        let row = StepRow { kind: "measured".into(), phase: "decode".into(), decode_tokens: 2, dur_ns: 70 };
        assert_eq!((rows, lost), (vec![row], 1));
        assert_eq!(steps("").0, []);
        assert_eq!(requests("{\"round\":0").1, 1);
    }
}
