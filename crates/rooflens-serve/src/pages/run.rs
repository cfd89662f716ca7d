//! `/runs/{id}`: everything about one run.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use rooflens_analyze::compare::headline;
use rooflens_core::SharedObserver;
use rooflens_core::saved_report::{self, SavedReport};
use rooflens_report::block::{Block, Cell, Column, Fact, Field};
use rooflens_report::{Extras, Part, linked_findings, linked_parts};
use serde_json::{Map, Value as Json};

use super::bench;
use crate::app::App;
use crate::fault::PageFault;
use crate::frame::{minute, page, text, with_frame};
use crate::index::{ListedRun, RunPlace, RunSource, is_contained};

/// Bytes of the numbers that a page is made of: those of a trace of gigabytes are some megabytes.
const MOST_BYTES: u64 = 256 << 20;

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageFault> {
    let run = app.index().find(&id).cloned().ok_or_else(PageFault::no_run)?;
    let key = format!("run {} {}", run.id, run.version);
    app.page(&key, &headers, move |app, observer| draw(&app.source, &run, observer)).await
}

fn draw(source: &RunSource, run: &ListedRun, observer: &SharedObserver) -> Result<String, PageFault> {
    match &run.place {
        RunPlace::Stored { row, .. } => Ok(of_parts(run, &stored(run, row))),
        RunPlace::Folder(folder) => {
            check(source, folder)?;
            of_folder(run, folder, observer)
        }
    }
}

/// Refuses a run of which a part lies elsewhere.
pub(crate) fn check(source: &RunSource, folder: &FilePath) -> Result<(), PageFault> {
    let RunSource::Folder(root) = source else { return Ok(()) };
    match is_contained(root, folder) {
        true => Ok(()),
        false => {
            let fact = "This run has a link that leads out of the folder that is served, or too many files.";
            Err(PageFault::of(StatusCode::FORBIDDEN, fact)
                .hint("Copy the run into the folder with all its files."))
        }
    }
}

fn of_folder(run: &ListedRun, folder: &FilePath, observer: &SharedObserver) -> Result<String, PageFault> {
    let numbers = std::fs::metadata(folder.join("report").join("metrics.json"));
    if numbers.is_ok_and(|data| data.len() > MOST_BYTES) {
        let fault = PageFault::of(
            StatusCode::UNPROCESSABLE_ENTITY,
            "The findings of this run are too large for a page.",
        );
        return Err(fault.hint("report/report.md in the folder of the run has them."));
    }
    let report = saved_report::read(folder, observer).map_err(|error| PageFault::of_error(&error))?;
    Ok(match report {
        Some(SavedReport::Findings { title, findings, more, sampled }) => {
            let title = format!("{} · {title}", run.name);
            with_frame(&title, "", &tools(run), "", |frame| {
                let extras = Extras { more: &more, sampled: sampled.as_ref(), ..Extras::default() };
                linked_findings(&findings, extras, frame)
            })
        }
        Some(SavedReport::Bench(document)) => {
            let levels = document.level_rows();
            let charts = rooflens_report::bench::living(&levels);
            with_frame(&run.name, "", &tools(run), "", |frame| {
                linked_parts(&bench::parts(&document, levels), &charts, frame)
            })
        }
        None => of_parts(run, &summary(run)),
    })
}

fn of_parts(run: &ListedRun, parts: &[Part]) -> String {
    page(&run.name, "", &tools(run), parts, "")
}

fn tools(run: &ListedRun) -> String {
    let live = match run.is_live {
        true => format!(" <a href=\"/live/{}\">Follow it</a>", text(&run.id)),
        false => String::new(),
    };
    let model = run.word("model");
    let alike = match model.is_empty() {
        true => String::new(),
        false => {
            let query =
                url::form_urlencoded::Serializer::new(String::new()).append_pair("model", model).finish();
            format!(" <a href=\"/?{}\">Runs of this model</a>", text(&query))
        }
    };
    format!("<p class=\"pages\"><a href=\"/\">All runs</a>{alike}{live}</p>\n")
}

const METRICS: &[Field<(String, f64)>] = &[
    (Column::text("metric", "Metric"), |(key, _)| Cell::text(headline::title_of(key))),
    (Column::number("value", "Value"), |(key, value)| Cell::metric(key, *value)),
    (Column::text("definition", "Definition"), |(key, _)| {
        Cell::text(headline::find(key).map_or("", |row| row.definition))
    }),
];

fn summary(run: &ListedRun) -> Vec<Part> {
    let kind = match run.word("kind") {
        "trace" => "Trace",
        "bench" => "Load test",
        _ => "Run",
    };
    let or_nothing = |before: &str, word: &str| match word.is_empty() {
        true => String::new(),
        false => format!(" {before} {word}"),
    };
    let lead = match run.is_live {
        true => "This run is in progress.".to_owned(),
        false => {
            let (model, device) = (or_nothing("of", run.word("model")), or_nothing("on", run.word("device")));
            format!("{kind}{model}{device}{}.", or_nothing("with", run.word("engine")))
        }
    };
    let mut facts: Vec<Fact> =
        run.words.iter().map(|(name, word)| Fact::new(*name, Cell::text(word))).collect();
    facts.extend(run.began_unix_ns.map(|at| Fact::new("began", Cell::text(minute(at)))));
    let mut blocks = vec![Block::Lead(lead), Block::Facts(facts)];
    let of_key = |key: &'static str| run.metrics.get(key).map(|value| (key.to_owned(), *value));
    let mut known: Vec<(String, f64)> =
        headline::ALL.iter().filter_map(|metric| of_key(metric.key)).collect();
    let others = run.metrics.iter().filter(|(key, _)| headline::find(key).is_none());
    known.extend(others.map(|(key, value)| (key.clone(), *value)));
    match known.is_empty() {
        true => blocks.push(Block::Text("This run has no metrics.".to_owned())),
        false => blocks.push(Block::table("metrics", METRICS, &known, usize::MAX)),
    }
    vec![Part { name: "summary", title: "Summary", blocks }]
}

const ROW: &[Field<(String, String)>] = &[
    (Column::text("column", "Column"), |(name, _)| Cell::code(name.clone())),
    (Column::text("value", "Value"), |(_, value)| Cell::code(value.clone())),
];

fn stored(run: &ListedRun, row: &Map<String, Json>) -> Vec<Part> {
    let mut parts = summary(run);
    let plain = |value: &Json| match value {
        Json::String(word) => word.clone(),
        other => other.to_string(),
    };
    let rows: Vec<(String, String)> = row
        .iter()
        .filter(|(name, value)| !value.is_null() && *name != "metrics")
        .map(|(name, value)| (name.clone(), plain(value)))
        .collect();
    let table = Block::table("row", ROW, &rows, usize::MAX);
    parts.push(Part { name: "row", title: "Row of the table runs", blocks: vec![table] });
    parts
}
