//! Times of a device, by unions of the intervals of its trace's events.

use serde_json::Value;

use crate::make_trace::names;

/// Times of the device of a synthetic trace; it has one.
pub(in crate::make_trace) struct DeviceTimes {
    pub(in crate::make_trace) span_ns: i64,
    /// While nothing ran.
    pub(super) idle_ns: i64,
    /// While communication ran and no other kernel did.
    pub(super) exposed_communication_ns: i64,
}

impl DeviceTimes {
    pub(in crate::make_trace) fn of(trace: &Value) -> Self {
        let events = || trace["traceEvents"].as_array().unwrap().iter();
        let kernels = || events().filter(|event| event["cat"] == "kernel");
        let busy = events().filter(|event| event["cat"] == "kernel" || event["cat"] == "gpu_memcpy");
        let busy: Vec<Interval> = busy.map(interval).collect();
        let begin = busy.iter().map(|interval| interval.0).min().unwrap();
        let end = busy.iter().map(|interval| interval.1).max().unwrap();
        let compute = covered(kernels().filter(|event| !is_communication(event)).map(interval).collect());
        DeviceTimes {
            span_ns: end - begin,
            idle_ns: end - begin - covered(busy),
            exposed_communication_ns: covered(kernels().map(interval).collect()) - compute,
        }
    }
}

type Interval = (i64, i64);

fn interval(event: &Value) -> Interval {
    let ns = |key| (event[key].as_f64().unwrap() * 1000.0).round() as i64;
    (ns("ts"), ns("ts") + ns("dur"))
}

fn is_communication(event: &Value) -> bool {
    names::ALL.iter().any(|names| event["name"] == names.communication)
}

fn covered(mut intervals: Vec<Interval>) -> i64 {
    intervals.sort_unstable();
    let (mut total, mut reached) = (0, i64::MIN);
    for (begin, end) in intervals {
        total += (end - begin.max(reached)).max(0);
        reached = reached.max(end);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn idle_time_and_exposed_communication_of_intervals_that_overlap() {
        let event = |category, name, ts, dur| json!({"cat": category, "name": name, "ts": ts, "dur": dur});
        let collective = names::ALL[0].communication;
        // compute     10------20      30---40
        // collective       15-----25
        // copy                             35----50
        let trace = json!({"traceEvents": [
            event("kernel", "gemm", 10.0, 10.0),
            event("kernel", "gemm", 30.0, 10.0),
            event("kernel", collective, 15.0, 10.0),
            event("gpu_memcpy", "Memcpy HtoD", 35.0, 15.0),
            event("cuda_runtime", "cudaLaunchKernel", 0.0, 5.0),
        ]});
        let times = DeviceTimes::of(&trace);
        assert_eq!((times.span_ns, times.idle_ns, times.exposed_communication_ns), (40_000, 5_000, 5_000));
    }
}
