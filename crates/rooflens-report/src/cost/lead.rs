//! The sentence everything begins with.

use rooflens_cost::compare::{Difference, Differences};
use rooflens_cost::document::{Document, PhaseFacts};
use rooflens_cost::estimate::PhaseTime;
use rooflens_cost::inverse::Needs;
use rooflens_cost::roof::Limit;
use rooflens_cost::routing::Routing;
use rooflens_cost::step::Phase;

use super::phase_title;
use crate::format;

/// What a design does in which time, whether it fits, and whether targets are met.
pub(super) fn design(name: &str, document: &Document) -> String {
    let mut sentences = Vec::new();
    for (index, phase) in document.phases.iter().enumerate() {
        let who = if index == 0 { name } else { "It" };
        sentences.push(phase_sentence(who, document, phase, index == 0));
    }
    if document.phases.is_empty() {
        sentences.push(format!("{name} has nothing to do."));
    }
    sentences.extend(document.needs.iter().map(target_sentence));
    sentences.extend(room_sentence(document));
    sentences.join(" ")
}

/// What changes from one design to the other, and whether the new one fits.
pub(super) fn comparison(name: &str, base: &str, document: &Document, differences: &Differences) -> String {
    let of = |name: &str, phase: Option<Phase>| {
        differences.totals.iter().find(|row| row.name == name && row.phase == phase)
    };
    let change = |row: &Difference| row.values.change.map_or("from nothing".to_owned(), format::change);
    let mut changes = Vec::new();
    for phase in document.phases.iter().map(|phase| phase.phase) {
        let title = phase_title(phase).to_lowercase();
        if let Some(row) = of("seconds", Some(phase)) {
            let time = |seconds: f64| format::time(seconds * 1e9);
            let (before, after) = (time(row.values.base), time(row.values.value));
            changes.push(format!("{title} {} ({after} for {before} at least)", change(row)));
        } else if let (Some(flops), Some(bytes)) =
            (of("flops.useful", Some(phase)), of("bytes.total", Some(phase)))
        {
            changes.push(format!("{title} {} FLOP and {} bytes moved", change(flops), change(bytes)));
        }
    }
    for (number, words) in [
        ("params.total", "parameters"),
        ("kv.bytes_per_token", "cache a token"),
        ("memory.total_bytes", "memory"),
    ] {
        changes.extend(of(number, None).map(|row| format!("{words} {}", change(row))));
    }
    let mut sentences = vec![format!("{name} against {base}: {}.", changes.join(", "))];
    sentences.extend(document.needs.iter().map(target_sentence));
    sentences.extend(room_sentence(document));
    sentences.join(" ")
}

fn phase_sentence(who: &str, document: &Document, phase: &PhaseFacts, first: bool) -> String {
    let does = does(document, phase);
    let devices = document.setup.parallel.devices();
    let Some(time) = &phase.time else {
        let flops = format::amount(phase.totals.flops.useful as f64, "FLOP");
        let moved = format::amount(phase.totals.bytes.total as f64, "B");
        let each = if devices > 1 { " on the busiest device" } else { "" };
        return format!("{who} {does} with {flops} and {moved} moved{each}.");
    };
    let on = match (&document.hardware, devices) {
        (Some(device), 1) if first => format!(" on {}", device.name),
        (Some(device), devices) if first => format!(" on {devices} × {}", device.name),
        _ => String::new(),
    };
    let least = format::time(time.seconds * 1e9);
    let routed = routing_words(&document.setup.routing, time);
    format!("{who} {does} in at least {least}{routed}{on}, {}.", limit_words(time))
}

/// Under which choice of experts a time holds, where another choice would change it.
fn routing_words(routing: &Routing, time: &PhaseTime) -> String {
    if time.band.max <= time.band.min * 1.001 {
        return String::new();
    }
    let how = match routing {
        Routing::Balanced => "balanced",
        Routing::Uniform => "uniform",
        Routing::PowerLaw { .. } => "power-law",
        Routing::Histogram { .. } => "measured",
    };
    let (least, most) = (format::time(time.band.min * 1e9), format::time(time.band.max * 1e9));
    format!(" with {how} routing ({least} to {most} with any)")
}

