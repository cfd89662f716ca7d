//! What every request passes: it is counted, its answer is told how browsers must treat it, and strangers are refused.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::access::{is_foreign, is_own_form};
use crate::app::App;

/// Nothing is loaded from elsewhere, no script runs but those of the server's own files, and no other page frames one.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

const HEADERS: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Not `no-referrer`: browsers then say of our own forms, too, that they come from nowhere.
    (header::REFERRER_POLICY, "same-origin"),
    // The button of a timeline opens the Perfetto UI, and hands it the steps by message.
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin-allow-popups"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Counts a request by its route.
pub async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    let route = route.as_deref().unwrap_or("other");
    app.metrics.answered(route, response.status().as_u16(), begin.elapsed());
    response
}

pub(crate) async fn protect(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Refuses strangers. What is refused is told in plain text, without a word of what the server holds.
pub(crate) async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let (method, headers) = (request.method(), request.headers());
    let Some(host) = app.hosts.of_request(request.uri(), headers) else {
        let why = "this server does not answer to the name in this address. Whoever started it can add the name: \
                   rooflens serve … --allow-host NAME\n";
        return (StatusCode::MISDIRECTED_REQUEST, why).into_response();
    };
    let changes_nothing = *method == Method::GET || *method == Method::HEAD;
    if is_foreign(method, headers) || (!changes_nothing && !is_own_form(headers, &host)) {
        return (StatusCode::FORBIDDEN, "requests of pages of other servers are refused\n").into_response();
    }
    let path = request.uri().path();
    let is_open = path == "/healthz" || path == "/login" || path.starts_with("/assets/");
    if is_open || app.tokens.admits(headers) {
        return next.run(request).await;
    }
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if *method == Method::GET && accepts.contains("text/html") {
        return Redirect::to("/login").into_response();
    }
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"rooflens\"")];
    (StatusCode::UNAUTHORIZED, challenge, "the token is missing or wrong\n").into_response()
}
