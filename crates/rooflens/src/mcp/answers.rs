//! What each tool does: one function for each, from its arguments to the text of its answer.

use std::path::PathBuf;

use rooflens_core::advise::{AdviceRequest, advise as recommend};
use rooflens_core::cost::CostQuestion;
use rooflens_core::cost::amount::seconds;
use rooflens_core::fleet::json_value;
use rooflens_core::kept::KeptTables;
use rooflens_core::model::{ModelRequest, files};
use rooflens_core::{AnalyzedInput, Error, Notes, ReadOptions, SharedObserver};
use rooflens_report::TerminalOptions;
use rooflens_schema::parquet_io::MemoryTable;
use serde_json::Value as Json;

use crate::mcp::arguments::{
    CompareArguments, CostArguments, ExplainArguments, NumberArgument, PathsArguments, TableArguments,
    TraceArguments,
};
use crate::mcp::roots::Roots;

const SCREEN: TerminalOptions = TerminalOptions { width: 110, color: false, unicode: true, limit: 12 };

/// Where the time of a trace goes.
pub(crate) fn analyze(
    roots: &Roots,
    arguments: TraceArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let (paths, model) = asked(roots, arguments)?;
    let (analysis, _) = analyzed(&paths, &model, observer)?;
    let screen = rooflens_report::terminal(&analysis.findings, &SCREEN);
    Ok(bounded(&screen, "advise for evidence and how to do it; explain for a word; list_tables for rows"))
}

pub(crate) fn advise(
    roots: &Roots,
    arguments: TraceArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let (inputs, model) = asked(roots, arguments)?;
    let request = AdviceRequest { inputs, model, wall_ns: None, steps: None, what_if: Vec::new() };
    let advice = recommend(&request, observer).map_err(error_text)?;
    let text = rooflens_report::cost::terminal(&advice.parts(8), &SCREEN);
    Ok(bounded(&text, "compare a trace before and after the change"))
}

pub(crate) fn compare(
    roots: &Roots,
    arguments: CompareArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let typed: Vec<String> = std::iter::once(arguments.base).chain(arguments.others.all()).collect();
    let paths = roots.all_allowed(&typed)?;
    let sides = rooflens_core::read_sides(&paths, observer).map_err(error_text)?;
    let comparison = rooflens_core::compare(sides, &[]).map_err(error_text)?;
    let text = rooflens_report::cost::terminal(&comparison.parts(SCREEN.limit), &SCREEN);
    Ok(bounded(&text, "analyze either side for its own ledger"))
}

pub(crate) fn cost(
    roots: &Roots,
    arguments: CostArguments,
    _observer: &SharedObserver,
) -> Result<String, String> {
    let answer = rooflens_core::cost(&question(roots, arguments)?).map_err(error_text)?;
    let (parts, rows) = answer.screen(false);
    let text = rooflens_report::cost::terminal(&parts, &TerminalOptions { limit: rows, ..SCREEN });
    Ok(bounded(&text, "set a key of the config, as set=[\"num_key_value_heads=4\"], or another device"))
}

pub(crate) fn list_tables(
    roots: &Roots,
    arguments: PathsArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let paths = roots.all_allowed(&arguments.paths.all())?;
    let (_, tables) = analyzed(&paths, &ModelRequest::default(), observer)?;
    Ok(bounded(&list_of(&tables)?, "read_table with a table, columns and largest"))
}

pub(crate) fn read_table(
    roots: &Roots,
    arguments: TableArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let limit = arguments.limit.unwrap_or(20);
    if limit > MOST_ROWS {
        return Err(format!("{limit} rows are too many: at most {MOST_ROWS}, then the next with offset"));
    }
    let paths = roots.all_allowed(&arguments.paths.all())?;
    let (_, tables) = analyzed(&paths, &ModelRequest::default(), observer)?;
    let table = tables.table(&arguments.table).map_err(error_text)?;
    let Some(table) = table else {
        let names = tables.names().map_err(error_text)?.join(", ");
        return Err(format!("no table {}; there are {names}", arguments.table));
    };
    let (columns, largest, offset) = (arguments.columns.all(), arguments.largest, arguments.offset);
    let (shown, all) = rows(&table, &WantedRows { columns, largest, offset, limit })?;
    let next = match offset.saturating_add(limit) {
        end if end < all => format!("{all} rows in all; the next with offset={end}"),
        _ => String::new(),
    };
    Ok(bounded(&shown, &next))
}

