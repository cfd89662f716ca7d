//! Words on the screen of `bench`, as those of `terms`.

use super::terms::Term;

pub(super) const BENCH: &[Term] = &[
    ("offered", "Load of a level: concurrent users of a closed loop, or requests per second of an open one."),
    (
        "offered load",
        "Load of a level: concurrent users of a closed loop, or requests per second of an open one.",
    ),
    ("per user", "Output tokens per second that one request gets once its answer has begun: 1 / TPOT."),
    (
        "goodput",
        "Requests per second that meet the limits of the SLO on times, each on its own, and their share.",
    ),
    (
        "TTFT p99 at pace",
        "TTFT p99 that users would see who arrive at the median pace of the closed loop, whether or not their last \
         answer is there: coordinated omission corrected.",
    ),
    (
        "send lag p99",
        "From the scheduled time of a request to its first byte sent, without waiting for a slot or a connection.",
    ),
    ("receive delay p99", "From the kernel's receive time of data to the client reading it."),
    ("loop lag p99", "How late timers of the client's event loop fired."),
    ("CPU per chunk", "Processor time of the client / received chunks."),
    ("running", "Requests in the server's running batch, by its own metrics."),
    ("waiting", "Requests in the server's queue, by its own metrics."),
    ("queue time", "Mean time of a request in the server's queue, by its own metrics."),
    ("prefill time", "Mean time from being scheduled to the first token, by the server's own metrics."),
    ("preemptions", "Requests that were preempted because the KV cache was full."),
    ("kv cache, max", "Highest used share of the KV cache during a load test."),
    ("prefix hits", "Share of prompt tokens that came from the prefix cache."),
    ("acceptance", "Share of draft tokens that were accepted (speculative decoding)."),
    ("load test", "Requests sent to a server on a schedule or by concurrent users: `rooflens bench`."),
    ("levels", "Loads that were tried one after the other."),
    ("objective", "A limit of a metric, as `--slo` states it."),
    ("met", "Whether the measured value is within the limit."),
    ("SLO", "Service-level objectives, as `--slo` states them: met or missed."),
    ("failure", "Kind of failure, as `http_429` or `timeout`."),
    ("example", "Message of the first failure of the kind."),
    ("definition", "How the number is computed."),
    ("server", "What the server's own metrics page (`/metrics`) says."),
    ("client", "Whether the load generator itself kept up: if not, the latencies are not the server's."),
    ("over time", "Values by the time of arrival, or as the server's metrics were read."),
    ("slowest requests", "Where the time of a typical and of the slowest requests went."),
    (
        "p50, 95 % CI",
        "95 % confidence interval of the median; takes into account that neighbouring requests are alike.",
    ),
    ("p99, 95 % CI", "95 % confidence interval of the 99th percentile, in the same way."),
    ("load", "What a load test offered: users, or requests per second."),
    ("workload", "What a load test sent."),
];
