//! The answer in a sentence, and the time it is about.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Ledger, LedgerLine, Verdict};

use crate::block::{Block, Cell, Fact, Stack, StackBar};
use crate::format;
use crate::section::{Detail, line_tone};
use crate::sections::advice;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(verdict) = findings.get::<Verdict>() else {
        let reason = findings.not_computed.iter().find(|missing| missing.analysis == "verdict");
        return vec![Block::Lead(match reason {
            Some(missing) => format!("There is no verdict: {}.", missing.reason),
            None => "There is no verdict: nothing was found in this trace.".to_owned(),
        })];
    };
    let mut blocks = vec![Block::Lead(verdict.sentence.clone())];
    if detail.is_screen() {
        return blocks;
    }
    match device_time(findings) {
        Some(stack) => blocks.push(Block::Stack(stack)),
        None if !verdict.shares.is_empty() => {
            // Without a device these are operators, by their own names.
            let fact = |(name, share): &(String, f64)| Fact::new(format!("`{name}`"), Cell::Share(*share));
            blocks.push(Block::Facts(verdict.shares.iter().map(fact).collect()));
        }
        None => {}
    }
    let next = advice::next_steps(findings);
    if !next.is_empty() {
        blocks.push(Block::Steps(next));
    }
    blocks
}

fn device_time(findings: &Findings) -> Option<Stack> {
    let ledger = findings.get::<Ledger>().filter(|ledger| ledger.timeline == "device")?;
    let part = |line: &LedgerLine| {
        let idle = if line.line.is_idle() { "idle: " } else { "" };
        (line_tone(line.line), format!("{idle}{}", line.line.title()))
    };
    let label = match ledger.timelines {
        1 => "wall time".to_owned(),
        number => format!("wall time of {} devices", format::count(number as i64)),
    };
    Some(Stack {
        parts: ledger.lines.iter().map(part).collect(),
        bars: vec![StackBar {
            label,
            parts_ns: ledger.lines.iter().map(|line| line.ns).collect(),
            whole_ns: ledger.wall_ns,
        }],
    })
}
