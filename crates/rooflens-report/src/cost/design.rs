//! One design, and every operator of it.

use std::borrow::Cow;

use rooflens_cost::document::{ClassTotals, EstimateDocument, OperatorFacts, PhaseFacts, StageCost};
use rooflens_cost::step::Phase;

use super::{NO_DEVICE, bytes, count, flops, lead, phase_title, seconds};
use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::format;
use crate::render::Part;

/// A design on one screen or page: `rows` of each table.
pub fn design(name: &str, document: &EstimateDocument, rows: usize) -> Vec<Part> {
    let mut parts = vec![
        Part { name: "verdict", title: "Verdict", blocks: vec![Block::Lead(lead::design(name, document))] },
        Part { name: "model", title: "Model", blocks: vec![Block::Facts(model(name, document))] },
    ];
    for phase in &document.phases {
        let name = phase.phase.as_str();
        parts.push(Part {
            name,
            title: phase_title(phase.phase),
            blocks: phase_blocks(document, phase, rows),
        });
    }
    if !document.refused.is_empty() {
        let lines = document.refused.iter().map(|refusal| format!("refused by engines: {}", refusal.reason));
        parts.push(Part { name: "layout", title: "Layout", blocks: vec![Block::Lines(lines.collect())] });
    }
    parts.push(Part { name: "memory", title: "Memory", blocks: vec![Block::Facts(memory(document))] });
    if !document.needs.is_empty() {
        let blocks = document.needs.iter().map(|needs| Block::Facts(lead::facts(needs, document))).collect();
        parts.push(Part { name: "targets", title: "Targets", blocks });
    }
    if let Some(crossovers) = &document.crossovers {
        let blocks = vec![Block::Lines(lead::crossover_lines(crossovers, document))];
        parts.push(Part { name: "crossovers", title: "Crossovers", blocks });
    }
    parts.push(assumptions(&document.assumptions));
    parts
}

pub(super) fn assumptions(lines: &[String]) -> Part {
    let blocks = vec![Block::Lines(lines.to_vec())];
    Part { name: "assumptions", title: "Assumptions", blocks }
}

fn model(name: &str, document: &EstimateDocument) -> Vec<Fact> {
    let facts = &document.model;
    let mut found = vec![
        Fact::new("config", Cell::text(name)),
        Fact::new("architecture", Cell::text(&facts.architecture)),
    ];
    match &facts.encoder {
        None => found.push(Fact::new("layers", Cell::Count(facts.layers.into()))),
        Some(encoder) => {
            found.push(Fact::new("encoder layers", Cell::Count(encoder.layers.into())));
            found.push(Fact::new("decoder layers", Cell::Count(facts.layers.into())));
        }
    }
    found.push(Fact::new("hidden", Cell::Count(facts.hidden_size as i64)));
    found.push(Fact::new("parameters", Cell::Params(document.params.total as f64)));
    if facts.encoder.is_some() {
        found.push(Fact::new("encoder parameters", Cell::Params(document.params.encoder as f64)));
    }
    if document.params.experts > 0 {
        found.push(Fact::new("active", Cell::Params(document.params.active as f64)));
    }
    if document.params.draft > 0 {
        found.push(Fact::new("draft layers", Cell::Params(document.params.draft as f64)));
    }
    if let Some(vision) = &facts.vision {
        found.push(Fact::new("vision tower", Cell::text(&**vision)));
        found.push(Fact::new("vision parameters", Cell::Params(document.params.vision as f64)));
    }
    let weights = facts.quantisation.clone().unwrap_or_else(|| facts.dtype.to_string());
    found.push(Fact::new("weights", Cell::text(weights)));
    let cache = &document.kv.cache;
    found.push(Fact::new("KV cache per token", Cell::amount(cache.bytes_per_token as f64, "B")));
    if facts.encoder.is_some() {
        found.push(Fact::new("KV cache per encoder position", bytes(cache.bytes_per_media_token)));
    }
    for window in &cache.windows {
        let words = format!(
            "sliding window of {} in {}",
            format::count(window.tokens as i64),
            format::plural(window.layers as i64, "layer"),
        );
        found.push(Fact::new(words, bytes(window.bytes_per_token)));
    }
    if cache.bytes_per_sequence > 0 {
        found.push(Fact::new("states per sequence", bytes(cache.bytes_per_sequence)));
        found.push(Fact::new("state format", Cell::text(&*document.kv.state_dtype)));
    }
    found
}

fn hears(document: &EstimateDocument, phase: &PhaseFacts) -> bool {
    phase.phase == Phase::Encoder
        && document.model.encoder.as_ref().is_some_and(|encoder| encoder.input == "audio")
}

