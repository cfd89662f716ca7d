//! `events.jsonl` and `phases.jsonl`: what ran, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::Reader;

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
    pub(super) fn shift(&mut self, delta_ns: i64) {
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
    pub(super) fn events(&mut self) {
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

    pub(super) fn marks(&mut self) {
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
