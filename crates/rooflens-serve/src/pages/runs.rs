//! `/`: all runs, to search, narrow, order and choose from.

use std::sync::Arc;

use axum::extract::{Query, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use rooflens_analyze::compare::headline::MetricUnit;
use rooflens_report::block::ChartUnit;
use rooflens_report::format;

use super::Pairs;
use crate::app::App;
use crate::cache::KeptPage;
use crate::fault::PageFault;
use crate::frame::{minute, page, section, select, text};
use crate::index::{COLUMNS, ChosenRuns, Facet, ListedRun, RunChoice, RunIndex};

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Query(pairs): Pairs,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
) -> Result<Response, PageFault> {
    let index = app.index();
    let key = format!("runs {} {}", index.generation, raw.unwrap_or_default());
    let title = app.source.title();
    let make = async move { Ok::<_, PageFault>(KeptPage::new(draw(&title, &index, &RunChoice::of(&pairs)))) };
    Ok(app.cache.get_or_make(&key, &app.metrics, make).await?.response(&headers))
}

fn draw(title: &str, index: &RunIndex, choice: &RunChoice) -> String {
    let chosen = choice.choose(index);
    let count = match (chosen.all == index.runs.len(), chosen.all) {
        (true, 1) => "1 run".to_owned(),
        (true, all) => format!("{} runs", format::count(all as i64)),
        (false, all) => {
            format!("{} of {} runs", format::count(all as i64), format::count(index.runs.len() as i64))
        }
    };
    let cut = if index.is_cut { " There are more folders than are looked through." } else { "" };
    let mut html = format!("<p class=\"aside\">{count} in {}.{cut}</p>\n", text(title));
    html.push_str(&choices(choice, &chosen.facets));
    html.push_str(&table(choice, index, &chosen));
    html.push_str(&other_pages(choice, &chosen));
    page(&format!("Runs · {title}"), "/", &section("runs", "Runs", &html), &[], "")
}

pub(crate) fn choices(choice: &RunChoice, facets: &[Facet]) -> String {
    let chosen = |facet: &Facet| choice.facets.get(facet.column).map_or("", String::as_str).to_owned();
    let facet = |facet: &Facet| {
        let words = |(value, count): &(String, usize)| (value.clone(), format!("{value} ({count})"));
        let values: Vec<(String, String)> = facet.values.iter().map(words).collect();
        select(facet.column, facet.title, "all", &values, &chosen(facet))
    };
    // A facet with one value narrows nothing.
    let useful = |facet: &&Facet| facet.values.len() > 1 || !chosen(facet).is_empty();
    let selects: String = facets.iter().filter(useful).map(facet).collect();
    let sort = choice.sort.map_or(String::new(), |sort| {
        let turned = if choice.is_turned { "-" } else { "" };
        format!("<input type=\"hidden\" name=\"sort\" value=\"{turned}{sort}\">")
    });
    format!(
        "<form class=\"choose\" method=\"get\"><label>Search<input type=\"search\" name=\"q\" value=\"{}\" \
         placeholder=\"words of name, model, tags …\"></label>{selects}{sort}\
         <button class=\"go\">Show</button></form>\n",
        text(&choice.words)
    )
}