pub(crate) fn explain(
    _roots: &Roots,
    arguments: ExplainArguments,
    _observer: &SharedObserver,
) -> Result<String, String> {
    let meanings = rooflens_core::explain(&arguments.name).map_err(error_text)?;
    let text: Vec<String> = meanings
        .iter()
        .map(|meaning| {
            let entry = &meaning.entry;
            let parts = entry.parts.iter().map(|part| format!("\n  {}: {}", part.name, part.about));
            let parts: String = parts.collect();
            let unit = Some(&entry.unit).filter(|unit| !unit.is_empty()).map(|unit| format!(", in {unit}"));
            let kind = format!("{}{}", meaning.kind, unit.unwrap_or_default());
            format!("{} ({kind}): {}\n{}{parts}", entry.name, entry.about, entry.detail)
        })
        .collect();
    Ok(bounded(&text.join("\n\n"), ""))
}

/// A model's config: below the roots, or in the local cache by its name on the hub.
fn config(roots: &Roots, typed: &str) -> Result<PathBuf, String> {
    match roots.allowed(typed) {
        Ok(path) => Ok(path),
        Err(refused) => files::named(typed).ok_or(refused),
    }
}

fn asked(roots: &Roots, arguments: TraceArguments) -> Result<(Vec<PathBuf>, ModelRequest), String> {
    let number = |amount: Option<NumberArgument>| amount.map(NumberArgument::number).transpose();
    let model = ModelRequest {
        model: arguments.model.map(|typed| config(roots, &typed)).transpose()?,
        hardware: arguments.hardware,
        tp: number(arguments.tp)?,
        batch: number(arguments.batch)?,
        context: number(arguments.context)?,
        dtype: None,
        force: false,
    };
    Ok((roots.all_allowed(&arguments.paths.all())?, model))
}

fn analyzed(
    paths: &[PathBuf],
    model: &ModelRequest,
    observer: &SharedObserver,
) -> Result<(AnalyzedInput, KeptTables), String> {
    let notes = Notes::default();
    let input = rooflens_core::open_input(paths, &ReadOptions::default(), &notes, observer);
    let input = input.map_err(error_text)?;
    rooflens_core::analyze_and_keep(&input, &notes, model, observer).map_err(error_text)
}

fn question(roots: &Roots, arguments: CostArguments) -> Result<CostQuestion, String> {
    let numbers = |amount: Option<NumberArgument>| amount.map(NumberArgument::numbers).transpose();
    let degree =
        |amount: Option<NumberArgument>| Ok::<_, String>(numbers(amount)?.unwrap_or_else(|| vec![1]));
    let configs =
        arguments.configs.all().iter().map(|typed| config(roots, typed)).collect::<Result<_, _>>()?;
    Ok(CostQuestion {
        configs,
        batch: degree(arguments.batch)?,
        prefill: numbers(arguments.prefill)?,
        context: numbers(arguments.context)?,
        hardware: arguments.hardware.all(),
        tp: degree(arguments.tp)?,
        pp: degree(arguments.pp)?,
        ep: degree(arguments.ep)?,
        dtype: arguments.dtype.into_iter().collect(),
        set: arguments.set.all().iter().map(|text| text.parse()).collect::<Result<_, _>>()?,
        ttft: arguments.ttft.as_deref().map(seconds).transpose()?,
        tpot: arguments.tpot.as_deref().map(seconds).transpose()?,
        ..CostQuestion::default()
    })
}

