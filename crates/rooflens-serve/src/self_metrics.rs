//! What the server reports about itself at `/metrics`, in the OpenMetrics text format.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Media type of OpenMetrics.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of latencies, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) route: String,
    pub(crate) status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct RouteLabels {
    pub(crate) route: String,
}

pub(crate) struct SelfMetrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    latency: Family<RouteLabels, Histogram>,
    memory: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) cache_hits: Counter,
    pub(crate) cache_misses: Counter,
    pub(crate) cache_bytes: Gauge,
    pub(crate) subscribers: Gauge,
    pub(crate) runs: Gauge,
    pub(crate) refreshes: Counter,
    pub(crate) queries_stopped: Counter,
}

impl SelfMetrics {
    pub(crate) fn new() -> Self {
        let latency: fn() -> Histogram = || Histogram::new(BUCKETS);
        let mut made = SelfMetrics {
            registry: Registry::with_prefix("rooflens_serve"),
            requests: Family::default(),
            latency: Family::new_with_constructor(latency),
            memory: Gauge::default(),
            connections: Gauge::default(),
            cache_hits: Counter::default(),
            cache_misses: Counter::default(),
            cache_bytes: Gauge::default(),
            subscribers: Gauge::default(),
            runs: Gauge::default(),
            refreshes: Counter::default(),
            queries_stopped: Counter::default(),
        };
        let registry = &mut made.registry;
        registry.register("requests", "Requests by route and status", made.requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time from a request to its answer",
            Unit::Seconds,
            made.latency.clone(),
        );
        registry.register("open_connections", "Connections that are open", made.connections.clone());
        registry.register("cache_hits", "Pages that were kept", made.cache_hits.clone());
        registry.register("cache_misses", "Pages that had to be made", made.cache_misses.clone());
        registry.register_with_unit("cache", "Size of kept pages", Unit::Bytes, made.cache_bytes.clone());
        registry.register("live_subscribers", "Followers of runs in progress", made.subscribers.clone());
        registry.register("runs", "Runs that are served", made.runs.clone());
        registry.register("index_refreshes", "Times that the index changed", made.refreshes.clone());
        registry.register("queries_stopped", "Queries that met a limit", made.queries_stopped.clone());
        registry.register_with_unit("resident_memory", "Resident memory", Unit::Bytes, made.memory.clone());
        made
    }

    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        let route = route.to_owned();
        self.latency.get_or_create(&RouteLabels { route: route.clone() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
    }

    pub(crate) fn text(&self) -> String {
        self.memory.set(resident_bytes().unwrap_or(0));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Memory that the process holds; null except on Linux.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok().map(|kilobytes| kilobytes * 1024)
}
