//! The first sentences, crossovers and targets.

use rooflens_cost::compare::{Difference, Differences};
use rooflens_cost::crossover::Crossovers;
use rooflens_cost::document::{EstimateDocument, PhaseFacts};
use rooflens_cost::estimate::PhaseTime;
use rooflens_cost::inverse::{Needs, only};
use rooflens_cost::roof::Limit;
use rooflens_cost::routing::Routing;
use rooflens_cost::step::Phase;

use super::{count, phase_title, seconds};
use crate::block::{Cell, Fact};
use crate::format;

/// How long each phase takes, whether the model fits, whether targets are ruled out or met.
pub(super) fn design(name: &str, document: &EstimateDocument) -> String {
    let mut sentences = Vec::new();
    for (index, phase) in document.phases.iter().enumerate() {
        sentences.push(phase_sentence(name, document, phase, index == 0));
    }
    if document.phases.is_empty() {
        sentences.push(format!("{name} has nothing to do."));
    }
    sentences.extend(document.needs.iter().map(target_sentence));
    sentences.extend(room_sentence(document));
    sentences.extend(refused_sentence(document));
    sentences.join(" ")
}

pub(super) fn comparison(
    name: &str,
    base: &str,
    document: &EstimateDocument,
    differences: &Differences,
) -> String {
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
            changes.push(format!("{title} {} (lower bound {before} → {after})", change(row)));
        } else if let (Some(flops), Some(bytes)) =
            (of("flops.useful", Some(phase)), of("bytes.total", Some(phase)))
        {
            changes.push(format!("{title} {} FLOP and {} bytes moved", change(flops), change(bytes)));
        }
    }
    for (number, words) in [
        ("params.total", "parameters"),
        ("kv.bytes_per_token", "KV cache per token"),
        ("memory.total_bytes", "memory"),
    ] {
        changes.extend(of(number, None).map(|row| format!("{words} {}", change(row))));
    }
    let mut sentences = vec![format!("{name} against {base}: {}.", changes.join(", "))];
    sentences.extend(document.needs.iter().map(target_sentence));
    sentences.extend(room_sentence(document));
    sentences.join(" ")
}

fn phase_sentence(name: &str, document: &EstimateDocument, phase: &PhaseFacts, first: bool) -> String {
    let what = what(document, phase);
    let devices = document.setup.parallel.devices();
    let of = if first { format!(" of {name}") } else { String::new() };
    let Some(time) = &phase.time else {
        let flops = format::amount(phase.totals.flops.useful as f64, "FLOP");
        let moved = format::amount(phase.totals.bytes.total as f64, "B");
        let each = if devices > 1 { " on the busiest device" } else { "" };
        return format!("{what}{of} takes {flops} and moves {moved}{each}.");
    };
    let on = match (&document.hardware, devices) {
        (Some(device), 1) if first => format!(" on {}", device.name),
        (Some(device), devices) if first => format!(" on {devices} × {}", device.name),
        _ => String::new(),
    };
    let (least, estimate) = (format::time(time.seconds * 1e9), format::time(time.estimate_s * 1e9));
    let routed = routing_words(&document.setup.routing, time);
    format!("{what}{of} takes at least {least}{routed}{on}, {}; estimate {estimate}.", limit_words(time))
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
    format!(" with {how} routing ({least} to {most} by routing)")
}

