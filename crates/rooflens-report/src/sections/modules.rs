//! Which layers and modules take the device time.

use rooflens_analyze::Findings;
use rooflens_analyze::analyses::{LayerStat, ModuleStat, Modules};

use crate::block::{Block, Cell, Chart, ChartUnit, Column, Field, Mark, Series, Table, Tone};
use crate::format;
use crate::section::Detail;

pub(super) fn blocks(findings: &Findings, detail: Detail) -> Vec<Block> {
    let Some(modules) = findings.get::<Modules>() else { return vec![] };
    if detail.is_screen() {
        return vec![];
    }
    let mut blocks = vec![];
    if !modules.layers.is_empty() {
        let share = format::share(modules.layer_share);
        blocks.push(Block::Text(format!("{share} of the device time belongs to a layer.")));
        if let (Some(alike), Some(activities)) = (modules.pattern_match, modules.activities_a_layer) {
            blocks.push(Block::Text(format!(
                "{} layers, {activities} kernels each: where no module names them, they were found from \
                 the repeating pattern of kernel names, of which {} occur in at least half of the \
                 layers.",
                modules.layers.len(),
                format::share(alike)
            )));
        }
        blocks.push(Block::Chart(layers(&modules.layers)));
    }
    if !modules.modules.is_empty() {
        let share = format::share(modules.module_share);
        blocks.push(Block::Text(format!("{share} of the device time belongs to a module.")));
        let stats = &modules.modules;
        let table = Table::new("modules", FIELDS, stats, detail.rows());
        blocks.push(Block::Table(table.rest("the JSON findings", stats, |module| module.share)));
    }
    blocks
}

fn layers(layers: &[LayerStat]) -> Chart {
    let points = layers.iter().map(|layer| (f64::from(layer.layer), layer.device_ns as f64)).collect();
    Chart {
        title: "Layers".to_owned(),
        x: ("by layer".into(), ChartUnit::Index),
        y: ("device time".into(), ChartUnit::Time),
        mark: Mark::Columns,
        series: vec![Series { label: "device time".to_owned(), tone: Tone::Plain, points }],
        rules: vec![],
    }
}

const FIELDS: &[Field<ModuleStat>] = &[
    (Column::text("module", "module"), |row| Cell::code(&row.module)),
    (Column::number("activities", "activities"), |row| Cell::count(row.activities)),
    (Column::number("device_ns", "device time"), |row| Cell::Time(row.device_ns)),
    (Column::bar("share", "share").help("Share of all device time."), |row| Cell::Share(row.share)),
];