/// What a phase does, as a verb with its objects.
fn does(document: &Document, phase: &PhaseFacts) -> String {
    let workload = &document.workload;
    let batch = workload.batch as i64;
    let count = |number: u64| format::count(i64::try_from(number).unwrap_or(i64::MAX));
    match phase.phase {
        Phase::Vision => match (workload.images.as_ref().map_or(1, |images| images.count), batch) {
            (1, 1) => "looks at an image".to_owned(),
            (images, 1) => format!("looks at {} images", count(images)),
            (images, batch) => {
                format!("looks at {} of each of {} sequences", images_of(images), format::count(batch))
            }
        },
        Phase::Prefill => {
            let tokens = count(workload.prefill.map_or(0, |prefill| prefill.tokens));
            let after = match workload.prefill.map_or(0, |prefill| prefill.prefix) {
                0 => String::new(),
                prefix => format!(" after {} in the cache", count(prefix)),
            };
            match batch {
                1 => format!("reads {tokens} tokens{after}"),
                _ => format!("reads {} prompts of {tokens} tokens{after}", format::count(batch)),
            }
        }
        Phase::Decode => {
            let decode = workload.decode;
            let context = count(decode.map_or(0, |decode| decode.context));
            let tokens = match (phase.steps, decode.map_or(0, |decode| decode.draft)) {
                (1, 0) => "makes a token".to_owned(),
                (steps, 0) => format!("makes {} tokens", count(steps)),
                (1, draft) => format!("checks {} tokens in a step", count(draft + 1)),
                (steps, draft) => {
                    format!("checks {} tokens in each of {} steps", count(draft + 1), count(steps))
                }
            };
            let sequences = match batch {
                1 => String::new(),
                _ => format!(" for each of {} sequences", format::count(batch)),
            };
            format!("{tokens}{sequences} at context {context}")
        }
    }
}

fn images_of(images: u64) -> String {
    if images == 1 { "the image".to_owned() } else { format!("{images} images") }
}

fn limit_words(time: &PhaseTime) -> String {
    match time.limit {
        Limit::Compute => format!("bound by compute (MFU at most {})", format::share(time.mfu_ceiling)),
        Limit::Memory => {
            format!("bound by memory bandwidth (MFU at most {})", format::share(time.mfu_ceiling))
        }
        Limit::Vector => "bound by the vector units".to_owned(),
        Limit::Link => "bound by the links between devices".to_owned(),
    }
}

fn target_sentence(needs: &Needs) -> String {
    let name = target_name(needs.target.phase);
    let target = format::time(needs.target.seconds * 1e9);
    let now = needs.now_s.map(|seconds| format::time(seconds * 1e9)).unwrap_or_default();
    match needs.met {
        None => format!(
            "{name} {target} takes {} and {}.",
            format::amount(needs.flops_per_s, "FLOP/s"),
            format::amount(needs.bytes_per_s, "B/s")
        ),
        Some(true) => format!("{name} {target} can be met: at least {now}."),
        Some(false) if needs.now_s.is_some_and(|seconds| seconds <= needs.target.seconds) => {
            format!("{name} {target} cannot be met: {now} would do, but memory does not.")
        }
        Some(false) => format!("{name} {target} cannot be met: at least {now}."),
    }
}

/// What a target is called.
pub(super) fn target_name(phase: Phase) -> &'static str {
    if phase == Phase::Decode { "TPOT" } else { "TTFT" }
}

fn room_sentence(document: &Document) -> Option<String> {
    let memory = &document.memory;
    if memory.fits != Some(false) {
        return None;
    }
    let total = format::amount(memory.total_bytes as f64, "B");
    let usable = format::amount(memory.usable_bytes.unwrap_or(0) as f64, "B");
    Some(format!("It does not fit: {total} on a device with {usable} usable."))
}
