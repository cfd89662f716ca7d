//! `/trend`: a metric over runs, and where it changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Query, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use rooflens_analyze::compare::headline;
use rooflens_analyze::compare::trend::TrendOptions;
use rooflens_core::run_index::mixed_columns;
use rooflens_core::trend::trend_of;
use rooflens_report::Part;
use rooflens_report::block::{Block, Cell, Column, Field};

use super::Pairs;
use crate::app::App;
use crate::fault::PageFault;
use crate::frame::{minute, page, section, select, text};
use crate::index::{ListedRun, RunChoice, RunIndex};

/// Runs that a trend is of, the newest.
const MOST: usize = 2_000;

struct TrendRow<'a> {
    key: &'a str,
    index: usize,
    run: &'a ListedRun,
    name: String,
    value: f64,
}

fn fields<'a>() -> [Field<TrendRow<'a>>; 3] {
    [
        (Column::number("index", "Index"), |row| Cell::count(row.index)),
        (Column::text("run", "Run"), |row| Cell::Link {
            words: row.name.clone(),
            path: format!("runs/{}", row.run.id),
        }),
        (Column::number("value", "Value"), |row| Cell::metric(row.key, row.value)),
    ]
}

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Query(pairs): Pairs,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
) -> Result<Response, PageFault> {
    let index = app.index();
    let key = format!("trend {} {}", index.generation, raw.unwrap_or_default());
    app.page(&key, &headers, move |_, _| Ok(draw(&index, &pairs))).await
}

fn draw(index: &RunIndex, pairs: &[(String, String)]) -> String {
    let choice = RunChoice::of(pairs);
    let mut runs = choice.all(index);
    runs.truncate(MOST);
    runs.sort_by_cached_key(|run| run.age());
    let measured: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.metrics.keys()).map(String::as_str).collect();
    let asked = pairs.iter().find(|(name, _)| name == "metric").map_or("", |(_, value)| value.as_str());
    let known = |key: &str| headline::ALL.iter().find(|metric| metric.key == key);
    let first = headline::ALL.iter().map(|metric| metric.key).find(|key| measured.contains(key));
    let key = measured.get(asked).copied().or(first).or(measured.first().copied()).unwrap_or("tpot_p50_ns");
    let titles: Vec<(String, String)> =
        measured.iter().map(|key| ((*key).to_owned(), headline::title_of(key).into_owned())).collect();
    let form = form(&choice, index, &titles, key);
    let (parts, notes) = parts(&runs, key);
    let definition = known(key).map_or("", |metric| metric.definition);
    let aside = |words: &str| format!("<p class=\"aside\">{}</p>\n", text(words));
    let words = std::iter::once(definition).chain(notes.iter().map(String::as_str));
    let before =
        section("choice", "Metric and runs", &words.map(aside).fold(form, |html, aside| html + &aside));
    page("Trend", "/trend", &before, &parts, "")
}

fn form(choice: &RunChoice, index: &RunIndex, titles: &[(String, String)], key: &str) -> String {
    let metric = select("metric", "Metric", "", titles, key);
    let choices = super::runs::choices(choice, &choice.choose(index).facets);
    choices.replacen("<button", &format!("{metric}<button"), 1)
}

fn parts(runs: &[Arc<ListedRun>], key: &str) -> (Vec<Part>, Vec<String>) {
    let name = |run: &ListedRun| match run.began_unix_ns {
        Some(at) => format!("{} ({})", run.name, minute(at)),
        None => run.name.clone(),
    };
    let values: Vec<(String, Option<f64>)> = runs
        .iter()
        .map(|run| (name(run), run.metrics.get(key).copied().filter(|value| value.is_finite())))
        .collect();
    let Some(trend) = trend_of(key, &values, TrendOptions::default()) else {
        let lead = format!("No run that was chosen has a value of {}.", headline::title_of(key));
        return (vec![Part { name: "trend", title: "Trend", blocks: vec![Block::Lead(lead)] }], Vec::new());
    };
    let with_value = || runs.iter().map(Arc::as_ref).filter(|run| run.metrics.contains_key(key));
    let mut notes = trend.notes.clone();
    let compared = |run: &&ListedRun, column: &str| run.compared.get(column).cloned().unwrap_or_default();
    // As the lists above call them.
    let name = |column| match column {
        "hardware" => "device",
        "runtime" => "engine",
        column => column,
    };
    let mixed = mixed_columns(with_value(), compared, name);
    if !mixed.is_empty() {
        let mixed = mixed.join(", ");
        notes.insert(
            0,
            format!("These runs have {mixed}, so what changed may be what was run: choose one above."),
        );
    }
    let mut parts = trend.parts();
    let known = runs.iter().zip(values).filter_map(|(run, (name, value))| Some((run, name, value?)));
    let row = |(index, (run, name, value))| TrendRow { key, index, run: Arc::as_ref(run), name, value };
    let rows: Vec<TrendRow<'_>> = known.enumerate().map(row).collect();
    let table = Block::table("trend_runs", &fields(), &rows, usize::MAX);
    parts.push(Part { name: "trend_runs", title: "Runs, oldest first", blocks: vec![table] });
    (parts, notes)
}
