//! `/queries`: questions that have names, with their parameters.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use rooflens_core::fleet::QueryText;
use rooflens_queries::{NamedQuery, ParameterKind, all, find};

use super::Pairs;
use crate::app::App;
use crate::asking::{ask, refusal};
use crate::fault::PageFault;
use crate::frame::{page, section, sentence, text};

/// Characters of a value.
const LONGEST: usize = 500;

pub(crate) async fn list(State(app): State<Arc<App>>) -> Response {
    let item = |query: &NamedQuery| {
        let (name, title) = (text(query.name()), text(query.title()));
        format!(
            "<li><a href=\"/queries/{name}\">{title}</a> <small><code>{name}</code></small><p>{}</p></li>\n",
            sentence(query.doc())
        )
    };
    let items: String = all().iter().map(item).collect();
    let html = section("queries", "Queries", &format!("<ul class=\"plain\">\n{items}</ul>\n"));
    let parts = refusal(&app).map(|refusal| refusal.parts()).unwrap_or_default();
    Html(page("Queries", "/queries", "", &parts, &html)).into_response()
}

pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    Query(pairs): Pairs,
) -> Result<Response, PageFault> {
    let query = find(&name).map_err(|_| {
        PageFault::of(StatusCode::NOT_FOUND, "There is no such query.")
            .hint("The page Queries lists all of them.")
    })?;
    let is_known = |name: &str| query.parameters().iter().any(|parameter| parameter.name == name);
    let given: BTreeMap<String, String> = pairs
        .iter()
        .filter(|(name, value)| is_known(name) && !value.is_empty() && value.len() <= LONGEST)
        .cloned()
        .collect();
    let is_asked = pairs.iter().any(|(name, _)| name == "go");
    let form = section("query", query.title(), &form(query, &given));
    let (status, parts) = match is_asked {
        false => (StatusCode::OK, refusal(&app).map(|refusal| refusal.parts()).unwrap_or_default()),
        true => match ask(&app, QueryText::Named { query, values: given }).await {
            Ok(parts) => (StatusCode::OK, parts),
            Err(fault) => (fault.status, fault.parts()),
        },
    };
    let html = page(query.title(), "/queries", &form, &parts, "");
    Ok((status, Html(html)).into_response())
}

fn form(query: &NamedQuery, given: &BTreeMap<String, String>) -> String {
    let field = |parameter: &rooflens_queries::QueryParameter| {
        let value = given.get(&parameter.name).map_or("", String::as_str);
        let name = text(&parameter.name);
        // What is left empty has its default; the first and the last day of all are not worth reading.
        let input = match (parameter.kind, &parameter.default) {
            (ParameterKind::Day, Some(_)) => "type=\"date\"".to_owned(),
            (ParameterKind::Day, None) => "type=\"date\" required".to_owned(),
            (_, Some(default)) => format!("placeholder=\"{}\"", text(default)),
            (_, None) => "required".to_owned(),
        };
        format!(
            "<label>{name} ({kind})<input name=\"{name}\" value=\"{}\" maxlength=\"{LONGEST}\" {input}><small>{}</small></label>\n",
            text(value),
            sentence(&parameter.meaning),
            kind = text(parameter.kind.name()),
        )
    };
    let fields: String = query.parameters().iter().map(field).collect();
    format!(
        "<p>{}</p>\n<form class=\"form\" method=\"get\">\n<div class=\"fields\">\n{fields}</div><input type=\"hidden\" name=\"go\" value=\"1\">\
         <div><button class=\"go\">Ask</button></div></form>\n",
        sentence(query.doc())
    )
}
