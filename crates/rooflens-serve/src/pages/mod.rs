//! The pages, one a file: from a request to HTML.

mod bench;
pub mod compare;
pub mod live;
pub mod login;
pub mod queries;
pub mod run;
pub mod runs;
pub mod sql;
pub mod trend;

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::app::App;
use crate::fault::PageFault;
use crate::self_metrics::MEDIA_TYPE;

/// The pairs of an address, in their order.
pub type Pairs = Query<Vec<(String, String)>>;

/// `/healthz`.
pub async fn health() -> &'static str {
    "ok\n"
}

/// `/metrics`.
pub async fn own_metrics(State(app): State<Arc<App>>) -> Response {
    ([(header::CONTENT_TYPE, MEDIA_TYPE)], app.metrics.text()).into_response()
}

/// Any other address.
pub async fn nowhere() -> PageFault {
    PageFault::of(StatusCode::NOT_FOUND, "There is no such page.")
        .hint("The links beside the name Rooflens lead to all pages.")
}

/// An address that is there, asked for in another way.
pub async fn not_so() -> PageFault {
    PageFault::of(StatusCode::METHOD_NOT_ALLOWED, "This page can only be read.")
}
