//! Each part of the model: what it must cost, beside the time that was measured in it.

use rooflens_analyze::Findings;
use rooflens_cost::measured::{
    FlopsCheck, Matches, OperatorMatch, PartRow, PhaseCheck, RunPhase, StaticVsMeasured, TimelineSide,
    Unmatched, Variant,
};

use crate::block::{Block, Cell, Column, Field};
use crate::format;
use crate::run::RunFacts;
use crate::section::{Detail, words};

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(run) = findings.get::<RunFacts>() else { return vec![] };
    if detail.is_screen() {
        return vec![];
    }
    let mut blocks = vec![];
    let missing = |name: &str, what: &str| {
        run.reasons.get(name).map(|why| Block::Text(format!("{what} is not computed: {why}.")))
    };
    match &run.static_vs_measured {
        Some(parts) => blocks.extend(by_part(parts)),
        None => blocks.extend(missing("static_vs_measured", "The time of each part of the model")),
    }
    match &run.matches {
        Some(matches) => blocks.extend(by_operator(matches)),
        None => blocks.extend(missing("matches", "The time of each operator of the model")),
    }
    match &run.flops_check {
        Some(check) => blocks.extend(by_torch(check)),
        None => blocks.extend(missing("flops_check", "The comparison with torch's own count")),
    }
    blocks
}

fn by_part(parts: &StaticVsMeasured) -> Vec<Block> {
    let mut blocks = vec![];
    for (phase, of) in &parts.phases {
        let side = match of.timeline {
            TimelineSide::Device => "device time",
            TimelineSide::Host => "operators' host time",
            TimelineSide::HostSelf => "operators' self host time",
        };
        let total = format::time(of.measured_ns as f64);
        let steps = format::count(i64::try_from(of.steps).unwrap_or(i64::MAX));
        blocks.push(Block::Heading(format!("{}: {total} of {side} in {steps} steps", title(*phase))));
        let name = match phase {
            RunPhase::Prefill => "prefill_parts",
            RunPhase::Decode => "decode_parts",
            RunPhase::Mixed => "mixed_parts",
        };
        blocks.push(Block::table(name, PARTS, &of.parts, usize::MAX));
    }
    let mut lines: Vec<String> =
        parts.not_computed.iter().map(|(name, why)| format!("{name}: {why}.")).collect();
    lines.extend(parts.assumptions.iter().map(|line| format!("{line}.")));
    blocks.push(Block::Lines(lines));
    blocks
}

fn by_operator(matches: &Matches) -> Vec<Block> {
    let mut blocks = vec![];
    for (phase, of) in &matches.phases {
        let matched = match of.equal {
            true => "all are matched exactly".to_owned(),
            false => format!(
                "{} of {} FLOPs are matched",
                format::amount(of.matched_flops as f64, "FLOP"),
                format::amount(of.static_flops as f64, "FLOP")
            ),
        };
        blocks.push(Block::Heading(format!("{}: matmuls of the model, {matched}", title(*phase))));
        let (name, unmatched) = match phase {
            RunPhase::Prefill => ("prefill_operators", "prefill_unmatched"),
            RunPhase::Decode => ("decode_operators", "decode_unmatched"),
            RunPhase::Mixed => ("mixed_operators", "mixed_unmatched"),
        };
        blocks.push(Block::table(name, OPERATORS, &of.operators, usize::MAX));
        if !of.unmatched.is_empty() {
            blocks.push(Block::Heading("Matmuls that the static model does not have".to_owned()));
            blocks.push(Block::table(unmatched, UNMATCHED, &of.unmatched, MOST_UNMATCHED));
        }
        let variant = |variant: &Variant| {
            let cost =
                variant.extra_ns.map_or(String::new(), |ns| format!(", {} at the peaks", format::time(ns)));
            let layers = format::plural(i64::try_from(variant.layers).unwrap_or(i64::MAX), "layer");
            format!("{}: {} in {layers}{cost}.", words(&variant.variant), variant.about)
        };
        if !of.variants.is_empty() {
            blocks.push(Block::Lines(of.variants.iter().map(variant).collect()));
        }
    }
    let reasons = matches.not_computed.iter().map(|(name, why)| format!("{name}: {why}."));
    blocks.push(Block::Lines(std::iter::once(format!("Matched {}.", matches.rule)).chain(reasons).collect()));
    blocks
}

