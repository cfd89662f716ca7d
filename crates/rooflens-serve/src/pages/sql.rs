//! `/sql`: one SELECT over the store.

use std::sync::Arc;

use axum::Form;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use rooflens_core::fleet::{QueryText, tables};
use serde::Deserialize;

use crate::app::App;
use crate::asking;
use crate::fault::PageFault;
use crate::frame::{page, section, text};

const EXAMPLE: &str =
    "SELECT model, hardware, count(*) AS runs\nFROM runs\nGROUP BY model, hardware\nORDER BY runs DESC";

#[derive(Deserialize)]
pub(crate) struct Question {
    sql: String,
}

pub(crate) async fn get(State(app): State<Arc<App>>) -> Response {
    let parts = asking::refusal(&app).map(|refusal| refusal.parts()).unwrap_or_default();
    Html(page("SQL", "/sql", &form(&app, EXAMPLE), &parts, "")).into_response()
}

/// The answer.
pub async fn ask(State(app): State<Arc<App>>, Form(question): Form<Question>) -> Response {
    let done = match is_select(&question.sql) {
        true => asking::ask(&app, QueryText::Sql(question.sql.clone())).await,
        false => {
            let fault = PageFault::of(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Only one SELECT or WITH … SELECT may be asked.",
            );
            Err(fault.hint("The store is read-only here; rooflens store changes it."))
        }
    };
    let (status, parts) = match done {
        Ok(parts) => (StatusCode::OK, parts),
        Err(fault) => (fault.status, fault.parts()),
    };
    (status, Html(page("SQL", "/sql", &form(&app, &question.sql), &parts, ""))).into_response()
}

/// Whether a text begins as a query does. The engine parses it and refuses the rest, as a second statement.
fn is_select(sql: &str) -> bool {
    let mut rest = sql.trim_start();
    while let Some(comment) = rest.strip_prefix("--") {
        rest = comment.split_once('\n').map_or("", |(_, after)| after.trim_start());
    }
    let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
    ["select", "with"].iter().any(|known| word.eq_ignore_ascii_case(known))
}

fn form(app: &App, sql: &str) -> String {
    let limits = &app.limits;
    let tables: Vec<&str> = tables().iter().map(|table| table.name).collect();
    let html = format!(
        "<form method=\"post\" action=\"/sql\" class=\"form\">\
         <label>SQL<textarea name=\"sql\" spellcheck=\"false\" required>{}</textarea></label>\
         <div><button class=\"go\">Ask</button></div>\
         <small>One SELECT. At most {} s, {} MB and {} rows. Tables: {}. <code>SELECT * FROM kernels LIMIT 1</code> \
         shows the columns of one.</small></form>\n",
        text(sql),
        limits.query_time.as_secs(),
        limits.query_bytes >> 20,
        limits.query_rows,
        tables.join(", "),
    );
    section("sql", "SQL", &html)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_query_is_passed_on() {
        for good in ["SELECT 1", "  -- why\n with a as (select 1) select * from a", "select(1)"] {
            assert!(is_select(good), "{good}");
        }
        for bad in ["", "-- only", "COPY runs TO 'x'", "EXPLAIN SELECT 1", "selects", "/**/DROP TABLE x"] {
            assert!(!is_select(bad), "{bad}");
        }
    }
}