fn table(choice: &RunChoice, index: &RunIndex, chosen: &ChosenRuns) -> String {
    if chosen.shown.is_empty() {
        let why = match index.runs.is_empty() {
            true => "There are no runs here yet. <code>rooflens analyze TRACE -o runs/one</code> writes one.",
            false => "No run matches. <a href=\"/\">Show all</a>",
        };
        return format!("<p>{why}</p>\n");
    }
    // A column that no run of this page fills, or that says that all is well, would only take room.
    let is_filled = |column: &str| match column {
        "name" | "began" => true,
        "status" => chosen.shown.iter().any(|run| !["", "complete"].contains(&run.word("status"))),
        column => chosen.shown.iter().any(|run| !value(run, column).is_empty()),
    };
    let columns: Vec<&(&str, &str, bool)> = COLUMNS.iter().filter(|(column, ..)| is_filled(column)).collect();
    let head: String =
        columns.iter().map(|(column, title, number)| header(choice, column, title, *number)).collect();
    let row = |run: &Arc<ListedRun>| {
        let cells: String = columns.iter().map(|(column, _, number)| cell(run, column, *number)).collect();
        let (id, name) = (text(&run.id), text(&run.name));
        format!(
            "<tr><td><input type=\"checkbox\" name=\"run\" value=\"{id}\" aria-label=\"Choose {name}\"></td>{cells}</tr>\n"
        )
    };
    let rows: String = chosen.shown.iter().map(row).collect();
    format!(
        "<form action=\"/compare\" method=\"get\">\n<div class=\"scroll\"><table class=\"runs\"><thead><tr><th></th>{head}</tr></thead>\
         <tbody>\n{rows}</tbody></table></div>\n<div class=\"pages act\"><button class=\"go\">Compare chosen runs</button>\
         <input type=\"hidden\" name=\"order\" value=\"oldest\"><span>Choose two or more; the oldest is the baseline.</span></div></form>\n"
    )
}

fn header(choice: &RunChoice, column: &'static str, title: &str, number: bool) -> String {
    let is_this = choice.sort == Some(column);
    let turned =
        RunChoice { sort: Some(column), is_turned: is_this && !choice.is_turned, page: 0, ..choice.clone() };
    let (class, arrow) = (
        if number { " class=\"n\"" } else { "" },
        match (is_this, choice.is_turned) {
            (false, _) => "",
            (true, false) => " ↓",
            (true, true) => " ↑",
        },
    );
    format!("<th{class}><a href=\"/?{}\">{}{arrow}</a></th>", text(&turned.address()), text(title))
}

fn value(run: &ListedRun, column: &str) -> String {
    match column {
        "name" => run.name.clone(),
        "began" => run.began_unix_ns.map(minute).unwrap_or_default().trim_end_matches(" UTC").to_owned(),
        column => match (run.metrics.get(column), MetricUnit::of(column)) {
            // The column says what rates are of.
            (Some(rate), MetricUnit::Rate(_)) => format::amount(*rate, "").trim_end().to_owned(),
            (Some(value), _) => format::value(*value, &ChartUnit::of_metric(column)),
            (None, _) => run.word(column).to_owned(),
        },
    }
}

fn cell(run: &ListedRun, column: &str, number: bool) -> String {
    let words = text(&value(run, column));
    match column {
        "name" if run.is_live => format!(
            "<td class=\"name\"><a href=\"/live/{}\">{words}</a> <span class=\"running\">running</span></td>",
            text(&run.id)
        ),
        "name" => format!("<td class=\"name\"><a href=\"/runs/{}\">{words}</a></td>", text(&run.id)),
        _ if words.is_empty() => {
            let class = if number { " class=\"n\"" } else { "" };
            format!("<td{class}><span class=\"missing\" title=\"the run does not say\">–</span></td>")
        }
        _ if number => format!("<td class=\"n\">{words}</td>"),
        "model" | "device" | "build" => format!("<td class=\"long\">{words}</td>"),
        "label" => format!("<td class=\"tags\">{words}</td>"),
        _ => format!("<td>{words}</td>"),
    }
}

fn other_pages(choice: &RunChoice, chosen: &ChosenRuns) -> String {
    if chosen.pages < 2 {
        return String::new();
    }
    let at = choice.page.min(chosen.pages - 1);
    let link = |page: usize, words: &str| {
        let there = RunChoice { page, ..choice.clone() };
        format!("<a href=\"/?{}\">{words}</a>", text(&there.address()))
    };
    let before = if at > 0 { link(at - 1, "Previous") } else { String::new() };
    let after = if at + 1 < chosen.pages { link(at + 1, "Next") } else { String::new() };
    format!("<div class=\"pages\">{before}<span>Page {} of {}</span>{after}</div>\n", at + 1, chosen.pages)
}