fn by_torch(check: &FlopsCheck) -> Vec<Block> {
    let rows: Vec<Checked> = check.phases.iter().map(|(phase, of)| (*phase, of.clone())).collect();
    let mut blocks = vec![
        Block::Heading("FLOPs by the static model and by torch".to_owned()),
        Block::table("flops_check", CHECKS, &rows, usize::MAX),
    ];
    let mut lines = vec![format!("{}.", check.rule)];
    let rows_of = if check.logits == "all" { "all rows" } else { "the last row of each sequence" };
    lines.push(format!("lm_head is run for {rows_of}."));
    for (phase, of) in &check.phases {
        for left in &of.left_out {
            let flops = format::amount(left.flops as f64, "FLOP");
            lines.push(format!("{}: `{}`, {flops}, is {}.", phase.as_str(), left.class, left.reason));
        }
        lines.extend(of.not_computed.get("difference").map(|why| format!("{}: {why}.", phase.as_str())));
    }
    lines.extend(check.not_computed.iter().map(|(name, why)| format!("{name}: {why}.")));
    blocks.push(Block::Lines(lines));
    blocks
}

fn title(phase: RunPhase) -> &'static str {
    match phase {
        RunPhase::Prefill => "Prefill",
        RunPhase::Decode => "Decode",
        RunPhase::Mixed => "Mixed",
    }
}

const NO_COST: &str = "the static model has no such part";
const NO_PEAKS: &str = "no peaks of the device are known";
const NO_TIME: &str = "nothing was attributed to it";

const PARTS: &[Field<PartRow>] = &[
    (Column::text("part", "part"), |row| Cell::text(row.part.replace('.', " "))),
    (Column::number("flops", "model FLOPs").help("Model FLOPs."), |row| {
        Cell::or(row.flops, |flops| Cell::amount(flops as f64, "FLOP"), NO_COST)
    }),
    (Column::number("bytes", "bytes").help("Bytes that must be moved."), |row| {
        Cell::or(row.bytes, |bytes| Cell::amount(bytes as f64, "B"), NO_COST)
    }),
    (Column::number("floor_ns", "lower bound").help("Lower bound on the device, at its peaks."), |row| {
        Cell::or(row.floor_ns, Cell::MeanTime, NO_PEAKS)
    }),
    (Column::number("measured_ns", "measured"), |row| Cell::or(row.measured_ns, Cell::Time, NO_TIME)),
    (Column::number("floor_share", "lower bound / measured"), |row| {
        Cell::or(row.floor_share, Cell::Share, NO_PEAKS)
    }),
    (Column::bar("share", "share").help("Share of the phase's measured time."), |row| {
        Cell::or(row.share, Cell::Share, NO_TIME)
    }),
];

/// Products without an operator that are shown.
const MOST_UNMATCHED: usize = 20;

const NOT_ALONE: &str = "it was matched only together with others, or not at all";

const OPERATORS: &[Field<OperatorMatch>] = &[
    (Column::text("name", "operator"), |row| Cell::code(row.name.clone())),
    (Column::text("class", "class"), |row| Cell::text(&row.class)),
    (Column::number("layers", "layers"), |row| Cell::count(row.layers)),
    (Column::number("layers_matched", "matched"), |row| Cell::count(row.layers_matched)),
    (Column::text("modules", "modules"), |row| {
        Cell::text(row.modules.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
    }),
    (Column::number("flops", "FLOPs"), |row| Cell::amount(row.flops as f64, "FLOP")),
    (Column::number("floor_ns", "lower bound"), |row| Cell::or(row.floor_ns, Cell::MeanTime, NO_PEAKS)),
    (Column::number("measured_ns", "measured"), |row| Cell::or(row.measured_ns, Cell::Time, NOT_ALONE)),
    (Column::number("floor_share", "lower bound / measured"), |row| {
        let why = if row.floor_ns.is_none() { NO_PEAKS } else { NOT_ALONE };
        Cell::or(row.floor_share, Cell::Share, why)
    }),
];

const UNMATCHED: &[Field<Unmatched>] = &[
    (Column::number("layer", "layer"), |row| Cell::or(row.layer, Cell::count, "outside of layers")),
    (Column::text("module", "module"), |row| Cell::text(&row.module)),
    (Column::text("operator", "operator"), |row| Cell::code(row.operator.clone())),
    (Column::number("calls", "calls"), |row| Cell::count(row.calls)),
    (Column::number("flops", "FLOPs"), |row| {
        Cell::or(row.flops, |flops| Cell::amount(flops as f64, "FLOP"), "not in the shapes")
    }),
    (Column::number("ns", "measured"), |row| Cell::Time(row.ns)),
];

type Checked = (RunPhase, PhaseCheck);

const CHECKS: &[Field<Checked>] = &[
    (Column::text("phase", "phase"), |row| Cell::word(row.0.as_str())),
    (Column::number("static_flops", "static model"), |row| exact(row.1.static_flops)),
    (Column::number("torch_flops", "torch"), |row| exact(row.1.torch_flops)),
    (Column::number("difference", "difference"), |row| {
        let difference = row.1.difference.and_then(|difference| i64::try_from(difference).ok());
        Cell::or(difference, Cell::Count, "torch omitted operators without a name")
    }),
];

/// To the operation: the point is that nothing is missing.
fn exact(flops: u128) -> Cell {
    i64::try_from(flops).map_or(Cell::amount(flops as f64, "FLOP"), Cell::Count)
}
