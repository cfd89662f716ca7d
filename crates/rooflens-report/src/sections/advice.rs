//! What to change, most gain first: on pages with all that it rests on.

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{Advice, AdviceList, Range};

use crate::block::{Block, Cell, Column, Field, Table};
use crate::format;
use crate::sections::{Detail, Section, words};

pub(super) struct AdviceSection;

impl Section for AdviceSection {
    fn name(&self) -> &'static str {
        "advice"
    }
    fn title(&self) -> &'static str {
        "Advice"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
        match findings.get::<AdviceList>() {
            // The screen has the first of them at its end.
            Some(list) if !detail.is_screen() => page(list),
            _ => vec![],
        }
    }
}

/// A table of all advice, and each with its evidence.
fn page(list: &AdviceList) -> Vec<Block> {
    let mut blocks = vec![];
    if !list.items.is_empty() {
        blocks.push(Block::Text(ALONE.to_owned()));
        blocks.push(Block::Table(Table::new("advice", FIELDS, &list.items, usize::MAX)));
    }
    for advice in &list.items {
        let title = format!("{}: {}", advice.title, gain(advice));
        blocks.push(Block::Folded { title, blocks: vec![Block::Lines(reasons(advice))] });
    }
    if !list.not_computed.is_empty() {
        let title = format!("{} not judged", format::plural(list.not_computed.len() as i64, "rule"));
        blocks.push(Block::Folded { title, blocks: vec![unjudged(list)] });
    }
    blocks
}

/// Each advice with its evidence, for a narrow medium: headings are short.
pub(crate) fn narrow(list: &AdviceList, most: usize) -> Vec<Block> {
    let mut blocks = vec![];
    if !list.items.is_empty() {
        blocks.push(Block::Text(ALONE.to_owned()));
    }
    for advice in list.items.iter().take(most) {
        blocks.push(Block::Heading(words(advice.rule)));
        blocks.push(Block::Text(format!("{}: {}.", advice.title, gain(advice))));
        blocks.push(Block::Lines(reasons(advice)));
    }
    blocks.extend(not_judged(list));
    blocks
}

const ALONE: &str = "Gains are shares of the phase's time. They overlap; do not add them.";

fn reasons(advice: &Advice) -> Vec<String> {
    let mut lines: Vec<String> = advice.evidence.iter().map(|line| format!("{line}.")).collect();
    lines.push(format!("Gain: {}.", advice.computed));
    lines.push(format!("Change: {}.", advice.change.trim_end_matches('.')));
    lines.push(format!("Risk: {}", advice.risk));
    lines
}

fn not_judged(list: &AdviceList) -> Vec<Block> {
    if list.not_computed.is_empty() {
        return vec![];
    }
    vec![Block::Heading("not judged".to_owned()), unjudged(list)]
}

fn unjudged(list: &AdviceList) -> Block {
    let lines = list.not_computed.iter().map(|(rule, why)| format!("{}: {why}.", words(rule)));
    Block::Lines(lines.collect())
}

/// The first advice, a line each, without how to do it.
pub(crate) fn titles(list: &AdviceList, most: usize) -> Vec<String> {
    list.items.iter().take(most).map(|advice| format!("{}: {}", advice.title, gain(advice))).collect()
}

/// `52.1% to 60.4% of decode, 5.8 ms to 6.7 ms a step`.
fn gain(advice: &Advice) -> String {
    let shares = span(advice.gain_share, format::share);
    let times = match advice.step_gain_ns {
        Some(step) => format!("{} a step", span(step, format::time)),
        None => span(advice.gain_ns, format::time),
    };
    format!("{shares} of {}, {times}", phase(advice))
}

fn phase(advice: &Advice) -> String {
    if advice.phase == rooflens_analyze::analyses::OUTSIDE {
        return "what is outside of steps".to_owned();
    }
    if advice.phase == "step" {
        return "all steps".to_owned();
    }
    words(advice.phase)
}

fn span(range: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(range.low), show(range.high));
    match range.low <= 0.0 {
        true => format!("up to {high}"),
        false if low == high => high,
        false => format!("{low} to {high}"),
    }
}

const FIELDS: &[Field<Advice>] = &[
    (Column::text("title", "what"), |advice| Cell::text(&advice.title)),
    (Column::text("rule", "rule"), |advice| Cell::word(advice.rule)),
    (Column::text("phase", "phase"), |advice| Cell::word(advice.phase)),
    (Column::number("gain_low_ns", "gain, at least"), |advice| Cell::MeanTime(advice.gain_ns.low)),
    (Column::number("gain_high_ns", "at most"), |advice| Cell::MeanTime(advice.gain_ns.high)),
    (Column::number("gain_share_low", "share, at least"), |advice| Cell::Share(advice.gain_share.low)),
    (Column::bar("gain_share_high", "at most"), |advice| Cell::Share(advice.gain_share.high)),
];
