//! Every operator.

use rooflens_cost::document::{EstimateDocument, OperatorFacts, PhaseFacts};
use rooflens_cost::step::Phase;

use super::{NO_DEVICE, bytes, flops, seconds};
use crate::block::{Block, Cell, Column, Field, Level, Table};
use crate::render::Part;

type Row = (Phase, OperatorFacts);

/// Every operator of every kind of layer, in the order of execution: a table a phase, or one for all.
#[must_use]
pub fn operators(document: &EstimateDocument, apart: bool) -> Vec<Part> {
    let rows = |phase: &PhaseFacts| -> Vec<Row> {
        phase.operators.iter().map(|operator| (phase.phase, operator.clone())).collect()
    };
    if apart {
        let part = |phase: &PhaseFacts| {
            let rows: Vec<Row> = rows(phase);
            let table = Table::new("operators", FIELDS, &rows, usize::MAX);
            let words = "One layer of each kind; shares are those of all layers together.".to_owned();
            let (name, title) = titles(phase.phase);
            Part { name, title, blocks: vec![Block::Table(table), Block::Text(words)] }
        };
        return document.phases.iter().map(part).collect();
    }
    let all: Vec<Row> = document.phases.iter().flat_map(rows).collect();
    let table = Table::new("operators", FIELDS, &all, usize::MAX);
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

const FIELDS: &[Field<Row>] = &[
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
    (Column::number("weight_bytes", "weights").at(Level::Page), |row| bytes(row.1.bytes.parts.weights)),
    (Column::number("kv_read_bytes", "KV read").at(Level::Page), |row| bytes(row.1.bytes.parts.kv_read)),
    (Column::number("kv_write_bytes", "KV written").at(Level::Page), |row| bytes(row.1.bytes.parts.kv_write)),
    (Column::number("activation_bytes", "activations").at(Level::Page), |row| {
        bytes(row.1.bytes.parts.activations)
    }),
    (Column::number("bytes", "bytes moved").at(Level::Screen), |row| bytes(row.1.bytes.total)),
    (Column::number("link_bytes", "sent").at(Level::Page), |row| bytes(row.1.link_bytes)),
    (Column::number("intensity", "FLOP/B").at(Level::Screen), |row| {
        Cell::or(row.1.intensity, Cell::Mean, "nothing moves")
    }),
    (Column::text("formula", "formula").at(Level::Page), |row| Cell::text(&*row.1.formula)),
];
