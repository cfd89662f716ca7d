//! `rooflens runs [DIR|STORE]`: the table.

use std::path::Path;

use rooflens_analyze::compare::headline::MetricUnit;
use rooflens_core::exit::Exit;
use rooflens_core::fleet::{self, StoreRunsDocument, characters_of_an_id};
use rooflens_core::run_index::{self, IndexedRun, RunColumn, RunCondition, RunFilter, RunOrder};
use rooflens_core::text::counted;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Column, Level, Row, Table, TableColumn};
use rooflens_report::cost::{csv, markdown, terminal};
use serde_json::Value as Json;

use super::is_store;
use crate::args::OutputFormat;
use crate::console::Console;
use crate::error::CliError;
use crate::output;

pub(crate) struct ListedRuns {
    pub(crate) place: String,
    pub(crate) filter: RunFilter,
    /// In which order; newest first by default.
    pub(crate) order: Option<RunOrder>,
    pub(crate) limit: usize,
    pub(crate) format: OutputFormat,
}

impl ListedRuns {
    /// Columns that conditions and the order speak of: shown in any case.
    fn columns(&self) -> Vec<&RunColumn> {
        let conditions = self.filter.conditions.iter().map(RunCondition::column);
        conditions.chain(self.order.as_ref().map(RunOrder::column)).collect()
    }
}

/// How a cell is made of a run.
type RunCell = fn(&IndexedRun) -> Cell;

fn word(run: &IndexedRun, column: &str) -> Cell {
    match run.row.get(column) {
        Some(Json::String(word)) => Cell::text(word.clone()),
        Some(Json::Number(number)) => Cell::Count(number.as_i64().unwrap_or_default()),
        _ => Cell::missing("the run does not say"),
    }
}

fn own(word: Option<&String>) -> Cell {
    Cell::or(word, |word| Cell::text(word.clone()), "the run does not say")
}

fn metric(run: &IndexedRun, key: &str) -> Cell {
    // The column says what rates are of.
    let cell = |value: f64| match MetricUnit::of(key) {
        MetricUnit::Rate(_) => Cell::amount(value, ""),
        _ => Cell::metric(key, value),
    };
    Cell::or(run.metric(key), cell, "the run did not measure it")
}

fn id(run: &IndexedRun) -> Cell {
    Cell::or(run.run_id.as_ref(), |id| Cell::code(id.clone()), "the run is damaged")
}

/// Columns of a run directory come first, then those of a store, then what both have.
const FOLDER: &[(Column, RunCell)] = &[
    (Column::text("folder", "Run"), |run| own(run.folder.as_ref())),
    (Column::text("run_id", "Id").at(Level::Raw), id),
    (Column::text("day", "Day"), |run| own(run.day.as_ref())),
];
const STORE: &[(Column, RunCell)] = &[
    (Column::text("run_id", "Run"), id),
    (Column::text("day", "Day"), |run| own(run.day.as_ref())),
    (Column::text("tenant", "Tenant"), |run| own(run.tenant.as_ref())),
];
const BOTH: &[(Column, RunCell)] = &[
    (Column::text("kind", "Kind"), |run| word(run, "kind")),
    (Column::text("model", "Model"), |run| word(run, "model")),
    (Column::text("hardware", "Device"), |run| word(run, "hardware")),
    (Column::text("runtime", "Runtime"), |run| word(run, "runtime")),
    (Column::text("runtime_version", "Version"), |run| word(run, "runtime_version")),
    (Column::text("label", "Label"), |run| word(run, "label")),
    (Column::text("tags", "Tags"), |run| match run.folder.is_some() && !run.tags.is_empty() {
        true => Cell::text(run.tags.join(" ")),
        false => Cell::missing("the run has no tags"),
    }),
    (Column::text("node", "Node"), |run| word(run, "node")),
    (Column::number("ranks", "Ranks"), |run| word(run, "ranks")),
    (Column::number("tpot_p50_ns", "TPOT p50"), |run| metric(run, "tpot_p50_ns")),
    (Column::number("output_tokens_per_s", "tokens/s"), |run| metric(run, "output_tokens_per_s")),
    (Column::number("decode_step_p50_ns", "Decode step p50"), |run| metric(run, "decode_step_p50_ns")),
    (Column::number("prefill_step_p50_ns", "Prefill step p50"), |run| metric(run, "prefill_step_p50_ns")),
    (Column::number("step_p50_ns", "Step p50"), |run| metric(run, "step_p50_ns")),
    (Column::number("device_busy_share", "Device busy"), |run| metric(run, "device_busy_share")),
];
const PROBLEM: (Column, RunCell) = (Column::text("problem", "Problem"), |run| {
    Cell::or(run.problem.as_ref(), |problem| Cell::text(problem.clone()), "nothing is wrong")
});

