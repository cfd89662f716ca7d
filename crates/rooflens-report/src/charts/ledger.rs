//! Where the time of each phase went.

use rooflens_analyze::analyses::{Ledger, PhaseLedger};
use rooflens_analyze::ledger::Line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::inputs::{ChartInputs, named};
use crate::block::Tone;
use crate::section::line_tone;

/// The lines of the time ledger, by phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerPlot {
    /// The lines that have time, in the order of the ledger.
    pub(crate) lines: Vec<LedgerPart>,
    /// The phases, most time first.
    pub(crate) phases: Vec<PhaseBar>,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LedgerPart {
    /// The line.
    pub(crate) line: Line,
    /// Its name.
    pub(crate) title: Cow<'static, str>,
    /// What stands on it.
    pub(crate) meaning: Cow<'static, str>,
    /// Its colour.
    pub(crate) tone: Tone,
}

/// The time of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct PhaseBar {
    /// The phase.
    pub(crate) phase: String,
    /// Its steps; 0 outside of steps.
    pub(crate) steps: usize,
    /// Its time: the sum of its lines.
    pub(crate) wall_ns: i64,
    /// Time on each line, in the order of `lines`.
    pub(crate) ns: Vec<i64>,
}

pub(super) fn data(inputs: &ChartInputs<'_>) -> Result<(String, LedgerPlot), String> {
    let none = || "the input has no time ledger: it needs device activity or operators".to_owned();
    let ledger = inputs.findings.get::<Ledger>().ok_or_else(none)?;
    let phases: Vec<&PhaseLedger> = ledger.phases.iter().filter(|phase| phase.wall_ns > 0).collect();
    if phases.is_empty() {
        return Err("no phase of the time ledger has time".to_owned());
    }
    let used = Line::ALL.iter().copied().filter(|line| phases.iter().any(|phase| phase.on(*line) > 0));
    let used: Vec<Line> = used.collect();
    let part = |line: &Line| LedgerPart {
        line: *line,
        title: line.title().into(),
        meaning: line.meaning().into(),
        tone: line_tone(*line),
    };
    let bar = |phase: &&PhaseLedger| PhaseBar {
        phase: named(&phase.phase.replace('_', " ")),
        steps: phase.steps,
        wall_ns: phase.wall_ns,
        ns: used.iter().map(|line| phase.on(*line)).collect(),
    };
    let subtitle = match (&ledger.floor_of, ledger.not_computed.get("floor")) {
        (Some(source), _) => format!("Lower bound: {} on {}", source.model, source.device),
        (None, Some(reason)) => format!("No lower bound: {reason}"),
        (None, None) => String::new(),
    };
    let plot =
        LedgerPlot { lines: used.iter().map(part).collect(), phases: phases.iter().map(bar).collect() };
    Ok((subtitle, plot))
}
