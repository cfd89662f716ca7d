//! Titles of the charts on pages.

use super::terms::Term;

pub(super) const CHARTS: &[Term] = &[
    ("time by phase", "Chart: the time ledger of each phase, as shares of the phase or as times."),
    (
        "duration of each step",
        "Chart: how long each step took, in order of start; steps beyond p99 stand out.",
    ),
    (
        "layers by class of kernel",
        "Chart: for each layer and class of kernel, the time above the lower bound; the time itself without a model.",
    ),
    ("allocated memory over time", "Chart: memory that the allocator had given out, and who held the peak."),
    ("devices and host over time", "Chart: sampled counters of devices and the host; throttling is marked."),
    (
        "bus bandwidth by message size",
        "Chart: what collectives moved per second, by size of the message, against the bandwidth of the link.",
    ),
    (
        "latency over throughput",
        "Chart: latency of a load test's levels over the throughput that they reached.",
    ),
];
