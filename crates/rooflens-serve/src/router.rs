//! Which address leads to which page.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::timeout::TimeoutLayer;

use crate::app::App;
use crate::{assets, guard, pages};

pub(crate) fn router(app: Arc<App>) -> Router {
    let limits = &app.limits;
    Router::new()
        .route("/", get(pages::runs::get))
        .route("/runs/{id}", get(pages::run::get))
        .route("/compare", get(pages::compare::get))
        .route("/trend", get(pages::trend::get))
        .route("/queries", get(pages::queries::list))
        .route("/queries/{name}", get(pages::queries::get))
        .route("/sql", get(pages::sql::get).post(pages::sql::ask))
        .route("/live", get(pages::live::list))
        .route("/live/{id}", get(pages::live::get))
        .route("/live/{id}/events", get(pages::live::events))
        .route("/login", get(pages::login::get).post(pages::login::enter))
        .route("/logout", post(pages::login::leave))
        .route("/assets/{name}", get(assets::get))
        .route("/metrics", get(pages::own_metrics))
        .route("/healthz", get(pages::health))
        .fallback(pages::nowhere)
        .method_not_allowed_fallback(pages::not_so)
        .layer(DefaultBodyLimit::max(limits.body_bytes))
        .layer(RequestBodyLimitLayer::new(limits.body_bytes))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, limits.request_time))
        .layer(from_fn_with_state(Arc::clone(&app), guard::admit))
        .layer(from_fn(guard::protect))
        .layer(from_fn_with_state(Arc::clone(&app), guard::count))
        .with_state(app)
}
