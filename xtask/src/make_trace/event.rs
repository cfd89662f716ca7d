//! Events of a trace as `torch.profiler` writes them.

use serde_json::{Value, json};

/// Process and thread of the host.
pub(super) const HOST: (i64, i64) = (4242, 4242);

/// What ran from one time to another, in nanoseconds.
pub(super) fn event(
    category: &str,
    name: &str,
    (process, thread): (i64, i64),
    (begin, end): (i64, i64),
    args: Value,
) -> Value {
    let micros = |ns: i64| ns as f64 / 1000.0;
    json!({
        "ph": "X", "cat": category, "name": name, "pid": process, "tid": thread,
        "ts": micros(begin), "dur": micros(end - begin), "args": args,
    })
}
