//! `/compare`: runs next to a baseline.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use rooflens_core::fleet::checkout;
use rooflens_core::{SharedObserver, compare, read_sides};

use super::Pairs;
use super::run::check;
use crate::app::App;
use crate::fault::PageFault;
use crate::frame::{page, text};
use crate::index::{ListedRun, RunPlace, RunSource};

/// Runs that are compared at once.
const MOST: usize = 8;
/// Rows of a table.
const ROWS: usize = 100;

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Query(pairs): Pairs,
    headers: HeaderMap,
) -> Result<Response, PageFault> {
    let index = app.index();
    let mut runs: Vec<Arc<ListedRun>> = Vec::new();
    for (_, id) in pairs.iter().filter(|(name, _)| name == "run") {
        let run = index.find(id).ok_or_else(PageFault::no_run)?;
        if !runs.iter().any(|known| known.id == run.id) {
            runs.push(Arc::clone(run));
        }
    }
    // A list begins with the newest, and what is new is judged by what was before.
    if pairs.iter().any(|(name, value)| name == "order" && value == "oldest") {
        runs.sort_by_cached_key(|run| run.age());
    }
    if !(2..=MOST).contains(&runs.len()) {
        let chosen = match runs.len() {
            1 => "1 was".to_owned(),
            many => format!("{many} were"),
        };
        let fact = format!("Choose from 2 to {MOST} runs; {chosen} chosen.");
        let fault = PageFault::of(StatusCode::BAD_REQUEST, fact);
        return Err(fault.hint("Tick runs in the list, then choose Compare."));
    }
    let words = |run: &Arc<ListedRun>| format!("{} {}", run.id, run.version);
    let key = format!("compare {}", runs.iter().map(words).collect::<Vec<_>>().join(" "));
    app.page(&key, &headers, move |app, observer| draw(&app.source, &runs, observer)).await
}

fn draw(source: &RunSource, runs: &[Arc<ListedRun>], observer: &SharedObserver) -> Result<String, PageFault> {
    let failed = |error: rooflens_core::Error| PageFault::of_error(&error);
    let (mut paths, mut ids) = (Vec::new(), Vec::new());
    for run in runs {
        match &run.place {
            RunPlace::Folder(folder) => {
                check(source, folder)?;
                paths.push(folder.clone());
            }
            RunPlace::Stored { run_id, .. } => ids.push(PathBuf::from(run_id)),
        }
    }
    let (sides, notes) = match source.store() {
        Some(store) => {
            if ids.iter().any(|id| id.exists()) {
                // A run whose id is a path here would be read from there.
                return Err(PageFault::no_run());
            }
            let checkout = checkout(store, &ids, observer).map_err(failed)?;
            (read_sides(&checkout.paths, observer).map_err(failed)?, checkout.notes)
        }
        None => (read_sides(&paths, observer).map_err(failed)?, Vec::new()),
    };
    let comparison = compare(sides, &[]).map_err(failed)?;
    let notes: String = notes.iter().map(|note| format!("<p class=\"aside\">{}</p>\n", text(note))).collect();
    Ok(page("Comparison", "", &(order(runs) + &notes), &comparison.parts(ROWS), ""))
}

fn order(runs: &[Arc<ListedRun>]) -> String {
    let link = |at: usize| {
        let others = (0..runs.len()).filter(|other| *other != at);
        let ids: Vec<String> =
            std::iter::once(at).chain(others).map(|at| format!("run={}", text(&runs[at].id))).collect();
        ids.join("&amp;")
    };
    let item = |(at, run): (usize, &Arc<ListedRun>)| {
        let (id, name) = (text(&run.id), text(&run.name));
        let base = match at {
            0 => "baseline".to_owned(),
            _ => format!("<a href=\"/compare?{}\">make it the baseline</a>", link(at)),
        };
        format!("<li><a href=\"/runs/{id}\">{name}</a> · {base}</li>\n")
    };
    let items: String = runs.iter().enumerate().map(item).collect();
    format!("<section aria-label=\"Runs\"><ul class=\"plain\">\n{items}</ul></section>\n")
}