fn phase_blocks(document: &EstimateDocument, phase: &PhaseFacts, rows: usize) -> Vec<Block> {
    let mut facts = vec![];
    if let Some(time) = &phase.time {
        facts.push(Fact::new("lower bound ≥", seconds(time.seconds)));
        facts.push(Fact::new("estimate", seconds(time.estimate_s)));
        if time.band.max > time.band.min {
            let band =
                format!("{} to {}", format::time(time.band.min * 1e9), format::time(time.band.max * 1e9));
            facts.push(Fact::new("lower bound by routing", Cell::text(band)));
        }
        let drafts = phase.phase == Phase::Decode && document.workload.decode.is_some_and(|it| it.draft > 0);
        let accepted = if drafts { " with every draft accepted" } else { "" };
        let what = if hears(document, phase) { "positions" } else { "tokens" };
        facts.push(Fact::new(format!("{what}/s{accepted} ≤"), Cell::Mean(time.tokens_per_s)));
        facts.push(Fact::new(format!("estimated {what}/s"), Cell::Mean(time.estimate_tokens_per_s)));
        facts.push(Fact::new("MFU ≤", Cell::Share(time.mfu_ceiling)));
        facts.push(Fact::new("MBU ≤", Cell::Share(time.mbu_ceiling)));
        if let Some(joules) = time.joules_per_token {
            let energy = match (joules < 0.1, hears(document, phase)) {
                (true, false) => (joules * 1e3, "mJ/token"),
                (false, false) => (joules, "J/token"),
                (true, true) => (joules * 1e3, "mJ/position"),
                (false, true) => (joules, "J/position"),
            };
            facts.push(Fact::new("energy at TDP (estimate)", Cell::amount(energy.0, energy.1)));
        }
    }
    let totals = &phase.totals;
    if document.setup.parallel.devices() > 1 {
        facts.push(Fact::plain("on the busiest device"));
    }
    facts.push(Fact::new("model FLOPs", flops(totals.flops.useful)));
    if totals.flops.as_counted != totals.flops.useful {
        facts.push(Fact::new("as PyTorch counts", flops(totals.flops.as_counted)));
    }
    facts.push(Fact::new("bytes moved", bytes(totals.bytes.total)));
    facts.push(Fact::new("FLOP/B", Cell::or(totals.intensity, Cell::Mean, "nothing moves")));
    let mut classes: Vec<Class> =
        totals.classes.iter().map(|(name, class)| (name.clone(), class.clone())).collect();
    let weight = |class: &ClassTotals| class.seconds.unwrap_or(class.flops.useful as f64);
    classes.sort_by(|a, b| weight(&b.1).total_cmp(&weight(&a.1)).then_with(|| a.0.cmp(&b.0)));
    let table = Table::new("classes", CLASSES, &classes, rows);
    let table = table.rest("--format json", &classes, |(_, class)| class.share.unwrap_or(0.0));
    let stages = (!phase.stages.is_empty())
        .then(|| Block::Table(Table::new("stages", STAGES, &phase.stages, usize::MAX)));
    [Block::Facts(facts)].into_iter().chain(stages).chain([Block::Table(table)]).collect()
}

const STAGES: &[Field<StageCost>] = &[
    (Column::text("stage", "stage"), |stage| Cell::code(&*stage.stage)),
    (Column::number("seconds", "lower bound ≥"), |stage| Cell::or(stage.seconds, seconds, NO_DEVICE)),
    (Column::number("flops_useful", "model FLOPs"), |stage| flops(stage.flops.useful)),
    (Column::number("bytes", "bytes moved"), |stage| bytes(stage.bytes)),
];