fn what(document: &EstimateDocument, phase: &PhaseFacts) -> String {
    let workload = &document.workload;
    let batch = workload.batch as i64;
    let at_batch = |with: &str| match batch {
        1 => String::new(),
        _ => format!("{with}batch {}", format::count(batch)),
    };
    match phase.phase {
        Phase::Vision => {
            let images = workload.images.as_ref().map_or(1, |images| images.count);
            let each = if batch == 1 {
                String::new()
            } else {
                format!(" in each of {} sequences", format::count(batch))
            };
            format!("The vision tower over {}{each}", format::plural(images as i64, "image"))
        }
        Phase::Encoder => {
            let read = match document.model.encoder.as_ref().is_some_and(|encoder| encoder.input == "audio") {
                true => "positions of audio",
                false => "tokens",
            };
            format!("The encoder over {} {read}{}", count(document.encoder_tokens), at_batch(" at "))
        }
        Phase::Prefill if document.encoder_tokens > 0 => {
            let each = phase.tokens / u128::from(workload.batch.max(1));
            let new = match u64::try_from(each).unwrap_or(u64::MAX) {
                1 => "the decoder's start token".to_owned(),
                new => format!("{} decoder tokens", count(new)),
            };
            let seen = count(document.encoder_tokens);
            format!("Prefill of {new} (cross-attention to {seen} positions){}", at_batch(" at "))
        }
        Phase::Prefill => {
            let text = workload.prefill.map_or(0, |prefill| prefill.tokens);
            let each = u64::try_from(phase.tokens / u128::from(workload.batch.max(1))).unwrap_or(u64::MAX);
            let tokens = match each.checked_sub(text) {
                Some(images) if images > 0 => {
                    format!("{} tokens ({} text, {} image)", count(each), count(text), count(images))
                }
                _ => format!("{} tokens", count(text)),
            };
            let after = match workload.prefill.map_or(0, |prefill| prefill.prefix) {
                0 => String::new(),
                prefix => format!(" after {} in the KV cache", count(prefix)),
            };
            format!("Prefill of {tokens}{after}{}", at_batch(" at "))
        }
        Phase::Decode => {
            let decode = workload.decode;
            let context = count(decode.map_or(0, |decode| decode.context));
            let steps = match phase.steps {
                1 => "One decode step".to_owned(),
                steps => format!("{} decode steps", count(steps)),
            };
            let draft = match decode.map_or(0, |decode| decode.draft) {
                0 => String::new(),
                draft => format!(", {} draft tokens", count(draft)),
            };
            let batch = match batch {
                1 => String::new(),
                _ => format!("batch {}, ", format::count(batch)),
            };
            let seen = match document.encoder_tokens {
                0 => String::new(),
                seen => format!(", {} encoder positions", count(seen)),
            };
            format!("{steps} ({batch}context {context}{seen}{draft})")
        }
    }
}

fn limit_words(time: &PhaseTime) -> String {
    match time.limit {
        Limit::Compute => format!("bound by compute (MFU ≤ {})", format::share(time.mfu_ceiling)),
        Limit::Memory => {
            format!("bound by memory bandwidth (MFU ≤ {})", format::share(time.mfu_ceiling))
        }
        Limit::Vector => "bound by the vector units".to_owned(),
        Limit::Link => "bound by the links between devices".to_owned(),
    }
}

fn target_sentence(needs: &Needs) -> String {
    let name = target_name(needs.now.target.phase);
    let target = format::time(needs.now.target.seconds * 1e9);
    let time = |seconds: Option<f64>| seconds.map(|seconds| format::time(seconds * 1e9)).unwrap_or_default();
    let (bound, estimate) = (bound(needs), time(needs.now.estimate_s));
    match (needs.now.ruled_out, needs.now.met) {
        (None, _) | (_, None) => format!(
            "{name} {target} needs {} and {}.",
            format::amount(needs.flops_per_s, "FLOP/s"),
            format::amount(needs.bytes_per_s, "B/s")
        ),
        (Some(true), _) if needs.now.least_s.is_some_and(|seconds| seconds <= needs.now.target.seconds) => {
            format!("{name} {target} cannot be met: the model does not fit.")
        }
        (Some(true), _) => format!("{name} {target} is below the lower bound, {bound}."),
        (Some(false), Some(true)) => {
            format!("{name} {target} is met by the estimate: {estimate} (lower bound {bound}).")
        }
        (Some(false), Some(false)) => {
            format!("{name} {target} is not ruled out (lower bound {bound}), but the estimate is {estimate}.")
        }
    }
}

/// `2.66 ms`, or `1.01 ms to 2.66 ms by routing` where it matters that experts could be chosen more alike.
fn bound(needs: &Needs) -> String {
    let time = |seconds: f64| format::time(seconds * 1e9);
    match (needs.now.least_s, needs.now.now_s) {
        (Some(least), Some(now)) if least < now && now > needs.now.target.seconds => {
            format!("{} to {} by routing", time(least), time(now))
        }
        (_, now) => now.map(time).unwrap_or_default(),
    }
}

pub(super) fn target_name(phase: Phase) -> &'static str {
    if phase == Phase::Decode { "TPOT" } else { "TTFT" }
}

fn refused_sentence(document: &EstimateDocument) -> Option<String> {
    let first = document.refused.first()?;
    Some(format!("Engines refuse this layout: {}.", first.reason))
}

fn room_sentence(document: &EstimateDocument) -> Option<String> {
    let memory = &document.memory;
    if memory.fits != Some(false) {
        return None;
    }
    let total = format::amount(memory.total_bytes as f64, "B");
    let usable = format::amount(memory.usable_bytes.unwrap_or(0) as f64, "B");
    Some(format!("It does not fit: {total} on a device with {usable} usable."))
}

