//! The pages, one a file: from a request to HTML.

mod bench;
pub mod compare;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod queries;
pub(crate) mod run;
pub mod runs;
pub(crate) mod sql;
pub(crate) mod trend;

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::fault::PageFault;
use crate::self_metrics::MEDIA_TYPE;

pub(crate) type Pairs = Query<Vec<(String, String)>>;

pub(crate) async fn health() -> &'static str {
    "ok\n"
}

pub(crate) async fn own_metrics(State(app): State<Arc<App>>) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], app.metrics.text()).into_response()
}

pub(crate) async fn nowhere() -> PageFault {
    PageFault::of(StatusCode::NOT_FOUND, "There is no such page.")
        .hint("The links beside the name Rooflens lead to all pages.")
}

pub(crate) async fn not_so() -> PageFault {
    PageFault::of(StatusCode::METHOD_NOT_ALLOWED, "This page can only be read.")
}
