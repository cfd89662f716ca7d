//! Advice as a separate answer, and a changed model next to the one that ran.

use std::borrow::Cow;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{AdviceList, Range};
use rooflens_analyze::analyses::{Ledger, Verdict};
use rooflens_analyze::ledger::kernels_floor_ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::Level::Screen;
use crate::block::{Block, Cell, Column, Field};
use crate::format;
use crate::render::Part;
use crate::section::Detail;
use crate::sections;

/// The ledger of a phase, and what a change of the model makes of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WhatIf {
    /// The change, as it was typed.
    pub change: String,
    /// The phase.
    pub phase: Cow<'static, str>,
    /// Steps.
    pub steps: usize,
    /// The lines, before and after.
    pub lines: Vec<ChangedLine>,
    /// Least times by class of the static model, before and after.
    pub classes: Vec<ChangedClass>,
    /// Time saved over all steps: the difference of the lower bounds, up to kernel time in proportion. Below zero it is lost.
    pub gain_ns: Range,
}

/// A line before and after.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangedLine {
    /// The line.
    pub line: Cow<'static, str>,
    /// Time as it ran.
    pub old_ns: i64,
    /// Time after the change.
    pub new_ns: i64,
}

/// A class of the static model before and after; null where it has no such class.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ChangedClass {
    /// The class.
    pub class: String,
    /// Least time of what ran.
    pub old_ns: Option<f64>,
    /// Least time after the change.
    pub new_ns: Option<f64>,
}

/// The answer: a verdict, the ledger, all advice, and changed models.
pub fn parts(findings: &Findings, assumed: &[String], changed: &[WhatIf], limit: usize) -> Vec<Part> {
    let mut lead = vec![];
    if let Some(verdict) = findings.get::<Verdict>() {
        lead.push(Block::Lead(verdict.sentence.clone()));
    }
    lead.extend(findings.get::<Ledger>().into_iter().flat_map(floors));
    if !assumed.is_empty() {
        lead.push(Block::Lines(assumed.iter().map(|line| format!("{line}.")).collect()));
    }
    let mut parts = vec![Part { name: "verdict", title: "Verdict", blocks: lead }];
    if let Some(section) = sections::find("ledger") {
        let blocks = section.blocks(findings, Detail::Screen { rows: limit });
        parts.push(Part { name: section.name, title: section.title, blocks });
    }
    parts.extend(changed.iter().map(|one| Part { name: "what_if", title: "What if", blocks: what_if(one) }));
    if let Some(list) = findings.get::<AdviceList>() {
        parts.push(Part { name: "advice", title: "Advice", blocks: sections::advice::narrow(list, limit) });
        let blocks = sections::advice::narrow_design(list, limit);
        if let Some(section) = sections::find("design").filter(|_| !blocks.is_empty()) {
            parts.push(Part { name: section.name, title: section.title, blocks });
        }
    }
    parts
}

/// The first advice, a line each.
pub fn titles(findings: &Findings, most: usize) -> Vec<String> {
    findings.get::<AdviceList>().map_or_else(Vec::new, |list| sections::advice::titles(list, most))
}

fn floors(ledger: &Ledger) -> Option<Block> {
    let known = ledger.phases.iter().filter(|phase| !phase.floors.is_empty() && phase.steps > 0);
    let lines: Vec<String> = known
        .map(|phase| {
            // Collectives can be hidden behind them.
            let floor = kernels_floor_ns(&phase.floors);
            let steps = phase.steps as f64;
            format!(
                "Lower bound of the kernels of a {} step: {}; the step took {}, {:.1} times as long.",
                phase.phase,
                format::time(floor / steps),
                format::time(phase.wall_ns as f64 / steps),
                phase.wall_ns as f64 / floor
            )
        })
        .collect();
    match (lines.is_empty(), ledger.not_computed.get("floor")) {
        (false, _) => Some(Block::Lines(lines)),
        (true, Some(reason)) => Some(Block::Text(format!("No lower bound: {reason}."))),
        (true, None) => None,
    }
}

fn what_if(changed: &WhatIf) -> Vec<Block> {
    let (low, high) = (changed.gain_ns.low, changed.gain_ns.high);
    let (word, least, most) = if high >= 0.0 { ("saved", low, high) } else { ("lost", -low, -high) };
    vec![
        Block::Text(format!(
            "{}: {} to {} of {} {word}. The floor is that of the changed model, everything else is as \
             measured; at most, kernel times change in proportion to their floor.",
            changed.change,
            format::time(least.min(most)),
            format::time(least.max(most)),
            changed.phase
        )),
        Block::table("what_if", LINES, &changed.lines, usize::MAX),
        Block::table("what_if_classes", CLASSES, &changed.classes, usize::MAX),
    ]
}

fn title(line: &str) -> &str {
    let mut all = rooflens_analyze::ledger::Line::ALL.iter();
    all.find(|known| known.as_str() == line).map_or(line, |known| known.title())
}

const LINES: &[Field<ChangedLine>] = &[
    (Column::text("line", "line"), |row| Cell::word(title(&row.line))),
    (Column::number("old_ns", "measured"), |row| Cell::Time(row.old_ns)),
    (Column::number("new_ns", "after"), |row| Cell::Time(row.new_ns)),
];

const NO_CLASS: &str = "the model has no such operators";

const CLASSES: &[Field<ChangedClass>] = &[
    (Column::text("class", "class"), |row| Cell::code(row.class.clone())),
    (Column::number("old_ns", "floor"), |row| Cell::or(row.old_ns, Cell::MeanTime, NO_CLASS)),
    (Column::number("new_ns", "floor after").at(Screen), |row| {
        Cell::or(row.new_ns, Cell::MeanTime, NO_CLASS)
    }),
];