pub(crate) fn list(asked: &ListedRuns, console: &Console) -> Result<Exit, CliError> {
    let place = asked.place.as_str();
    let mut runs = match is_store(place) {
        true => fleet::runs(place, &asked.filter)?,
        false => {
            let all = run_index::listed(Path::new(place))?;
            let characters = characters_of_an_id(&all);
            let chosen = asked.filter.choose(place, all)?;
            StoreRunsDocument::of_folder(place, characters, chosen)
        }
    };
    asked.order.iter().for_each(|order| order.sort(&mut runs.runs));
    match asked.format {
        OutputFormat::Json => output::json(&runs)?,
        OutputFormat::Csv => output::text(&csv(&parts(&runs, asked, usize::MAX)))?,
        OutputFormat::Md => output::text(&markdown("Runs", &parts(&runs, asked, usize::MAX)))?,
        OutputFormat::Text => {
            // So many characters name a run in every command, and leave room for the rest.
            let characters = runs.id_characters;
            runs.runs.iter_mut().flat_map(|run| &mut run.run_id).for_each(|id| id.truncate(characters));
            output::text(&terminal(&parts(&runs, asked, asked.limit), &console.screen(asked.limit)))?;
        }
    }
    Ok(Exit::Fine)
}

fn parts(runs: &StoreRunsDocument, asked: &ListedRuns, limit: usize) -> Vec<Part> {
    let count = counted(runs.runs.len(), "run");
    let damaged = runs.runs.iter().filter(|run| run.problem.is_some()).count();
    let which = if asked.order.is_some() { "first" } else { "newest" };
    let place = if runs.store == "." { "this folder" } else { runs.store.as_str() };
    let mut lead = match runs.runs.len() > limit {
        true => format!("{count} in {place}, of which the {which} {limit} are shown."),
        false => format!("{count} in {place}."),
    };
    if damaged > 0 {
        lead.push_str(&format!(" {damaged} damaged or not finished."));
    }
    let shown = &runs.runs[..runs.runs.len().min(limit)];
    let table = Block::Table(table(shown, runs.is_folder, &asked.columns()));
    vec![Part { name: "runs", title: "Runs", blocks: vec![Block::Lead(lead), table] }]
}

fn table(runs: &[IndexedRun], is_folder: bool, asked: &[&RunColumn]) -> Table {
    let first: Vec<&(Column, RunCell)> = if is_folder { FOLDER } else { STORE }.iter().chain(BOTH).collect();
    let mut further: Vec<&RunColumn> = Vec::new();
    for column in asked {
        let is_shown = first.iter().chain(&[&PROBLEM]).any(|(shown, _)| shown.key == column.name());
        if !is_shown && !column.is_tag() && !further.contains(column) {
            further.push(column);
        }
    }
    let cells = |run: &IndexedRun| {
        let asked = further.iter().map(|column| asked_cell(run, column));
        first.iter().map(|(_, cell)| cell(run)).chain(asked).chain([PROBLEM.1(run)]).collect()
    };
    let columns = further.iter().map(|column| TableColumn {
        key: column.name().to_owned().into(),
        title: column.name().to_owned().into(),
        number: column.is_number(),
        ..TableColumn::from(PROBLEM.0)
    });
    let rows = runs.iter().map(|run| Row::new(cells(run))).collect();
    Table {
        columns: first
            .iter()
            .map(|(column, _)| TableColumn::from(if is_folder { narrowed(*column) } else { *column }))
            .chain(columns)
            .chain([TableColumn::from(PROBLEM.0)])
            .collect(),
        ..Table::of_rows("runs", Vec::new(), rows)
    }
}

/// The names of folders have to be typed again, so they are not cut: other columns go where there is no room.
fn narrowed(column: Column) -> Column {
    let may_go = ["hardware", "runtime", "runtime_version", "node", "ranks"].contains(&column.key);
    if may_go { column.at(Level::Screen) } else { column }
}

/// The cell of a column that is not among those that are always shown.
fn asked_cell(run: &IndexedRun, column: &RunColumn) -> Cell {
    match (column.is_number(), run.row.contains_key(column.name())) {
        (true, true) => word(run, column.name()),
        (true, false) => metric(run, column.name()),
        (false, _) => own(column.words(run).first()),
    }
}