const MOST_BATCH: u64 = 1 << 18;
const MOST_TOKENS: u64 = 1 << 24;

pub(super) fn crossover_lines(crossovers: &Crossovers, document: &EstimateDocument) -> Vec<String> {
    let context = count(document.workload.decode.map_or(0, |decode| decode.context));
    let from =
        |batch: Option<u64>| batch.map_or("never".to_owned(), |batch| format!("from batch {}", count(batch)));
    let stays = crossovers.compute_bound_batch.is_none();
    let whole = match crossovers.compute_bound_batch {
        Some(batch) => format!("decode is compute-bound from batch {}", count(batch)),
        None => "decode stays memory-bound up to batch 131,072".to_owned(),
    };
    // The products with weights turn; attention, which each sequence does for itself, seldom does.
    let turns = ["mlp", "moe.routed", "attn.core"].into_iter().filter_map(|class| {
        let batch = crossovers.classes.get(class)?;
        // The first that turns is said to turn alone, where the whole does not.
        let alone = if stays && batch.is_some() { "alone is compute-bound " } else { "" };
        Some(format!("`{class}` {alone}{}", from(*batch)))
    });
    let turns: Vec<String> = turns.collect();
    let turns = if turns.is_empty() { String::new() } else { format!(" ({})", turns.join(", ")) };
    let kv = match crossovers.kv_bound_context {
        Some(0) => "reading the KV cache outweighs reading the weights at any context".to_owned(),
        Some(tokens) => {
            format!("reading the KV cache outweighs reading the weights from context {}", count(tokens))
        }
        None => "reading the weights outweighs reading the KV cache at any context".to_owned(),
    };
    vec![
        format!("at context {context}, {whole}{turns}"),
        format!("at batch {}, {kv}", count(document.workload.batch)),
    ]
}

pub(super) fn facts(needs: &Needs, document: &EstimateDocument) -> Vec<Fact> {
    let context = match needs.now.target.phase {
        Phase::Decode => "largest context",
        _ => "longest prefill",
    };
    let mut facts = vec![Fact::new(target_name(needs.now.target.phase), seconds(needs.now.target.seconds))];
    let asked = only(&document.workload, needs.now.target.phase);
    if asked.phases().iter().any(|phase| !document.workload.phases().contains(phase)) {
        // A phase that the workload does not have: with which tokens it was asked for.
        facts.extend(
            asked.prefill.map(|prefill| Fact::new("prefill tokens", Cell::Count(prefill.tokens as i64))),
        );
        facts.extend(asked.decode.map(|decode| Fact::new("at context", Cell::Count(decode.context as i64))));
    }
    if let (Some(now), Some(estimate)) = (needs.now.now_s, needs.now.estimate_s) {
        facts.push(Fact::new("verdict", Cell::word(verdict(needs.now.ruled_out, needs.now.met))));
        facts.push(Fact::new("lower bound ≥", seconds(now)));
        facts.push(Fact::new("estimate", seconds(estimate)));
    }
    facts.push(Fact::new("required of all devices", Cell::amount(needs.flops_per_s, "FLOP/s")));
    facts.push(Fact::new("and", Cell::amount(needs.bytes_per_s, "B/s")));
    if needs.now.now_s.is_some() {
        let devices = needs.devices.map_or("over 1,024".to_owned(), |devices| format::count(devices as i64));
        facts.push(Fact::new("smallest tp (estimate)", Cell::text(devices)));
        facts.push(Fact::new("largest batch", most(needs.largest_batch, MOST_BATCH)));
        let positions = document.model.positions.filter(|_| document.model.encoder.is_none());
        let tokens = match needs.largest_context {
            Some(tokens) if positions == Some(tokens) => {
                Cell::text(format!("{} (all of the model's positions)", format::count(tokens as i64)))
            }
            tokens => most(tokens, MOST_TOKENS),
        };
        facts.push(Fact::new(context, tokens));
    }
    facts
}

pub(super) fn verdict(ruled_out: Option<bool>, met: Option<bool>) -> &'static str {
    match (ruled_out, met) {
        (Some(true), _) => "below the bound, or does not fit",
        (_, Some(true)) => "met",
        _ => "not ruled out",
    }
}

/// The largest number that meets a target: an answer, also where there is none.
fn most(value: Option<u64>, searched: u64) -> Cell {
    match value {
        None => Cell::text("none"),
        Some(value) if value >= searched => Cell::text(format!("{} or more", format::count(value as i64))),
        Some(value) => Cell::Count(value as i64),
    }
}
