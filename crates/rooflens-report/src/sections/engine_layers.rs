//! Layers of a compiled engine.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{EngineLayer, EngineLayers, LayerGroup};

use crate::block::{Block, Cell, Column, Fact, Field, Level, Table};
use crate::sections::{Detail, Section};

pub(super) struct EngineLayersSection;

const NOT_TIMED: &str = "it was not timed";
const NOT_TOLD: &str = "the layer information does not have it";

impl Section for EngineLayersSection {
    fn name(&self) -> &'static str {
        "engine_layers"
    }
    fn title(&self) -> &'static str {
        "Engine layers"
    }
    fn blocks(&self, findings: &Findings, detail: Detail) -> Vec<Block> {
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
                blocks.push(Block::Table(Table::new(name, GROUPS, groups, detail.rows())));
            }
        }
        blocks
    }
}

const LAYERS: &[Field<EngineLayer>] = &[
    (Column::text("name", "layer"), |layer| Cell::code(&layer.name)),
    (Column::text("type", "kind").at(Level::Screen), |layer| {
        Cell::or(layer.kind.as_ref(), Cell::word, NOT_TOLD)
    }),
    (Column::text("dtype", "type"), |layer| Cell::or(layer.dtype.as_ref(), Cell::word, NOT_TOLD)),
    (Column::text("tactic", "tactic").at(Level::Page), |layer| {
        Cell::or(layer.tactic.as_ref(), Cell::code, NOT_TOLD)
    }),
    (Column::text("inputs", "in").at(Level::Page), |layer| {
        Cell::or(layer.inputs.as_ref(), Cell::code, NOT_TOLD)
    }),
    (Column::text("outputs", "out").at(Level::Page), |layer| {
        Cell::or(layer.outputs.as_ref(), Cell::code, NOT_TOLD)
    }),
    (Column::number("mean_ns", "per run"), |layer| Cell::or(layer.mean_ns, Cell::MeanTime, NOT_TIMED)),
    (Column::number("median_ns", "median").at(Level::Page), |layer| {
        Cell::or(layer.median_ns, Cell::Time, "the profile does not have it")
    }),
    (Column::number("total_ns", "total").at(Level::Page), |layer| {
        Cell::or(layer.total_ns, Cell::Time, NOT_TIMED)
    }),
    (Column::bar("share", "share"), |layer| Cell::or(layer.share, Cell::Share, NOT_TIMED)),
];

const GROUPS: &[Field<LayerGroup>] = &[
    (Column::text("name", "name"), |group| Cell::or(group.name.as_ref(), Cell::word, NOT_TOLD)),
    (Column::number("layers", "layers"), |group| Cell::count(group.layers)),
    (Column::number("run_ns", "per run"), |group| Cell::or(group.run_ns, Cell::MeanTime, NOT_TIMED)),
    (Column::bar("share", "share"), |group| Cell::or(group.share, Cell::Share, NOT_TIMED)),
];
