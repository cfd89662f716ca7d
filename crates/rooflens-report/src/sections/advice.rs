//! What to change, in the order of the list: on pages with all that it rests on. Changes to the model are in `design`.

use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{Advice, AdviceKind, AdviceList, Range, Slowdown};

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
            Some(list) if !detail.is_screen() => {
                let mut blocks = page(list, &deployment(list), "advice");
                if !list.not_computed.is_empty() {
                    let title =
                        format!("{} not evaluated", format::plural(list.not_computed.len() as i64, "rule"));
                    blocks.push(Block::Folded { title, blocks: vec![unjudged(list)] });
                }
                blocks
            }
            _ => vec![],
        }
    }
}

/// Advice that needs no other model.
fn deployment(list: &AdviceList) -> Vec<Advice> {
    list.items.iter().filter(|advice| advice.kind != AdviceKind::Design).cloned().collect()
}

/// Advice that does.
pub(super) fn design(list: &AdviceList) -> Vec<Advice> {
    list.items.iter().filter(|advice| advice.kind == AdviceKind::Design).cloned().collect()
}

/// A table of advice, and each with its evidence.
pub(super) fn page(list: &AdviceList, items: &[Advice], table: &'static str) -> Vec<Block> {
    if items.is_empty() {
        return vec![];
    }
    let mut blocks =
        vec![Block::Text(foreword(list)), Block::Table(Table::new(table, FIELDS, items, usize::MAX))];
    for advice in items {
        let title = format!("{}: {}", advice.title, gain(advice));
        blocks.push(Block::Folded { title, blocks: vec![Block::Lines(reasons(advice))] });
    }
    blocks
}

/// Each advice with its evidence, for a narrow medium: headings are short.
pub(crate) fn narrow(list: &AdviceList, most: usize) -> Vec<Block> {
    let mut blocks = narrow_items(list, &deployment(list), most);
    if blocks.is_empty() {
        blocks.push(Block::Text("No rule found a gain of 1% or more.".to_owned()));
    }
    blocks.extend(not_judged(list));
    blocks
}

/// The same of changes to the model, as far as there is room.
pub(crate) fn narrow_design(list: &AdviceList, most: usize) -> Vec<Block> {
    narrow_items(list, &design(list), most.saturating_sub(deployment(list).len()))
}

fn narrow_items(list: &AdviceList, items: &[Advice], most: usize) -> Vec<Block> {
    let mut blocks = vec![];
    if items.is_empty() || most == 0 {
        return blocks;
    }
    blocks.push(Block::Text(foreword(list)));
    for advice in items.iter().take(most) {
        blocks.push(Block::Heading(words(&advice.rule)));
        blocks.push(Block::Text(format!("{}: {}.", advice.title, gain(advice))));
        blocks.push(Block::Lines(reasons(advice)));
    }
    blocks
}

const ALONE: &str = "Gains are shares of the phase's time. They overlap; do not add them.";

/// What holds for all advice.
fn foreword(list: &AdviceList) -> String {
    let slower = |slowdown: &Slowdown| {
        format!(
            " Times are those without the profiler: a {} step takes {}, {} with it ({:.1} times).",
            slowdown.phase,
            format::time(slowdown.unprofiled_step_ns),
            format::time(slowdown.profiled_step_ns),
            slowdown.ratio
        )
    };
    list.unprofiled.iter().map(slower).fold(ALONE.to_owned(), |text, line| text + &line)
}

fn reasons(advice: &Advice) -> Vec<String> {
    let mut lines: Vec<String> = advice.evidence.iter().map(|line| format!("{line}.")).collect();
    if advice.gain_ns.is_some() {
        lines.push(format!("Gain: {}.", advice.computed));
    }
    lines.push(format!("Change: {}.", advice.change.trim_end_matches('.')));
    lines.push(format!("Risk: {}", advice.risk));
    lines
}

fn not_judged(list: &AdviceList) -> Vec<Block> {
    if list.not_computed.is_empty() {
        return vec![];
    }
    vec![Block::Heading("Not evaluated".to_owned()), unjudged(list)]
}

/// Rules that lack the same thing stand together.
fn unjudged(list: &AdviceList) -> Block {
    let mut reasons: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (rule, why) in &list.not_computed {
        reasons.entry(why).or_default().push(words(rule));
    }
    Block::Lines(reasons.iter().map(|(why, rules)| format!("{}: {why}.", rules.join(", "))).collect())
}

/// The first advice, a line each, without how to do it.
pub(crate) fn titles(list: &AdviceList, most: usize) -> Vec<String> {
    list.items.iter().take(most).map(|advice| format!("{}: {}", advice.title, gain(advice))).collect()
}

/// `52.1% to 60.4% of decode, 5.8 ms to 6.7 ms per step`.
fn gain(advice: &Advice) -> String {
    let (Some(shares), Some(times)) = (advice.gain_share, advice.gain_ns) else {
        return format!("gain not known: {}", advice.computed);
    };
    let shares = span(shares, format::share);
    let times = match advice.step_gain_ns {
        Some(step) => format!("{} per step", span(step, format::time)),
        None => span(times, format::time),
    };
    format!("{shares} of {}, {times}", phase(advice))
}

fn phase(advice: &Advice) -> String {
    if advice.phase == rooflens_analyze::analyses::OUTSIDE {
        return "time outside steps".to_owned();
    }
    if advice.phase == "step" {
        return "all steps".to_owned();
    }
    words(&advice.phase)
}

fn span(range: Range, show: impl Fn(f64) -> String) -> String {
    let (low, high) = (show(range.low), show(range.high));
    if low == high { high } else { format!("{low} to {high}") }
}

const NOT_KNOWN: &str = "the gain is not known";

const FIELDS: &[Field<Advice>] = &[
    (Column::text("title", "what"), |advice| Cell::text(&advice.title)),
    (Column::text("rule", "rule"), |advice| Cell::word(&*advice.rule)),
    (Column::text("kind", "kind"), |advice| Cell::word(kind(advice.kind))),
    (Column::text("phase", "phase"), |advice| Cell::word(&*advice.phase)),
    (Column::number("gain_low_ns", "gain, at least"), |advice| {
        Cell::or(advice.gain_ns, |gain| Cell::MeanTime(gain.low), NOT_KNOWN)
    }),
    (Column::number("gain_high_ns", "at most"), |advice| {
        Cell::or(advice.gain_ns, |gain| Cell::MeanTime(gain.high), NOT_KNOWN)
    }),
    (Column::number("gain_share_low", "share, at least"), |advice| {
        Cell::or(advice.gain_share, |gain| Cell::Share(gain.low), NOT_KNOWN)
    }),
    (Column::bar("gain_share_high", "at most"), |advice| {
        Cell::or(advice.gain_share, |gain| Cell::Share(gain.high), NOT_KNOWN)
    }),
];

fn kind(kind: AdviceKind) -> &'static str {
    match kind {
        AdviceKind::Recording => "recording",
        AdviceKind::Deployment => "deployment",
        AdviceKind::Kernel => "kernel",
        AdviceKind::Design => "design",
    }
}
