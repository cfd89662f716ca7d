//! What was read.

use std::collections::BTreeSet;

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{Devices, Trace};

use crate::block::{Block, Cell, Fact};
use crate::format;
use crate::section::Detail;

const NO_RECORDS: &str = "nothing was read";

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(trace) = findings.get::<Trace>() else { return vec![] };
    if detail.is_screen() {
        return vec![Block::Facts(line(trace, &recognised(findings)))];
    }
    let mut facts = vec![
        Fact::new("events", Cell::Count(trace.events)).help("Records in the files, read or not."),
        Fact::new("span", Cell::Time(trace.span_ns))
            .help("From the earliest record to the end of the latest."),
        Fact::new("ranks", Cell::count(trace.ranks)),
        Fact::new("devices", Cell::count(trace.devices)).help("Devices with activity."),
    ];
    if let Some(world) = trace.world_size {
        facts.push(Fact::new("world size", Cell::count(world)).help("Ranks the job claims to have."));
    }
    let hardware: Vec<String> = trace.hardware.iter().cloned().chain(recognised(findings)).collect();
    if !hardware.is_empty() {
        facts.push(Fact::new("hardware", Cell::text(hardware.join(", "))));
    }
    facts.push(Fact::new(
        "started",
        Cell::or(trace.start_unix_ns, |ns| Cell::text(format::date(ns)), "the trace has no wall clock"),
    ));
    vec![Block::Facts(facts)]
}

fn recognised(findings: &Findings) -> BTreeSet<String> {
    let devices = findings.get::<Devices>().map_or(&[][..], |devices| &devices.0);
    let found = devices.iter().filter_map(|device| device.recognised.as_ref());
    found.map(|found| format!("{} (no name in the trace, but {})", found.device, found.by)).collect()
}

fn line(trace: &Trace, recognised: &BTreeSet<String>) -> Vec<Fact> {
    let mut parts = vec![];
    match trace.sources.as_slice() {
        [] => parts.push(NO_RECORDS.to_owned()),
        [one] => parts.push(one.clone()),
        [first, ..] => parts.push(format!("{first} and {} more", format::count(trace.ranks as i64 - 1))),
    }
    parts.push(format::plural(trace.events, "event"));
    let ranks = format::plural(trace.ranks as i64, "rank");
    match trace.world_size {
        Some(world) if i64::from(world) != trace.ranks as i64 => parts.push(format!("{ranks} of {world}")),
        _ if trace.ranks == 1 => {}
        _ => parts.push(ranks),
    }
    parts.push(match trace.devices {
        0 if trace.lost_device() => "device events missing".to_owned(),
        0 => "no device activity".to_owned(),
        devices => format::plural(devices as i64, "device"),
    });
    if !trace.hardware.is_empty() {
        parts.push(trace.hardware.join(", "));
    }
    parts.extend(recognised.iter().cloned());
    parts.push(format::time(trace.span_ns as f64));
    parts.into_iter().map(Fact::plain).collect()
}
