//! One design.

use rooflens_cost::document::{ClassTotals, Document, PhaseFacts};
use rooflens_cost::estimate::PhaseTime;
use rooflens_cost::roof::Limit;
use rooflens_cost::step::Phase;

use super::{NO_DEVICE, bytes, flops, needs, phase_title, seconds};
use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::format;
use crate::render::Part;

/// A design on one screen or page: `rows` of each table.
#[must_use]
pub fn design(document: &Document, rows: usize) -> Vec<Part> {
    let mut parts = vec![
        Part { name: "verdict", title: "Verdict", blocks: vec![Block::Lead(lead(document))] },
        Part { name: "model", title: "Model", blocks: vec![Block::Facts(model(document))] },
    ];
    for phase in &document.phases {
        let name = phase.phase.as_str();
        parts.push(Part { name, title: phase_title(phase.phase), blocks: phase_blocks(phase, rows) });
    }
    parts.push(Part { name: "memory", title: "Memory", blocks: vec![Block::Facts(memory(document))] });
    if let Some(crossovers) = &document.crossovers {
        let blocks = vec![Block::Text(needs::crossover_sentence(crossovers, document))];
        parts.push(Part { name: "crossovers", title: "Turning points", blocks });
    }
    if !document.needs.is_empty() {
        let blocks = document.needs.iter().map(|needs| Block::Facts(needs::facts(needs))).collect();
        parts.push(Part { name: "targets", title: "Targets", blocks });
    }
    parts.push(assumptions(&document.assumptions));
    parts
}

/// What the numbers rest on.
pub(super) fn assumptions(lines: &[String]) -> Part {
    let blocks = vec![Block::Lines(lines.to_vec())];
    Part { name: "assumptions", title: "Rests on", blocks }
}

fn lead(document: &Document) -> String {
    let params = format::parameters(document.params.total as f64);
    let active = match document.params.experts {
        0 => String::new(),
        _ => format!(" ({} active)", format::parameters(document.params.active as f64)),
    };
    let mut sentence = format!("{}: {params} parameters{active}.", document.model.architecture);
    for phase in &document.phases {
        sentence.push(' ');
        sentence.push_str(&phase_sentence(document, phase));
    }
    if document.memory.fits == Some(false) {
        let total = format::amount(document.memory.total_bytes as f64, "B");
        let usable = format::amount(document.memory.usable_bytes.unwrap_or(0) as f64, "B");
        sentence.push_str(&format!(" It does not fit: {total} a device, {usable} usable."));
    }
    sentence
}

fn phase_sentence(document: &Document, phase: &PhaseFacts) -> String {
    let workload = &document.workload;
    let sequences = format::plural(workload.batch as i64, "sequence");
    let what = match phase.phase {
        Phase::Vision => format!("Looking at the images of {sequences}"),
        Phase::Prefill => {
            let tokens = workload.prefill.map_or(0, |prefill| prefill.tokens);
            format!("Reading {} tokens of {sequences}", format::count(tokens as i64))
        }
        Phase::Decode => {
            let context = workload.decode.map_or(0, |decode| decode.context);
            let tokens = if phase.steps == 1 {
                "a token".to_owned()
            } else {
                format!("{} tokens", format::count(phase.steps as i64))
            };
            format!("Making {tokens} after {} in {sequences}", format::count(context as i64))
        }
    };
    let Some(time) = &phase.time else {
        let flops = format::amount(phase.totals.flops.useful as f64, "FLOP");
        let moved = format::amount(phase.totals.bytes.total as f64, "B");
        return format!("{what} takes {flops} and moves {moved}.");
    };
    let device = document.hardware.as_ref().map_or("", |device| device.name.as_str());
    let devices = match document.setup.parallel.devices() {
        1 => device.to_owned(),
        devices => format!("{devices} × {device}"),
    };
    let least = format::time(time.seconds * 1e9);
    format!("{what} takes at least {least} on {devices}, {}.", limit_words(time))
}

fn limit_words(time: &PhaseTime) -> String {
    let share = format::share;
    match time.limit {
        Limit::Compute => format!("bound by compute (MFU at most {})", share(time.mfu_ceiling)),
        Limit::Memory => format!("bound by memory bandwidth (MFU at most {})", share(time.mfu_ceiling)),
        Limit::Vector => "bound by the vector units".to_owned(),
        Limit::Link => "bound by the links between devices".to_owned(),
    }
}

