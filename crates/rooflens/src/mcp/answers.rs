//! What each tool does: one function for each, from its arguments to the text of its answer.

use std::path::PathBuf;

use rooflens_core::advise::{AdviceRequest, advise as recommend};
use rooflens_core::cost::CostQuestion;
use rooflens_core::cost::amount::seconds;
use rooflens_core::kept::KeptTables;
use rooflens_core::model::{ModelRequest, files};
use rooflens_core::{AnalyzedInput, Notes, ReadOptions, SharedObserver};
use rooflens_report::TerminalOptions;

use crate::mcp::arguments::{
    CompareArguments, CostArguments, ExplainArguments, NumberArgument, PathsArguments, TableArguments,
    TraceArguments,
};
use crate::mcp::bounded::bounded;
use crate::mcp::roots::Roots;
use crate::mcp::tables::{self, MOST_ROWS, WantedRows};
use crate::mcp::work::error_text;

const SCREEN: TerminalOptions = TerminalOptions { width: 110, color: false, unicode: true, limit: 12 };

/// Where the time of a trace goes.
pub fn analyze(
    roots: &Roots,
    arguments: TraceArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let (paths, model) = asked(roots, arguments)?;
    let (analysis, _) = analyzed(&paths, &model, observer)?;
    let screen = rooflens_report::terminal(&analysis.findings, &SCREEN);
    Ok(bounded(&screen, "advise for evidence and how to do it; explain for a word; list_tables for rows"))
}

/// What to change.
pub(crate) fn advise(
    roots: &Roots,
    arguments: TraceArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let (inputs, model) = asked(roots, arguments)?;
    let request = AdviceRequest { inputs, model, wall_ns: None, steps: None, what_if: Vec::new() };
    let advice = recommend(&request, observer).map_err(|error| error_text(&error))?;
    let text = rooflens_report::cost::terminal(&advice.parts(8), &SCREEN);
    Ok(bounded(&text, "compare a trace before and after the change"))
}

/// What changed.
pub fn compare(
    roots: &Roots,
    arguments: CompareArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let typed: Vec<String> = std::iter::once(arguments.base).chain(arguments.others.all()).collect();
    let paths = roots.all_allowed(&typed)?;
    let sides = rooflens_core::read_sides(&paths, observer).map_err(|error| error_text(&error))?;
    let comparison = rooflens_core::compare(sides, &[]).map_err(|error| error_text(&error))?;
    let text = rooflens_report::cost::terminal(&comparison.parts(SCREEN.limit), &SCREEN);
    Ok(bounded(&text, "analyze either side for its own ledger"))
}

/// What a model costs.
pub fn cost(roots: &Roots, arguments: CostArguments, _observer: &SharedObserver) -> Result<String, String> {
    let answer = rooflens_core::cost(&question(roots, arguments)?)
        .map_err(|error| error_text(&rooflens_core::Error::from(error)))?;
    let (parts, rows) = answer.screen(false);
    let text = rooflens_report::cost::terminal(&parts, &TerminalOptions { limit: rows, ..SCREEN });
    Ok(bounded(&text, "set a key of the config, as set=[\"num_key_value_heads=4\"], or another device"))
}

/// The tables of a trace.
pub(crate) fn list_tables(
    roots: &Roots,
    arguments: PathsArguments,
    observer: &SharedObserver,
) -> Result<String, String> {
    let paths = roots.all_allowed(&arguments.paths.all())?;
    let (_, tables) = analyzed(&paths, &ModelRequest::default(), observer)?;
    Ok(bounded(&tables::list(&tables)?, "read_table with a table, columns and largest"))
}

/// Rows of a table.
pub fn read_table(
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
    let table = tables.table(&arguments.table).map_err(|error| error_text(&error))?;
    let Some(table) = table else {
        let names = tables.names().map_err(|error| error_text(&error))?.join(", ");
        return Err(format!("no table {}; there are {names}", arguments.table));
    };
    let (columns, largest, offset) = (arguments.columns.all(), arguments.largest, arguments.offset);
    let (rows, all) = tables::read(&table, &WantedRows { columns, largest, offset, limit })?;
    let next = match offset.saturating_add(limit) {
        end if end < all => format!("{all} rows in all; the next with offset={end}"),
        _ => String::new(),
    };
    Ok(bounded(&rows, &next))
}

/// What a word means, as text.
pub fn explain(
    _roots: &Roots,
    arguments: ExplainArguments,
    _observer: &SharedObserver,
) -> Result<String, String> {
    let meanings = rooflens_core::explain(&arguments.name).map_err(|error| error_text(&error))?;
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

/// The traces and the model that are asked about.
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
    let input = input.map_err(|error| error_text(&error))?;
    rooflens_core::analyze_and_keep(&input, &notes, model, observer).map_err(|error| error_text(&error))
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
