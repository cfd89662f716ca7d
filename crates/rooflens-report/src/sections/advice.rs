//! What to change, in the order of the list: on pages with all that it rests on. Changes to the model's design stand
//! apart, as they take a training run, not a flag. The screen has the first advice at its end, where the eye and the
//! prompt are; pages have it right under the verdict.

use std::collections::BTreeMap;

use rooflens_analyze::Findings;
use rooflens_analyze::advice::{Advice, AdviceKind, AdviceList, Range, Slowdown};
use rooflens_analyze::analyses::{Ledger, Verdict};

use crate::block::{Block, Cell, Column, Field};
use crate::format;
use crate::section::{Detail, words};

/// Advice on one screen.
const NEXT: usize = 3;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    match findings.get::<AdviceList>() {
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

pub(super) fn design_blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    match findings.get::<AdviceList>() {
        Some(list) if !detail.is_screen() => page(list, &design(list), "design"),
        _ => vec![],
    }
}

pub(super) fn next_blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    if !detail.is_screen() {
        return vec![];
    }
    let found = next_steps(findings);
    let mut blocks = vec![];
    if !found.is_empty() {
        blocks.push(Block::Steps(found));
    }
    if findings.get::<AdviceList>().is_some_and(|list| !list.items.is_empty()) {
        blocks.push(Block::Text(
            "Evidence and how to do it: rooflens advise with the same arguments".to_owned(),
        ));
    }
    let lacks_model = |ledger: &Ledger| {
        let reason = ledger.not_computed.get("floor");
        ledger.timeline == "device" && reason.is_some_and(|reason| reason.starts_with("no model was given"))
    };
    if findings.get::<Ledger>().is_some_and(lacks_model) {
        blocks
            .push(Block::Text("Add --model CONFIG to see how far the kernels are from the limit".to_owned()));
    }
    blocks
}

/// Everywhere the same: the first advice with its gains, or what stands out where there is none.
pub(super) fn next_steps(findings: &Findings) -> Vec<String> {
    match findings.get::<AdviceList>() {
        Some(list) if !list.items.is_empty() => titles(list, NEXT),
        _ => findings.get::<Verdict>().map_or_else(Vec::new, |verdict| verdict.next.clone()),
    }
}

fn deployment(list: &AdviceList) -> Vec<Advice> {
    list.items.iter().filter(|advice| advice.kind != AdviceKind::Design).cloned().collect()
}

fn design(list: &AdviceList) -> Vec<Advice> {
    list.items.iter().filter(|advice| advice.kind == AdviceKind::Design).cloned().collect()
}

fn page(list: &AdviceList, items: &[Advice], table: &'static str) -> Vec<Block> {
    if items.is_empty() {
        return vec![];
    }
    let mut blocks = vec![Block::Text(foreword(list)), Block::table(table, FIELDS, items, usize::MAX)];
    for advice in items {
        let title = format!("{}: {}", advice.title, gain(advice));
        blocks.push(Block::Folded { title, blocks: vec![Block::Lines(reasons(advice))] });
    }
    blocks
}

pub(crate) fn narrow(list: &AdviceList, most: usize) -> Vec<Block> {
    let mut blocks = narrow_items(list, &deployment(list), most);
    if blocks.is_empty() {
        blocks.push(Block::Text("No rule found a gain of 1% or more.".to_owned()));
    }
    blocks.extend(not_judged(list));
    blocks
}

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
    (Column::text("title", "what"), |row| Cell::text(&row.title)),
    (Column::text("rule", "rule"), |row| Cell::word(&*row.rule)),
    (Column::text("kind", "kind"), |row| Cell::word(kind(row.kind))),
    (Column::text("phase", "phase"), |row| Cell::word(&*row.phase)),
    (Column::number("gain_low_ns", "gain, at least"), |row| {
        Cell::or(row.gain_ns, |gain| Cell::MeanTime(gain.low), NOT_KNOWN)
    }),
    (Column::number("gain_high_ns", "at most"), |row| {
        Cell::or(row.gain_ns, |gain| Cell::MeanTime(gain.high), NOT_KNOWN)
    }),
    (Column::number("gain_share_low", "share, at least"), |row| {
        Cell::or(row.gain_share, |gain| Cell::Share(gain.low), NOT_KNOWN)
    }),
    (Column::bar("gain_share_high", "at most"), |row| {
        Cell::or(row.gain_share, |gain| Cell::Share(gain.high), NOT_KNOWN)
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
