//! The answer in a sentence, and the time it is about.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Devices, Gaps, Verdict};
use rooflens_schema::tables::GapCause;

use crate::block::{Block, Cell, Fact, Stack, StackBar, Tone};
use crate::format;
use crate::sections::{Detail, Section, gap_tone, words};

pub(super) struct VerdictSection;

impl Section for VerdictSection {
    fn name(&self) -> &'static str {
        "verdict"
    }
    fn title(&self) -> &'static str {
        "Verdict"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
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
                let fact = |(name, share): &(String, f64)| Fact::new(words(name), Cell::Share(*share));
                blocks.push(Block::Facts(verdict.shares.iter().map(fact).collect()));
            }
            None => {}
        }
        if !verdict.next.is_empty() {
            blocks.push(Block::Steps(verdict.next.clone()));
        }
        blocks
    }
}

/// The time of all devices as one bar: what ran, and why nothing did.
fn device_time(findings: &Findings) -> Option<Stack> {
    let devices = &findings.get::<Devices>()?.0;
    let sum = |part: fn(&rooflens_analyze::analyses::DeviceTime) -> i64| {
        devices.iter().map(part).fold(0_i64, i64::saturating_add)
    };
    let mut parts = vec![
        (Tone::Compute, "compute".to_owned(), sum(|device| device.compute_ns)),
        (
            Tone::Communication,
            "exposed communication".to_owned(),
            sum(|device| device.exposed_communication_ns),
        ),
        (Tone::Copy, "exposed copies".to_owned(), sum(|device| device.exposed_copy_ns)),
    ];
    // Idle time that no gap accounts for stays visible.
    let mut unexplained = sum(|device| device.idle_ns);
    for gap in findings.get::<Gaps>().map(|gaps| gaps.0.as_slice()).unwrap_or_default() {
        if matches!(gap.cause, GapCause::None | GapCause::Tail) {
            continue;
        }
        parts.push((gap_tone(gap.cause), format!("idle: {}", words(gap.cause.as_str())), gap.total_ns));
        unexplained = unexplained.saturating_sub(gap.total_ns);
    }
    let explained = parts.iter().any(|(_, name, _)| name.starts_with("idle"));
    let name = if explained { "idle: not explained" } else { "idle" };
    parts.push((Tone::Idle, name.to_owned(), unexplained));
    parts.retain(|(_, _, ns)| *ns > 0);
    let whole_ns = sum(|device| device.span_ns);
    let label = match devices.len() {
        0 => return None,
        1 => "device time".to_owned(),
        number => format!("device time, {} devices", format::count(number as i64)),
    };
    Some(Stack {
        bars: vec![StackBar { label, parts_ns: parts.iter().map(|(_, _, ns)| *ns).collect(), whole_ns }],
        parts: parts.into_iter().map(|(tone, name, _)| (tone, name)).collect(),
    })
}
