//! Metrics of another program part at `/metrics`, as `rooflens monitor --serve` gives them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::metrics::gauge::Gauge;

use crate::listening::{ConnectionLimits, Listening};
use crate::settings::DashboardLimits;

/// The text format that every Prometheus reads.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers `GET /metrics` until it is dropped.
pub struct MetricsServer {
    listening: Listening,
}

impl MetricsServer {
    /// Listens at an address; each request gets what `text` gives then.
    pub fn start(address: SocketAddr, text: impl Fn() -> String + Send + Sync + 'static) -> io::Result<Self> {
        let text = Arc::new(text);
        let few = DashboardLimits { connections: 64, ..DashboardLimits::default() };
        // A scraper comes back after seconds: its connection would only be kept.
        let limits = ConnectionLimits::from(&few).closing();
        let router = |_, _| {
            let answer = move |method: Method, uri: axum::http::Uri| {
                let text = Arc::clone(&text);
                async move { answer(&method, uri.path(), text.as_ref()) }
            };
            Router::new().fallback(answer)
        };
        Listening::start(address, 1, limits, Gauge::default(), router)
            .map(|listening| MetricsServer { listening })
    }

    /// Where it listens: port 0 becomes a free one.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }
}

fn answer(method: &Method, path: &str, text: &(dyn Fn() -> String + Send + Sync)) -> Response {
    let plain = [(header::CONTENT_TYPE, "text/plain")];
    match (method, path) {
        (&Method::GET | &Method::HEAD, "/metrics") => {
            ([(header::CONTENT_TYPE, TEXT)], text()).into_response()
        }
        (&Method::GET | &Method::HEAD, _) => {
            (StatusCode::NOT_FOUND, plain, "metrics are at /metrics\n").into_response()
        }
        _ => (StatusCode::METHOD_NOT_ALLOWED, plain, "only GET\n").into_response(),
    }
}