fn error_text(error: impl Into<Error>) -> String {
    let error = error.into();
    match error.hint() {
        Some(hint) => format!("{error}\nhelp: {hint}"),
        None => error.to_string(),
    }
}

/// Characters of an answer. An agent reads about a quarter as many tokens.
const MOST: usize = 24_000;
/// Characters of one cell of a table.
const CELL: usize = 160;

/// An answer that is not too long, and what to ask next.
fn bounded(text: &str, next: &str) -> String {
    let mut answer = cut(text, MOST);
    if answer.len() < text.len() {
        // A table is not cut within a line.
        answer.truncate(answer.rfind('\n').unwrap_or(answer.len()));
        answer.push_str("\n[The rest was cut: ask for less.]");
    }
    if !next.is_empty() {
        answer.push_str("\n\nNext: ");
        answer.push_str(next);
    }
    answer
}

pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// The most rows of one answer.
const MOST_ROWS: usize = 200;

fn list_of(tables: &KeptTables) -> Result<String, String> {
    let mut lines = vec!["table | rows | columns".to_owned()];
    for name in tables.names().map_err(error_text)? {
        if let Some(table) = tables.table(&name).map_err(error_text)? {
            let columns: Vec<&str> =
                table.schema.fields().iter().map(|field| field.name().as_str()).collect();
            lines.push(format!("{name} | {} | {}", rows_of(&table), columns.join(", ")));
        }
    }
    Ok(lines.join("\n"))
}

fn rows_of(table: &MemoryTable) -> usize {
    table.batches.iter().map(|batch| batch.num_rows()).sum()
}

struct WantedRows {
    /// Columns, in this order; empty for all.
    columns: Vec<String>,
    largest: Option<String>,
    /// Rows before the first that is wanted.
    offset: usize,
    limit: usize,
}

/// Some rows of a table, as lines of values with `|` between them; how many there are in all.
fn rows(table: &MemoryTable, wanted: &WantedRows) -> Result<(String, usize), String> {
    let position = |name: &String| {
        let known = || table.schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
        table.schema.index_of(name).map_err(|_| format!("no column {name}; there are {}", known().join(", ")))
    };
    let columns: Vec<usize> = match wanted.columns.is_empty() {
        true => (0..table.schema.fields().len()).collect(),
        false => wanted.columns.iter().map(position).collect::<Result<_, _>>()?,
    };
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, batch) in table.batches.iter().enumerate() {
        found.extend((0..batch.num_rows()).map(|row| (at, row)));
    }
    let all = found.len();
    if let Some(column) = wanted.largest.as_ref().map(position).transpose()? {
        let number = |&(batch, row): &(usize, usize)| {
            json_value(table.batches[batch].column(column), row).as_f64().unwrap_or(f64::NEG_INFINITY)
        };
        found.sort_by(|a, b| number(b).total_cmp(&number(a)));
    }
    let mut lines = vec![names(table, &columns)];
    for (batch, row) in found.into_iter().skip(wanted.offset).take(wanted.limit) {
        let cells = columns.iter().map(|&column| cell(&json_value(table.batches[batch].column(column), row)));
        lines.push(cells.collect::<Vec<_>>().join(" | "));
    }
    Ok((lines.join("\n"), all))
}

fn names(table: &MemoryTable, columns: &[usize]) -> String {
    columns.iter().map(|&at| table.schema.field(at).name().as_str()).collect::<Vec<_>>().join(" | ")
}

fn cell(value: &Json) -> String {
    let text = match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    // A name may hold anything: it stays on its line and in its cell.
    cut(&text, CELL).replace(['\n', '\r', '|'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_cut_between_lines() {
        let text = "a line\n".repeat(MOST);
        let answer = bounded(&text, "explain gaps");
        assert!(answer.len() < MOST + 200);
        assert!(answer.contains("a line\n[The rest was cut") && answer.ends_with("Next: explain gaps"));
        assert_eq!(bounded("short", ""), "short");
        assert_eq!(cut("äöü", 2), "äö");
    }
}