fn model(document: &Document) -> Vec<Fact> {
    let facts = &document.model;
    let mut found = vec![
        Fact::new("family", Cell::word(facts.family)),
        Fact::new("layers", Cell::Count(facts.layers.into())),
        Fact::new("hidden", Cell::Count(facts.hidden_size as i64)),
        Fact::new("parameters", Cell::Params(document.params.total as f64)),
    ];
    if document.params.experts > 0 {
        found.push(Fact::new("active", Cell::Params(document.params.active as f64)));
    }
    if document.params.draft > 0 {
        found.push(Fact::new("draft layers", Cell::Params(document.params.draft as f64)));
    }
    if let Some(vision) = facts.vision {
        found.push(Fact::new(vision, Cell::Params(document.params.vision as f64)));
    }
    let weights = facts.quantisation.clone().unwrap_or_else(|| facts.dtype.to_owned());
    found.push(Fact::new("weights", Cell::text(weights)));
    let cache = &document.kv.cache;
    found.push(Fact::new("cache a token", Cell::Amount(cache.bytes_per_token as f64, "B")));
    for window in &cache.windows {
        let words = format!(
            "{} of the last {}",
            format::plural(window.layers as i64, "layer"),
            format::count(window.tokens as i64)
        );
        found.push(Fact::new(words, Cell::Amount(window.bytes_per_token as f64, "B a token")));
    }
    if cache.bytes_per_sequence > 0 {
        found.push(Fact::new("states a sequence", bytes(cache.bytes_per_sequence)));
    }
    found
}

fn phase_blocks(phase: &PhaseFacts, rows: usize) -> Vec<Block> {
    let mut facts = vec![];
    if let Some(time) = &phase.time {
        facts.push(Fact::new("at least", seconds(time.seconds)));
        if time.band.max > time.band.min {
            let band =
                format!("{} to {}", format::time(time.band.min * 1e9), format::time(time.band.max * 1e9));
            facts.push(Fact::new("by routing", Cell::text(band)));
        }
        facts.push(Fact::new("tokens/s", Cell::Mean(time.tokens_per_s)));
        facts.push(Fact::new("MFU at most", Cell::Share(time.mfu_ceiling)));
        facts.push(Fact::new("MBU at most", Cell::Share(time.mbu_ceiling)));
        if let Some(joules) = time.joules_per_token {
            facts.push(Fact::new("at TDP", Cell::Amount(joules, "J/token")));
        }
    }
    let totals = &phase.totals;
    facts.push(Fact::new("useful", flops(totals.flops.useful)));
    facts.push(Fact::new("as counted", flops(totals.flops.as_counted)));
    facts.push(Fact::new("moved", bytes(totals.bytes.total)));
    facts.push(Fact::new("FLOP/B", Cell::or(totals.intensity, Cell::Mean, "nothing moves")));
    let mut classes: Vec<Class> = totals.classes.iter().map(|(name, class)| (*name, class.clone())).collect();
    let weight = |class: &ClassTotals| class.seconds.unwrap_or(class.flops.useful as f64);
    classes.sort_by(|a, b| weight(&b.1).total_cmp(&weight(&a.1)).then_with(|| a.0.cmp(b.0)));
    let table = Table::new("classes", CLASSES, &classes, rows);
    let table = table.rest("--format json", &classes, |(_, class)| class.share.unwrap_or(0.0));
    vec![Block::Facts(facts), Block::Table(table)]
}

type Class = (&'static str, ClassTotals);

const CLASSES: &[Field<Class>] = &[
    (Column::text("class", "class"), |class| Cell::code(class.0)),
    (Column::number("seconds", "least time"), |class| Cell::or(class.1.seconds, seconds, NO_DEVICE)),
    (Column::bar("share", "share"), |class| Cell::or(class.1.share, Cell::Share, NO_DEVICE)),
    (Column::text("limit", "bound by"), |class| {
        Cell::or(class.1.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
    }),
    (Column::number("flops_useful", "useful"), |class| flops(class.1.flops.useful)),
    (Column::number("flops_as_counted", "as counted").at(Level::Page), |class| {
        flops(class.1.flops.as_counted)
    }),
    (Column::number("flops_issued", "issued").at(Level::Page), |class| flops(class.1.flops.issued)),
    (Column::number("bytes", "moved"), |class| bytes(class.1.bytes.total)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |class| {
        Cell::or(class.1.intensity, Cell::Mean, "nothing moves")
    }),
];

fn memory(document: &Document) -> Vec<Fact> {
    let memory = &document.memory;
    let mut facts = vec![
        Fact::new("weights", bytes(memory.weights_bytes)),
        Fact::new("cache", bytes(memory.kv_bytes)),
        Fact::new("activations", bytes(memory.activations_bytes)),
        Fact::new("in all", bytes(memory.total_bytes)),
    ];
    if let (Some(usable), Some(fits)) = (memory.usable_bytes, memory.fits) {
        facts.push(Fact::new("usable", bytes(usable)));
        facts.push(Fact::plain(if fits { "fits" } else { "does not fit" }));
    }
    if let Some(batch) = memory.largest_batch {
        facts.push(Fact::new(
            "largest batch that fits",
            Cell::Count(i64::try_from(batch).unwrap_or(i64::MAX)),
        ));
    }
    facts
}