type Class = (Cow<'static, str>, ClassTotals);

const HIDDEN: &str = "hidden: communication and the rest overlap, and the longer of the two is the bound";

const CLASSES: &[Field<Class>] = &[
    (Column::text("class", "class"), |class| Cell::code(&*class.0)),
    (Column::number("seconds", "lower bound ≥"), |class| Cell::or(class.1.seconds, seconds, NO_DEVICE)),
    (Column::number("estimate_s", "estimate"), |class| Cell::or(class.1.estimate_s, seconds, NO_DEVICE)),
    (Column::bar("share", "share"), |class| {
        let why = if class.1.hidden { HIDDEN } else { NO_DEVICE };
        Cell::or(class.1.share, Cell::Share, why)
    }),
    (Column::text("limit", "bound by"), |class| {
        Cell::or(class.1.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
    }),
    (Column::number("flops_useful", "model FLOPs").at(Level::Screen), |class| flops(class.1.flops.useful)),
    (Column::number("flops_as_counted", "as PyTorch counts").at(Level::Page), |class| {
        flops(class.1.flops.as_counted)
    }),
    (Column::number("flops_issued", "issued").at(Level::Page), |class| flops(class.1.flops.issued)),
    (Column::number("bytes", "bytes moved").at(Level::Screen), |class| bytes(class.1.bytes.total)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |class| {
        Cell::or(class.1.intensity, Cell::Mean, "nothing moves")
    }),
];

fn memory(document: &EstimateDocument) -> Vec<Fact> {
    let memory = &document.memory;
    let mut facts = vec![
        Fact::new("weights", bytes(memory.weights_bytes)),
        Fact::new("KV cache", bytes(memory.kv_bytes)),
        Fact::new("activations", bytes(memory.activations_bytes)),
        Fact::new("total", bytes(memory.total_bytes)),
    ];
    if let (Some(usable), Some(fits)) = (memory.usable_bytes, memory.fits) {
        facts.push(Fact::new("usable", bytes(usable)));
        facts.push(Fact::new("fits", Cell::word(if fits { "yes" } else { "no" })));
    }
    if let Some(batch) = memory.largest_batch {
        let words =
            format!("{} (prefill in steps of {} tokens)", count(batch), count(memory.prefill_step_tokens),);
        facts.push(Fact::new("largest batch that fits", Cell::text(words)));
    }
    facts
}

type Row = (Phase, OperatorFacts);

/// Every operator of every kind of layer, in the order of execution: a table a phase, or one for all.
pub fn operators(document: &EstimateDocument, apart: bool) -> Vec<Part> {
    let rows = |phase: &PhaseFacts| -> Vec<Row> {
        phase.operators.iter().map(|operator| (phase.phase, operator.clone())).collect()
    };
    if apart {
        let part = |phase: &PhaseFacts| {
            let rows: Vec<Row> = rows(phase);
            let table = Table::new("operators", OPERATOR_FIELDS, &rows, usize::MAX);
            let words = "One layer of each kind; shares are those of all layers together.".to_owned();
            let (name, title) = titles(phase.phase);
            Part { name, title, blocks: vec![Block::Table(table), Block::Text(words)] }
        };
        return document.phases.iter().map(part).collect();
    }
    let all: Vec<Row> = document.phases.iter().flat_map(rows).collect();
    let table = Table::new("operators", OPERATOR_FIELDS, &all, usize::MAX);
    vec![Part { name: "operators", title: "Operators", blocks: vec![Block::Table(table)] }]
}

fn titles(phase: Phase) -> (&'static str, &'static str) {
    match phase {
        Phase::Vision => ("vision-operators", "Vision operators"),
        Phase::Encoder => ("encoder-operators", "Encoder operators"),
        Phase::Prefill => ("prefill-operators", "Prefill operators"),
        Phase::Decode => ("decode-operators", "Decode operators"),
    }
}

const OPERATOR_FIELDS: &[Field<Row>] = &[
    (Column::text("name", "operator"), |row| Cell::code(&*row.1.name)),
    (Column::text("phase", "phase").at(Level::Raw), |row| Cell::word(row.0.as_str())),
    (Column::text("class", "class").at(Level::Page), |row| Cell::code(&*row.1.class)),
    (Column::text("layers", "layers"), |row| Cell::text(&row.1.layers)),
    (Column::number("count", "×"), |row| Cell::Count(row.1.count as i64)),
    (Column::text("dtype", "type").at(Level::Page), |row| Cell::word(&*row.1.dtype)),
    (Column::text("storage", "stored").at(Level::Page), |row| Cell::text(&row.1.storage)),
    (Column::number("seconds", "lower bound ≥"), |row| {
        Cell::or(row.1.seconds, |time| seconds(time.bound), NO_DEVICE)
    }),
    (Column::bar("share", "share"), |row| Cell::or(row.1.share, Cell::Share, NO_DEVICE)),
    (Column::text("limit", "bound by"), |row| {
        Cell::or(row.1.limit, |limit| Cell::word(limit.as_str()), NO_DEVICE)
    }),
    (Column::number("flops_useful", "model FLOPs").at(Level::Screen), |row| flops(row.1.flops.useful)),
    (Column::number("flops_as_counted", "as PyTorch counts").at(Level::Page), |row| {
        flops(row.1.flops.as_counted)
    }),
    (Column::number("flops_issued", "issued").at(Level::Page), |row| flops(row.1.flops.issued)),
    (Column::number("vector_flops", "vector").at(Level::Page), |row| flops(row.1.vector_flops)),
    (Column::number("weight_bytes", "weights").at(Level::Page), |row| bytes(row.1.bytes.weights)),
    (Column::number("kv_read_bytes", "KV read").at(Level::Page), |row| bytes(row.1.bytes.kv_read)),
    (Column::number("kv_write_bytes", "KV written").at(Level::Page), |row| bytes(row.1.bytes.kv_write)),
    (Column::number("activation_bytes", "activations").at(Level::Page), |row| bytes(row.1.bytes.activations)),
    (Column::number("bytes", "bytes moved").at(Level::Screen), |row| bytes(row.1.bytes.total)),
    (Column::number("link_bytes", "sent").at(Level::Page), |row| bytes(row.1.link_bytes)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |row| {
        Cell::or(row.1.intensity, Cell::Mean, "nothing moves")
    }),
    (Column::text("formula", "formula").at(Level::Page), |row| Cell::text(&*row.1.formula)),
];
