//! Layers of a compiled engine.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{EngineLayer, EngineLayers, LayerGroup};

use crate::block::Level::{Page, Screen};
use crate::block::{Block, Cell, Column, Fact, Field, Table};
use crate::section::Detail;

const NOT_TIMED: &str = "it was not timed";
const NOT_TOLD: &str = "the layer information does not have it";

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(found) = findings.get::<EngineLayers>() else { return vec![] };
    let facts = vec![
        Fact::new("layers", Cell::count(found.layers.len())),
        Fact::new("runs", Cell::or(found.runs, Cell::Count, "there are none, or engines differ")),
        Fact::new("per run", Cell::or(found.run_ns, Cell::MeanTime, NOT_TIMED))
            .help("Sum of all layers; profiling serialises them, so a run takes longer than without it."),
    ];
    let mut blocks = vec![Block::Facts(facts)];
    let mut reasons: Vec<&str> = found.not_computed.values().map(|reason| &**reason).collect();
    reasons.dedup();
    blocks.extend(reasons.into_iter().map(|reason| Block::Text(format!("Not computed: {reason}."))));
    let table = Table::new("engine_layers", LAYERS, &found.layers, detail.rows());
    blocks.push(Block::Table(
        table.rest("the JSON findings", &found.layers, |layer| layer.share.unwrap_or(0.0)),
    ));
    for (heading, name, groups) in [
        ("By kind", "engine_layer_types", &found.by_type),
        ("By type of the output", "engine_layer_dtypes", &found.by_dtype),
    ] {
        if groups.iter().any(|group| group.name.is_some()) {
            blocks.push(Block::Heading(heading.to_owned()));
            blocks.push(Block::table(name, GROUPS, groups, detail.rows()));
        }
    }
    blocks
}

const LAYERS: &[Field<EngineLayer>] = &[
    (Column::text("name", "layer"), |row| Cell::code(&row.name)),
    (Column::text("type", "kind").at(Screen), |row| Cell::or(row.kind.as_ref(), Cell::word, NOT_TOLD)),
    (Column::text("dtype", "type"), |row| Cell::or(row.dtype.as_ref(), Cell::word, NOT_TOLD)),
    (Column::text("tactic", "tactic").at(Page), |row| Cell::or(row.tactic.as_ref(), Cell::code, NOT_TOLD)),
    (Column::text("inputs", "in").at(Page), |row| Cell::or(row.inputs.as_ref(), Cell::code, NOT_TOLD)),
    (Column::text("outputs", "out").at(Page), |row| Cell::or(row.outputs.as_ref(), Cell::code, NOT_TOLD)),
    (Column::number("mean_ns", "per run"), |row| Cell::or(row.mean_ns, Cell::MeanTime, NOT_TIMED)),
    (Column::number("median_ns", "median").at(Page), |row| {
        Cell::or(row.median_ns, Cell::Time, "the profile does not have it")
    }),
    (Column::number("total_ns", "total").at(Page), |row| Cell::or(row.total_ns, Cell::Time, NOT_TIMED)),
    (Column::bar("share", "share"), |row| Cell::or(row.share, Cell::Share, NOT_TIMED)),
];

const GROUPS: &[Field<LayerGroup>] = &[
    (Column::text("name", "name"), |row| Cell::or(row.name.as_ref(), Cell::word, NOT_TOLD)),
    (Column::number("layers", "layers"), |row| Cell::count(row.layers)),
    (Column::number("run_ns", "per run"), |row| Cell::or(row.run_ns, Cell::MeanTime, NOT_TIMED)),
    (Column::bar("share", "share"), |row| Cell::or(row.share, Cell::Share, NOT_TIMED)),
];
